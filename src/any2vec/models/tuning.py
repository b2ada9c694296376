"""Settings that suit a text: tried on parts of it, by successive halving."""

import itertools
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError, shown
from any2vec.graph.vertex_labels import VertexLabels
from any2vec.io.inputs import STANDARD_INPUT
from any2vec.io.outputs import Kind, check_writable, json_of
from any2vec.models.classifier import Classifier
from any2vec.models.estimator import Estimator
from any2vec.models.tuned import SEEDS, Judge, Trial, Tuned, flags, part_of_text
from any2vec.options import as_path, plain_number, whole_number
from any2vec.report import write_figures

_RATES, _EPOCHS = (0.5, 1.0, 2.0, 4.0), (5, 10, 20, 40)  # what a loss can compare; rates are times the default
_STEPS = (0.5, 2.0)  # from a rate, and from epochs, to the next
_OTHERS = {"window": 10, "sample": 1e-4, "negative": 10}  # what only questions, pairs or labels can
_OF_LINES = {"word_ngrams": 2, "subwords": "2-5"}  # the same of classifiers
_FEWER = 3  # settings of which one is tried on a part of three times the size
_LEAST, _LEAST_ASKED = 300_000, 1_500_000  # words of a part, about: questions say nothing of vectors of fewer
_ENOUGH = 20  # runs with the defaults for which there is time: then steps on all of the text lead further than parts
_PARTS = 1 / 27, 1 / 9, 1 / 3, 1.0
_HELD_OUT, _MOST_HELD_OUT = 50_000, 0.2  # words, and share
_SEARCH = 0.6  # of the time; the rest is for more seeds
_UNTRIED = {"patience": None, "callbacks": (), "log": None, "on_round": None, "verbose": False, "checkpoint": None}
_UNTRIED |= {"checkpoint_every": None, "checkpoint_minutes": None, "resume": None}

_OF_THE_MACHINE = "threads", "cache"


def tune(
    model: Estimator,
    source: Any,
    *,
    minutes: float = 10.0,
    questions: "str | Path | None" = None,
    pairs: "str | Path | None" = None,
    labels: "str | Path | VertexLabels | None" = None,
    validation: "str | Path | None" = None,
    size: int | None = None,
    output: "str | Path | None" = None,
    force: bool = False,
    **how: Any,
) -> Tuned:
    """Find settings for a text by trying them on it.

    Tried are learning rates, the default times 1/2 to 4 and at most 1, and 5 to 40 epochs, unless `model` has others
    than the defaults. They are judged by the loss on sentences held out. With `questions`, `pairs` or `labels`, these
    judge, and models, windows, negatives and subsampling are tried, too; with `validation`, n-grams of words and
    characters. If there is time for all settings on all of the text, they are tried there. If there is time for 20
    runs, the search begins with the defaults. Else all settings are tried on a small part of the text, the best third
    of them on a part of three times the size, and so on (successive halving: Jamieson and Talwalkar, AISTATS 2016).
    From the best on all of the text, steps are made to half and twice its rate and epochs, as long as time is left. The
    best two and the defaults are run with three seeds.

    Parameters
    ----------
    model : Estimator
        What to tune; its options that are not the defaults are kept.
    source : any
        What its `read` reads; it is read once.
    minutes : float
        Time to spend.
    questions, pairs, labels : path, optional
        As of `any2vec evaluate`; `labels` are those of documents or vertices.
    validation : path, optional
        Of a `Classifier`: a text or table like `source`, on whose labels it is judged, by F1.
    size : int, optional
        Bytes that the classifier may have as a `.ftz`: it is quantized to them before it is judged. A `.ftz` does not
        keep `lowercase` and `tokenize`.
    output : path, optional
        File of trials, as JSON: a run that was stopped goes on from it.
    force : bool
        Replace `output` if it holds something else.
    **how
        Options of `model.read`.

    Returns
    -------
    Tuned
        With `trials`, `best` and `model()`.

    Raises
    ------
    Any2VecError
        If a parameter is out of range, the time does not suffice for one run, or the corpus cannot be used.
    """
    if not (plain_number(minutes) or 0) > 0:
        raise Any2VecError(f"`minutes` is {shown(minutes)}; it must be a number above 0, such as 10")
    asked, compared, lines = (None if one is None else as_path(one) for one in (questions, pairs, validation))
    if validation is not None and not isinstance(model, Classifier):
        raise Any2VecError("`validation` is given, which is for a Classifier; leave it out")
    if str(validation) == STANDARD_INPUT:
        raise Any2VecError("`validation` is standard input, which is read once; give a file")
    if size is not None and validation is None:
        raise Any2VecError("`size` is given; give the `validation` text, too")
    judge = Judge(asked, compared, _labels(labels), lines, None if size is None else whole_number("size", size, 1))
    if size is not None and isinstance(model, Classifier) and (model.lowercase or model.tokenize):
        raise Any2VecError(
            "`size` is that of a .ftz, which does not keep `lowercase` and `tokenize`: prepare texts before"
        )
    if lines:
        model.check()
        judge.look(model)
    search = _Search(model, judge, None if output is None else as_path(output), force, minutes)
    search.read(source, **how)
    with suppress(KeyboardInterrupt):
        search.go()
    if not search.found.trials:
        raise KeyboardInterrupt
    return search.found


def _labels(labels: "str | Path | VertexLabels | None") -> "Path | VertexLabels | None":
    return labels if labels is None or isinstance(labels, VertexLabels) else as_path(labels)


class _Search:
    """Tries settings, and keeps the trials."""

    corpus: Corpus

    def __init__(self, model: Estimator, judge: Judge, output: Path | None, force: bool, minutes: float) -> None:
        model.check()
        if output:
            check_writable(output, _TRIALS, force=force)
        self._model, self._judge, self._output = model, judge, output
        self._force, self._minutes, self._left = force, minutes, 60 * minutes
        self.found = Tuned(model, judge)

    def read(self, source: Any, **how: Any) -> None:
        """Read the text, and the trials of a run that was stopped."""
        began = time.monotonic()
        self.corpus = self._model.read(source, **how)
        known = self.corpus.vocabulary.ids
        if self.corpus.documents is None or self._judge.names != ("labels",):
            self._judge.check(known.__contains__)
        self._words = max(int(self.corpus.cuts[-1]), 1)
        self._epochs = self._model.training_options().for_text(self._words).epochs
        self.found.epochs = self._epochs
        compared = (f.name for f in fields(self._model) if f.compare and f.name not in _OF_THE_MACHINE)
        options = {name: repr(getattr(self._model, name)) for name in compared}
        facts = {"words": self._words, "vocabulary": len(known), "sentences": self.corpus.sentences}
        judged = {"judged": self._judge.name, "by": self._judge.digests}
        self._of = {"any2vec": "trials", "text": facts, "options": options, **judged}
        before = json_of(self._output) if self._output and self._output.exists() else None
        if isinstance(before, dict) and not self._force:
            if {name: before.get(name) for name in self._of} != json.loads(json.dumps(self._of)):
                what = "trials of another text, judge or options"
                raise Any2VecError(f"{self._output}: holds {what}; give another file, or remove it")
            self.found.trials = self._earlier(before)
        self._left -= time.monotonic() - began

    def _earlier(self, before: dict[str, Any]) -> list[Trial]:
        """Return the trials of a file, in which those that diverged have no value."""
        try:
            trials = [Trial(**trial) for trial in before["trials"]]
            return [one._replace(value=-math.inf if one.value is None else float(one.value)) for one in trials]
        except (KeyError, TypeError, ValueError):
            raise Any2VecError(f"{self._output}: is damaged; remove it, or give another file") from None

    def go(self) -> None:
        """Try settings until the time is over."""
        candidates = list({flags(settings): settings for settings in self._candidates()}.values())
        if not candidates and next(self._steps({}), None) is None:
            raise Any2VecError("`alpha` and `epochs` are given, and nothing is left to try; leave out one")
        least = _LEAST_ASKED if self._judge.names and not self._judge.validation else _LEAST
        smallest = max((part for part in _PARTS if part * self._words <= least), default=_PARTS[0])
        self._try({}, smallest)  # compiles
        trial = self._try({}, smallest, self._model.seed + 1)
        self._pace = trial.training / (smallest * self._epochs)  # of an epoch of the whole text
        self._besides = trial.seconds - trial.training
        if self._cost({}, 1.0) > self._left:
            needed = math.ceil(self._cost({}, 1.0) / 60) + 1
            raise Any2VecError(
                f"`minutes` is {self._minutes:g}, and one run takes about {needed}; give more, or a `part` of the text"
            )
        enough = _SEARCH * self._left
        if self._total(candidates, [1.0]) > enough >= _ENOUGH * self._cost({}, 1.0):
            candidates, parts = [], [1.0]
        else:
            parts = self._parts(candidates, smallest)
        for part in parts:
            values = {flags(settings): self._try(settings, part).value for settings in [{}, *candidates]}
            candidates.sort(key=lambda settings: -values[flags(settings)])
            candidates = candidates[: max(2, math.ceil(len(candidates) / _FEWER))]
        self._climb()
        best = [{}, *list(filter(None, self.found.finalists()))[:2]]
        for seed in range(1, SEEDS):
            for settings in best:
                self._try(settings, parts[-1], self._model.seed + seed)

    def _candidates(self) -> Iterator[dict[str, Any]]:
        """Yield what is tried besides the defaults."""
        rates = _RATES if "alpha" in self._free else (1.0,)
        epochs = sorted({*_EPOCHS, self._epochs}) if "epochs" in self._free else [self._epochs]
        return filter(None, itertools.starmap(self._settings, itertools.product(self._models, rates, epochs)))

    def _steps(self, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield settings one step away: another rate, other epochs, another model, or one option more."""
        model, epochs = settings.get("model", self._model.model), settings.get("epochs", self._epochs)
        rate = self._with(settings).initial_alpha / self._with({"model": model}).initial_alpha
        others = {name: settings[name] for name in self._others if name in settings}
        for factor in _STEPS:
            if "alpha" in self._free:
                yield self._settings(model, factor * rate, epochs, others)
            if "epochs" in self._free:
                yield self._settings(model, rate, math.ceil(factor * epochs), others)
        yield from (self._settings(other, rate, epochs, others) for other in self._models if other != model)
        if self._judge.names:  # these change what a loss means
            yield from (settings | {name: value} for name, value in self._others.items() if name in self._free)

    def _settings(self, model: str, rate: float, epochs: int, others: Mapping[str, Any] = {}) -> dict[str, Any]:
        """Write a choice as what differs from the defaults; the rate is times the default of its model."""
        of = {} if model == self._model.model else {"model": model}
        changed = {"alpha": min(rate * self._with(of).initial_alpha, 1.0)} if rate != 1 else {}
        changed |= {"epochs": epochs} if of or epochs != self._epochs else {}  # another model has other defaults
        return of | changed | dict(others)

    @cached_property
    def _free(self) -> set[str]:
        """The options that have their defaults, of those that the estimator uses."""
        own = {one.name for one in fields(self._model) if getattr(self._model, one.name) == one.default}
        return own - {*self._model.unused}

    @property
    def _others(self) -> dict[str, Any]:
        """What is tried besides rates and epochs, unless losses are compared."""
        if self._judge.validation:
            return {} if self._model.start is not None else _OF_LINES  # which the earlier model has, or not
        return _OTHERS

    @cached_property
    def _models(self) -> tuple[str, ...]:
        """The models to try."""
        if not self._judge.names or "model" not in self._free or self._model.operator is not None:
            return (self._model.model,)
        return tuple(next(one.metadata["choices"] for one in fields(self._model) if one.name == "model"))

    def _climb(self) -> None:
        """Step from the best settings on all of the text to better ones, while the time suffices."""
        while True:
            known = self.found.finalists()
            best = known[0]
            kept = (SEEDS - 1) * (self._cost({}, 1.0) + 2 * self._cost(best, 1.0))
            left = self._left - kept
            steps = (one for one in self._steps(best) if one not in known and self._cost(one, 1.0) < left)
            if (step := next(steps, None)) is None:
                return
            trial = self._try(step, 1.0)
            if trial.training:  # models differ, and the machine may be busier than before
                self._pace = trial.training / step.get("epochs", self._epochs)

    def _parts(self, candidates: list[dict[str, Any]], smallest: float) -> list[float]:
        """Choose the parts of the text to try settings on, so that the time suffices; drop long settings if not."""
        while True:
            parts = [1.0]
            while self._total(candidates, parts) > _SEARCH * self._left and parts[0] / _FEWER >= smallest:
                parts.insert(0, parts[0] / _FEWER)
            if self._total(candidates, parts) <= _SEARCH * self._left or len(candidates) <= 2:
                return parts
            candidates.remove(max(candidates, key=lambda settings: self._cost(settings, 1.0)))

    def _total(self, candidates: Iterable[dict[str, Any]], parts: list[float]) -> float:
        """Estimate the seconds of all trials, and of the seeds of the best."""
        costs = sorted((self._cost(settings, 1.0) for settings in candidates), reverse=True)
        found, left = 0.0, costs
        for part in parts:
            found += part * (sum(left) + self._cost({}, 1.0)) + (1 - part) * self._besides * (len(left) + 1)
            left = left[: max(2, math.ceil(len(left) / _FEWER))]
        return found

    def _cost(self, settings: Mapping[str, Any], part: float) -> float:
        return self._besides + float(self._pace * part * settings.get("epochs", self._epochs))

    def _with(self, settings: Mapping[str, Any], **more: Any) -> Estimator:
        return type(self._model)(
            **self._model.get_params() | _UNTRIED | {"epochs": self._epochs} | dict(settings) | more
        )

    def _try(self, settings: dict[str, Any], part: float, seed: int | None = None) -> Trial:
        """Run with settings on a part of the text, unless that was done; keep and return the trial."""
        seed = self._model.seed if seed is None else seed
        for trial in self.found.trials:
            if (trial.settings, trial.part, trial.seed) == (settings, part, seed):
                return trial
        held = 0.0 if self._judge.names else min(_MOST_HELD_OUT, max(0.02, _HELD_OUT / self._words))
        began, value = time.monotonic(), -math.inf
        model = self._with(settings, seed=seed, part=part * self._model.part, held_out=self._model.held_out or held)
        try:
            value = self._judge.value(model.fit(self.corpus))
        except Any2VecError as error:
            if not settings:  # what diverges is no good setting; defaults must run
                raise
            self._say(f"{flags(settings)}: {error}")
        training = model.report_.seconds.get("train", 0.0) if hasattr(model, "report_") else 0.0
        trial = Trial(settings, part, seed, value, time.monotonic() - began, training)
        self._left -= trial.seconds
        self.found.trials.append(trial)
        shown = self._judge.shown(value)
        self._say(f"{part_of_text(part)}, seed {seed}: {flags(settings) or 'defaults'}: {shown}, {trial.seconds:.1f} s")
        if self._output:
            write_figures(self._of | {"trials": [trial._asdict() for trial in self.found.trials]}, self._output)
        return trial

    def _say(self, line: str) -> None:
        self._model.display.say(line)


def _holds_trials(path: Path) -> bool:
    found = json_of(path)
    return isinstance(found, dict) and found.get("any2vec") == "trials"


_TRIALS = Kind("trials of settings", _holds_trials)
