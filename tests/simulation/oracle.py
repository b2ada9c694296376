"""What a seed's runs must give: the bits of the undisturbed one, or one clear error; and what they may leave behind."""

import copy
import gc
import shutil
import signal
import sys
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import naive_corpus
import numpy as np
import pytest

import any2vec
from any2vec import Any2VecError, Phrases, signals
from any2vec.cluster.local import simulate
from any2vec.training.checkpoints.manifest import damage, listed, read_manifest
from simulation.disk import DiedError, Machine
from simulation.draw import Case
from simulation.places import BYSTANDERS, Place, content, descriptors, forked, left_over, threads
from simulation.schedule import scheduled
from simulation.sources import make, text_of

__all__ = ["RefusedError", "check"]


class RefusedError(Exception):
    """The options of this seed are refused before anything is read."""


@dataclass
class Trained:
    """What a run gives: `matrices` are e, t, and the vectors of documents, of all hosts."""

    words: list[str]
    counts: list[int]
    matrices: list[np.ndarray]
    loss: list[float]
    epochs: float
    facts: tuple
    names: list[str]

    def bits(self) -> list[Any]:
        """All that must be equal where bits are promised."""
        return [self.words, self.counts, [(m.shape, m.tobytes()) for m in self.matrices], self.names, self.facts]


def check(case: Case, root: Path) -> str:
    """Run a case below an empty folder, and say how it ended; raise an AssertionError if a promise is broken."""
    before = threads(), descriptors(root)
    gc.freeze()  # looks for garbage of this run alone, which is quick
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Check(case, root).run()
        finally:
            gc.collect()
            if sys.exc_info()[0] is None:
                left_over(before, root)


class Check:
    """The runs of a case."""

    def __init__(self, case: Case, root: Path) -> None:
        self.case, self.root = case, root
        self.source = make(case, root / "data")
        if case.source.get("phrases"):
            self.source = Phrases(min_count=1, threshold=0.5).fit_transform(self.source)
        self.data = content(root / "data")
        self.given: Any = None

    def run(self) -> str:
        """Run undisturbed, disturbed, with a fault, and go on."""
        case = self.case
        try:
            estimator(case, {}).check()
        except Any2VecError as error:
            raise RefusedError(str(error)) from None
        self.given = self.earlier_vectors()
        plain = Place(self.root / "plain", self.root / "data")
        try:
            whole = self.trained(plain, {}, cluster=False, memory=True)
        except Any2VecError as error:
            clear(error)
            self.disturbed_is_refused()
            return f"refused: {error}"
        self.is_what_was_read(whole)
        place, machine = Place(self.root / "disturbed", self.root / "data"), None
        self.add_earlier(place)
        options = case.other | self.kept_in(place)
        machine = Machine(place.root, place.data, case.seed)
        with self.disturbed(place, machine):
            found = self.trained(place, options, cluster=case.cluster)
        self.same(found, whole, "disturbed")
        self.nothing_else_changed(place, saved=True)
        self.loads(place, whole)
        struck = machine.choose(case.fault) if case.fault["kind"] != "none" else None
        if struck is None:
            return "undisturbed"
        return self.with_fault(struck, whole)

    def with_fault(self, struck: dict, whole: Trained) -> str:
        """Run until a fault strikes; then go on."""
        case, kind = self.case, self.case.fault["kind"]
        place = Place(self.root / "faulty", self.root / "data")
        old = self.add_earlier(place)
        options = case.other | self.kept_in(place)
        machine = Machine(place.root, place.data, case.seed, struck)
        found, ended = None, "finished"
        try:
            with self.disturbed(place, machine):
                if kind == "kill":
                    ended = (
                        "killed" if forked(lambda: self.trained(place, options, cluster=case.cluster)) else "finished"
                    )
                else:
                    found = self.trained(place, options, cluster=case.cluster)
        except (Any2VecError, DiedError, KeyboardInterrupt) as error:
            ended = type(error).__name__
            self.is_expected(error, struck)
            error.__traceback__ = None
            del error
        must_end = kind == "call" or (struck["what"] == "SIGINT" and "weakref.py" not in machine.struck_in)
        assert not must_end or ended != "finished", f"{struck}: was not raised"
        gc.collect()
        if kind == "change":  # what was read of it may be of both
            self.data = content(self.root / "data")
            assert not found or all(np.isfinite(m).all() for m in found.matrices), f"{struck}: not finite"
            self.nothing_else_changed(place, saved=bool(found))
            return f"{struck}: {ended}"
        if found:
            self.same(found, whole, f"after {struck}")
        removing = {"temporary.py", "weakref.py", "shutil.py"} & machine.struck_in  # what is left, the next run removes
        if kind != "kill" and not removing:
            self.nothing_else_changed(place, saved=bool(found), struck=struck)
        self.is_old_or_new(place, old, whole)
        self.checkpoints_are_whole(place)
        if case.every and not found and kind != "none":
            self.goes_on(place, whole, struck)
        return f"{struck}: {ended}"

    def goes_on(self, place: Place, whole: Trained, struck: dict) -> None:
        """Go on from the checkpoint, or begin anew if there is none yet; the output is written then."""
        case = self.case
        moved = replace(case, hosts=case.then or case.hosts)
        options = case.other | self.kept_in(place) | {"resume": place.kept}
        again = Check.__new__(Check)
        vars(again).update(vars(self), case=moved)
        try:
            with self.disturbed(place, Machine(place.root, place.data, case.seed)):
                found = again.trained(place, options, cluster=False)
        except Any2VecError as error:
            if moved.hosts > case.hosts and "use fewer hosts" in str(error):
                return
            raise AssertionError(f"{struck}: does not go on") from error
        blends = case.going_on and case.options.get("blend", True)  # by kappa of the last round, which may be cut anew
        cut = case.fault["kind"] == "signal" and (case.hosts > 1 or blends)
        self.same(found, whole, f"resumed after {struck}", bits=moved.hosts == case.hosts and not cut)
        self.nothing_else_changed(place, saved=True)
        self.loads(place, found)

    def disturbed_is_refused(self) -> None:
        """Check that what one run refuses, all do."""
        place = Place(self.root / "refused", self.root / "data")
        options = self.case.other | self.kept_in(place)
        with self.disturbed(place, Machine(place.root, place.data, self.case.seed)):
            try:
                self.trained(place, options, cluster=self.case.cluster)
            except Any2VecError as error:
                clear(error)
            else:
                raise AssertionError("refused without disturbance alone")
        gc.collect()
        self.nothing_else_changed(place, saved=False)

    def kept_in(self, place: Place) -> dict:
        """Options that name places to write to."""
        case, options = self.case, {}
        if case.cached:
            options["cache"] = place.cache
        if case.logged:
            options["log"] = place.out / "run.jsonl"
        if case.every:
            options |= {"checkpoint": place.kept, "checkpoint_every": case.every}
        return options

    @contextmanager
    def disturbed(self, place: Place, machine: Machine):
        """Draw what goes next, and count and disturb what happens."""
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(tempfile, "tempdir", str(place.temporary))
            was = {number: signal.getsignal(number) for number in signals.ENDING}
            stack.callback(lambda: [signal.signal(number, handler) for number, handler in was.items()])
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
            signals.raise_interrupts()
            stack.enter_context(machine.watching())
            machine.pause = stack.enter_context(scheduled(self.case.seed, machine.called))
            yield

    def trained(self, place: Place, options: dict, *, cluster: bool, memory: bool = False) -> Trained:
        """Train, and save."""
        case = self.case
        if not cluster:
            model = self.begun(estimator(case, options | {"hosts": case.hosts}), memory)
            model.fit(self.source, warm_start=case.going_on.get("how") == "warm_start")
            self.save(model, place, None)
            return taken([model])

        def program(communicator):
            model = self.begun(estimator(case, options), memory)
            model.fit(self.source, communicator=communicator)
            self.save(model, place, communicator)
            return model

        return taken(simulate(case.hosts, 1, program))

    def earlier_vectors(self):
        """Train what the run begins with, on other data."""
        how = self.case.going_on
        if not how:
            return None
        other = replace(self.case, source=self.case.source | {"seed": self.case.source["seed"] + 1, "odd": 0})
        folder = self.root / "earlier"
        model = estimator(other, {"hosts": 1, "rounds": 1})
        for name in {"combine", "wire", "scheme", "batch", "min_count", "max_size"} & self.case.options.keys():
            setattr(model, name, 1 if name == "min_count" else getattr(type(model)(), name))
        try:
            model.fit(make(other, folder / "data"))
        except Any2VecError:
            self.case = replace(self.case, going_on={})
            return None
        any2vec.save(model.vectors_, folder / "vectors", training=True)
        return model

    def begun(self, model, memory: bool):
        """Give a model what the run begins with."""
        how = self.case.going_on
        if not how:
            return model
        vectors = self.given.vectors_
        if how["how"] == "warm_start":
            vars(model).update(vectors_=copy.copy(vectors), report_=self.given.report_)
        else:
            saved = how["form"] == "saved" and not memory
            setattr(model, how["how"], self.root / "earlier" / "vectors" if saved else vectors)
        if how["frozen"]:
            model.frozen = "given" if how["frozen"] == "given" else list(vectors.words[:2])
        return model

    def save(self, model, place: Place, communicator) -> None:
        path = place.out / self.case.output
        if self.case.output == "model":
            model.save(path, communicator=communicator)
        else:
            any2vec.save(model.vectors_, path, training=not path.suffix, communicator=communicator)

    def add_earlier(self, place: Place) -> dict:
        """Put an earlier output at the target; return its content."""
        if self.case.earlier:
            path = place.out / self.case.output
            any2vec.save(any2vec.Vectors(["old", "older"], [[1, 2], [3, 4]]), path)
        return content(place.out)

    # what must hold

    def same(self, found: Trained, whole: Trained, what: str, bits: bool = True) -> None:
        assert found.epochs == whole.epochs, f"{what}: {found.epochs} epochs, not {whole.epochs}"
        assert found.words == whole.words, f"{what}: words lost or added"
        assert found.counts == whole.counts, f"{what}: counts"
        assert found.facts == whole.facts, f"{what}: {found.facts}, not {whole.facts}"
        assert all(np.isfinite(m).all() for m in found.matrices), f"{what}: not finite"
        if bits and (self.case.hosts > 1 or self.case.options["threads"] == 1):
            for mine, theirs in zip(found.bits(), whole.bits(), strict=True):
                assert mine == theirs, f"{what}: other bits"
            equal = np.allclose(found.loss, whole.loss, rtol=1e-9, atol=0, equal_nan=True)
            assert equal, f"{what}: losses {found.loss}, not {whole.loss}"

    def is_what_was_read(self, whole: Trained) -> None:
        """Compare with what plain Python reads."""
        case, how = self.case, self.case.options
        assert whole.epochs == how["epochs"], f"{whole.epochs} epochs"
        assert all(np.isfinite(m).all() for m in whole.matrices)
        plain = case.source["form"] in ("file", "gz", "xz", "bz2") and not case.going_on and "lowercase" not in how
        plain = plain and not case.source.get("phrases")
        if "lines" in case.source and plain:
            text = b"\n".join(text_of(case.source))
            words, counts, sentences, raw, invalid = naive_corpus.naive([text], how["min_count"], how.get("max_size"))
            assert (whole.words, whole.counts) == (words, counts), "V"
            assert whole.facts == (raw, sum(map(len, sentences)), invalid), f"{whole.facts}"

    def is_old_or_new(self, place: Place, old: dict, whole: Trained) -> None:
        """Check that at the target there is all of the earlier output, or of the new one."""
        names = [name for name in old if name.split("/")[0] == self.case.output]
        now = content(place.out)
        if names and all(now.get(name) == old[name] for name in names):
            return
        if names or (place.out / self.case.output).exists():
            self.loads(place, whole if self.case.fault["kind"] != "signal" else None)

    def checkpoints_are_whole(self, place: Place) -> None:
        """Check that what a manifest lists is there: it is written last, also for the disk."""
        for _, path in listed(place.kept) if place.kept.exists() else ():
            manifest, problem = read_manifest(path)
            assert not problem, problem
            for shard in manifest["shards"]:
                assert not damage(place.kept, shard), damage(place.kept, shard)

    def loads(self, place: Place, whole: Trained | None) -> None:
        """Check that the output is what was trained."""
        path = place.out / self.case.output
        if self.case.output == "model":
            vectors = type(estimator(self.case, {})).load(path).vectors_
        else:
            vectors = any2vec.load(path)
        if whole is not None:
            assert list(vectors.words) == whole.words, "saved words"
            exact = path.suffix not in (".txt", ".gz") or path.name.endswith(".bin.gz")
            equal = np.array_equal if exact else np.allclose
            assert equal(vectors.e, whole.matrices[0]), "saved vectors"

    def is_expected(self, error: BaseException, struck: dict) -> None:
        """Check that an error is of the fault, and clear."""
        kind = self.case.fault["kind"]
        if isinstance(error, Any2VecError):
            clear(error)
        allowed = {
            "call": DiedError if struck["what"] == "dies" else Any2VecError,
            "signal": KeyboardInterrupt,
            "disk": Any2VecError,
            "change": Any2VecError,
            "kill": (),
        }[kind]
        assert isinstance(error, allowed), f"{struck}: {type(error).__name__}: {error}"
        assert struck["what"] != "short", f"a short write is no error: {error}"

    def nothing_else_changed(self, place: Place, *, saved: bool, struck: dict | None = None) -> None:
        """Check the user's files, and that nothing temporary is left."""
        assert content(self.root / "data") == self.data, "the data changed"
        now = content(place.out)
        for name in BYSTANDERS:
            assert now.pop(name) == f"precious {name}\n".encode(), name
        output = self.case.output
        left = {name.split("/")[0] for name in now} - {output, "run.jsonl"}
        assert not left, f"left: {left}"
        assert not saved or (place.out / output).exists(), "nothing was saved"
        gc.collect()
        for folder in (place.cache, place.temporary):
            left = {
                path.name for path in folder.iterdir() if folder == place.temporary or path.suffix in (".part", ".lock")
            }
            assert not left, f"left in {folder.name}: {left}"
        if saved and place.kept.exists():  # else the next run removes what is incomplete
            assert not (place.kept / "incomplete").exists(), "an incomplete checkpoint is left"


def estimator(case: Case, options: dict):
    """Make the estimator."""
    return getattr(any2vec, case.estimator)(**case.options | options)


def taken(models: list) -> Trained:
    """Take what was trained from the models of all hosts."""
    vectors, report = [model.vectors_ for model in models], models[0].report_
    matrices = [np.concatenate([v.e for v in vectors])]
    if vectors[0].t is not None:
        matrices.append(np.concatenate([v.t for v in vectors]))
    names = []
    if isinstance(models[0], any2vec.Doc2Vec):
        matrices.append(np.concatenate([model.documents_.matrix for model in models]))
        names = [name for model in models for name in model.documents_.words]
    return Trained(
        [word for v in vectors for word in v.words],
        [int(count) for v in vectors for count in v.counts],
        matrices,
        report.loss,
        report.rounds.epochs[-1] if report.rounds.count else len(report.loss),  # none if only the output was missing
        (report.words, report.kept_words, report.invalid_words),
        names,
    )


def clear(error: Any2VecError) -> None:
    """Check that an error is one line."""
    text = str(error)
    assert text, "an error without a word"
    assert "\n" not in text, f"several lines: {text!r}"
    assert "Traceback" not in text, text
    assert len(text) < 1000, text


def run_alone(case: Case) -> str:
    """Run a case in a folder of its own, which is removed."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where fsync takes no time
    root = Path(tempfile.mkdtemp(prefix=f"seed-{case.seed}-", dir=memory))
    try:
        return check(case, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
