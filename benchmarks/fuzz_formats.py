"""Fuzz the readers of all formats: a right result or one clear error, in bounded time and memory.

``fuzz_formats.py npz --seconds 300`` fuzzes one, and ``fuzz_formats.py npz --replay FILE`` shows a finding again.

Inputs are mutated by their structure (`fuzz_mutations.py`), and what readers take is used as a program would
(`fuzz_readers.py`). With atheris, which has wheels for Linux (`pip install atheris`), libFuzzer keeps inputs that reach
new branches of any2vec's Python; modules that hold kernels are not instrumented. Without, mutations are plain.

A finding is an exception other than Any2VecError, also while it is used; more than 5 s; more memory than ten times the
file's size and a fixed allowance; numbers that are not finite; a crash. One is kept for each place in the code.
"""

import hashlib
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Annotated, Any

import typer
from tables import out, table

LONGEST = 5.0  # seconds of a processor, to read; twice as many to use what was read
ALLOWANCE = 32 << 20  # bytes of memory, besides ten times the file's size
LARGEST = 1 << 16  # bytes of an input
SOURCES = Path(__file__).parents[1] / "src" / "any2vec"
QUICK = Path("/dev/shm")  # a folder in memory, for files of cases
FOLDER = Path(gettempdir()) / "any2vec-fuzz"
HARNESS = 1  # exit status of Python: an error of this program, not of a reader
COUNTED = ("executions", "milliseconds", "read", "refused")


class Counts:
    """Numbers in a file, which outlive the process that counts."""

    def __init__(self, path: Path) -> None:
        self._form = struct.Struct(f"<{len(COUNTED)}q")
        if not path.exists():
            path.write_bytes(bytes(self._form.size))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), self._form.size)

    def add(self, name: str, number: int = 1) -> None:
        """Count some more."""
        values = list(self.values)
        values[COUNTED.index(name)] += number
        self._map[:] = self._form.pack(*values)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers, in the order of `COUNTED`."""
        return self._form.unpack(self._map[:])

    @property
    def seconds(self) -> float:
        """How long a processor worked on cases."""
        return self.values[1] / 1000


class Trial:
    """Tries inputs with one reader, and keeps findings in a folder."""

    def __init__(self, name: str, folder: Path) -> None:
        import fuzz_readers

        self.name, self.folder, self.module = name, folder, fuzz_readers
        self.reader = fuzz_readers.READERS[name]
        self.work, self.shown = Path(mkdtemp(prefix="fuzz-", dir=QUICK if QUICK.is_dir() else None)), ""
        (folder / "findings").mkdir(parents=True, exist_ok=True)
        self.counts = Counts(folder / "counts")
        fuzz_readers.prepare()
        signal.signal(signal.SIGPROF, self._late)
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, of numbers that overflow

    def warm_up(self, seeds: list[bytes], memory: int) -> None:
        """Read and use valid inputs, which compiles kernels; then limit memory."""
        from any2vec import Any2VecError

        self.module.usually.clear()
        for seed in seeds:
            self.work.mkdir(exist_ok=True)
            path = self.reader.build(seed, self.work)
            found = self.reader.read(path)
            with suppress(Any2VecError):
                self.reader.use(found, path)
            shutil.rmtree(self.work)
        self.module.usually.add(True)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))

    def one(self, data: bytes) -> str:
        """Try an input; return what is wrong, or nothing."""
        began = time.process_time()
        self.counts.add("executions")
        try:
            return self._tried(data)
        finally:
            self.counts.add("milliseconds", round(1000 * (time.process_time() - began)))

    def _tried(self, data: bytes) -> str:
        (self.folder / "current").write_bytes(data)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        try:
            path = self.reader.build(data, self.work)
        except (self.module.Skip, OSError):
            return ""
        wrong, place = self._judged(path)
        if place == "memory":  # which may be of a kernel that was loaded
            wrong, place = self._judged(path)
        if not wrong:
            return ""
        self.shown = f"{self.name}: {wrong} {place}"
        self._keep(data, place or wrong.partition(":")[0])
        return self.shown

    def _judged(self, path: Path) -> tuple[str, str]:
        """Read and use a file; return what is wrong and where, if something is."""
        from any2vec import Any2VecError

        size = sum(one.stat().st_size for one in self.work.rglob("*") if one.is_file())
        self.module.children["peak"], error = 0, None
        Path("/proc/self/clear_refs").write_text("5")
        before = _kilobytes("VmHWM")
        try:
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            found = self.reader.read(path)
            self.counts.add("read")
        except Any2VecError as refused:
            error = refused
            self.counts.add("refused")
        except BaseException as other:
            return self._raised(other, "reading")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        took = max(1024 * (_kilobytes("VmHWM") - before), self.module.children["peak"])
        if took > 10 * size + ALLOWANCE + self.reader.spare:
            return f"memory: {took:,} bytes for {size:,}: {error or 'read'}", "memory"
        if error is not None:
            return _of_error(error)
        try:
            signal.setitimer(signal.ITIMER_PROF, 2 * LONGEST)
            self.reader.use(found, path)
        except Any2VecError:
            pass
        except BaseException as other:
            return self._raised(other, "use")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return "", ""

    def _raised(self, error: BaseException, doing: str) -> tuple[str, str]:
        if isinstance(error, KeyboardInterrupt):
            raise error
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "any2vec" in frame.filename]
        place = "".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-1:])
        text = "".join(traceback.format_exception(error))[-6000:]
        return f"{doing}: {type(error).__name__}: {str(error)[:300]}\n{text}", f"{type(error).__name__} {place}"

    def _keep(self, data: bytes, place: str) -> None:
        """Keep an input, unless a smaller one with the same place is kept."""
        kept = self.folder / "findings" / hashlib.sha256(place.encode()).hexdigest()[:8]
        if not kept.exists() or kept.stat().st_size > len(data):
            kept.write_bytes(data)
            kept.with_suffix(".txt").write_text(self.shown, errors="backslashreplace")

    def _late(self, *_: Any) -> None:
        raise self.module.Late(f"more than {LONGEST} s")


def _kilobytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status[status.index(name) :].split(maxsplit=2)[1])


def _of_error(error: BaseException) -> tuple[str, str]:
    """Return what is wrong with an error: it has several lines, is long, or hides that memory ran out."""
    text, cause = str(error), error
    if "\n" in text.strip() or len(text) > 2000:
        return f"an error that is not one line: {text[:300]!r}", "not one line"
    while cause := cause.__cause__ or cause.__context__:
        if isinstance(cause, MemoryError) and "memory" not in text:
            return f"memory ran out: {text}", "memory ran out"
    return "", ""


def seeds_of(name: str, folder: Path) -> list[bytes]:
    """Return valid inputs."""
    import fuzz_readers

    folder.mkdir(parents=True)
    found = fuzz_readers.READERS[name].seeds(folder)
    shutil.rmtree(folder)
    return found


def instrument() -> None:
    """Let atheris instrument any2vec's modules when they are imported, but for kernels, which Numba compiles."""
    import atheris

    kernels = [_module(path) for path in SOURCES.rglob("*.py") if "njit" in path.read_text()]
    with _to(os.devnull):  # it names each module
        atheris.instrument_imports(include=["any2vec"], exclude=kernels).__enter__()  # until the end
        import fuzz_readers  # noqa: F401


def guided(name: str, folder: Path, seconds: float, memory: int, seed: int) -> None:
    """Fuzz with atheris until a processor has worked for some seconds."""
    import atheris
    from fuzz_mutations import mutated

    seeds = _prepared(name, folder)
    trial = Trial(name, folder)
    trial.warm_up(seeds, memory)

    def one(data: bytes) -> None:
        if trial.counts.seconds >= seconds:
            os._exit(0)
        trial.one(data)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        found = mutated(data, seeds, random.Random(number), lambda part: bytes(atheris.Mutate(part, len(part) + 64)))
        return found[:most]

    options: dict[str, Any] = {"timeout": 600, "rss_limit_mb": 0, "max_len": LARGEST, "len_control": 0, "seed": seed}
    options |= {"artifact_prefix": f"{folder}/native-"}
    arguments = [sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), str(folder / "corpus")]
    os.dup2(os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    atheris.Setup(
        [*arguments, f"-artifact_prefix={folder}/native-", str(folder / "corpus")], one, custom_mutator=mutate
    )
    atheris.Fuzz()


@contextmanager
def _to(path: str) -> Iterator[None]:
    """Write the standard error to a file for a while."""
    kept, file = os.dup(2), os.open(path, os.O_WRONLY)
    os.dup2(file, 2)
    yield
    os.dup2(kept, 2)


def _module(path: Path) -> str:
    return "any2vec." + ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def plain(name: str, folder: Path, memory: int, seed: int, cases: int) -> None:
    """Fuzz with plain mutations of valid inputs, until there were so many cases."""
    from fuzz_mutations import damaged, mutated

    seeds = _prepared(name, folder)
    trial, chance = Trial(name, folder), random.Random(f"{seed} {name}")
    trial.warm_up(seeds, memory)
    while trial.counts.values[0] < cases:
        data = chance.choice(seeds)
        for _ in range(chance.choice((1, 1, 2))):
            data = mutated(data, seeds, chance, lambda part: damaged(part, chance))
        trial.one(data[:LARGEST])


def attack(name: str, folder: Path, seconds: float, memory: int, cases: int, seed: int) -> tuple[Any, ...]:
    """Fuzz one reader in processes of its own, another after each crash; return a row of the table."""
    for kept in ("findings", "seeds", "made", "counts"):
        shutil.rmtree(folder / kept) if (folder / kept).is_dir() else (folder / kept).unlink(missing_ok=True)
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    counts, crashes = Counts(folder / "counts"), 0
    while counts.values[0] < cases or (not cases and counts.seconds < seconds):
        if cases:
            status = _forked(partial(plain, name, folder, memory, seed + crashes, cases))
        else:
            status = _forked(partial(guided, name, folder, seconds, memory, seed + crashes))
        if not status:
            break
        crashes += 1
        if status == HARNESS or crashes > 20:
            raise SystemExit(f"{name}: not fuzzed, status {status}: see {folder / 'log'}, or above")
        (folder / "findings").mkdir(exist_ok=True)
        (folder / "current").rename(folder / "findings" / f"crash-{crashes}")
        (folder / "findings" / f"crash-{crashes}.txt").write_text(f"{name}: the process ended with {status}\n")
    findings = sorted((folder / "findings").glob("*.txt"))
    for path in findings:
        out.print(path.read_text().splitlines()[0][:300], markup=False)
        out.print(f"  {path.with_suffix('')}", markup=False)
    executions, _, *others = counts.values
    kept = len(list((folder / "corpus").iterdir()))
    return name, executions, round(counts.seconds), kept, *others, len(findings)


def _prepared(name: str, folder: Path) -> list[bytes]:
    """Return valid inputs; write them, unless they are there."""
    if not (folder / "seeds").exists():
        found = seeds_of(name, folder / "made")
        (folder / "seeds").mkdir()
        for number, seed in enumerate(found):
            for where in (folder / "seeds", folder / "corpus"):
                (where / f"seed-{number:02}").write_bytes(seed)
    return [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]


def _forked(work: Any) -> int:
    """Do something in a fork of this process; return its status."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = HARNESS
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(
    readers: Annotated[list[str] | None, typer.Argument(help="Readers; all by default.")] = None,
    seconds: Annotated[float, typer.Option(help="Of a processor, for each reader.")] = 60,
    memory: Annotated[int, typer.Option(help="MiB that a reader may take of the address space.")] = 512,
    cases: Annotated[int, typer.Option(help="Inputs for each reader, plain mutations; 0: by coverage.")] = 0,
    seed: Annotated[int, typer.Option(help="Of mutations.")] = 1,
    folder: Annotated[Path, typer.Option(help="For inputs that are kept, and findings.")] = FOLDER,
    replay: Annotated[Path | None, typer.Option(help="Show this finding again.")] = None,
) -> None:
    """Fuzz readers, and print a line of each."""
    if not cases and replay is None:
        if find_spec("atheris") is None:
            raise typer.BadParameter("atheris is not installed; --cases 10000 mutates without it")
        instrument()
    import fuzz_readers

    names = readers or list(fuzz_readers.READERS)
    if unknown := [name for name in names if name not in fuzz_readers.READERS]:
        raise typer.BadParameter(f"no reader {unknown[0]!r}; known are {', '.join(fuzz_readers.READERS)}")
    if replay is not None:
        trial = Trial(names[0], Path(mkdtemp(prefix="replay-")))
        out.print(trial.one(replay.read_bytes()) or f"nothing is wrong {trial.shown}", markup=False)
        return
    rows = []
    for name in names:
        rows.append(attack(name, folder / name, seconds, memory << 20, cases, seed))
        out.print(" ".join(map(str, rows[-1])), markup=False)
    table("fuzzed", ("reader", "executions", "seconds", "corpus", *COUNTED[2:], "findings"), rows)
    raise typer.Exit(any(row[-1] for row in rows))


if __name__ == "__main__":
    typer.run(main)
