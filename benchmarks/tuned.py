"""`tune` beside a grid of 30 settings, on a text and its questions.

The grid has two models, three learning rates (the default times 1/2, 1, 2) and five numbers of epochs. Its best three
are run with two more seeds, and so are the settings that `tune` found in so many minutes. All are judged by the same
questions: those of a file, or "a is to a + ending as b is to ...?", made from the vocabulary of the text.
"""

import itertools
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from labels import write_questions

from any2vec import Word2Vec, tune
from any2vec.evaluate.analogies import evaluate_analogies
from any2vec.models.tuned import flags

_RATES, _EPOCHS = (0.5, 1.0, 2.0), (5, 10, 15, 20, 40)
_MORE = (2, 3)  # seeds, besides 1


def main(
    text: Annotated[Path, typer.Argument(help="A text.")],
    questions: Annotated[Path | None, typer.Option(help="Analogies; by default made from the vocabulary.")] = None,
    endings: Annotated[str, typer.Option(help="Endings of words, for questions.")] = "s,ing,ed",
    minutes: Annotated[float, typer.Option(help="Of tuning.")] = 10,
    what: Annotated[str, typer.Option(help="tune, grid.")] = "tune,grid",
) -> None:
    """Print what was found, and its accuracy."""
    with TemporaryDirectory() as folder:
        corpus = Word2Vec().read(text)
        if questions is None:
            questions = write_questions(corpus.vocabulary.words, endings.split(","), Path(folder, "questions.txt"))
        asked = questions

        def judged(settings: dict[str, Any], seed: int) -> float:
            return evaluate_analogies(Word2Vec(seed=seed, **settings).fit(corpus).vectors_, asked).total.accuracy

        def say(what: str, settings: dict[str, Any], values: list[float]) -> None:
            noise = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
            print(
                f"{text.stem} {what} {flags(settings) or 'defaults'}: {statistics.mean(values):.2f}{noise}", flush=True
            )

        if "tune" in what:
            began = time.monotonic()
            found = tune(Word2Vec(), text, minutes=minutes, questions=asked)
            print(
                f"{text.stem}: {time.monotonic() - began:.0f} s, {len(found.trials)} trials; {found.verdict}",
                flush=True,
            )
            for name, settings in (("defaults", {}), ("tune", found.best)):
                say(name, settings, [judged(settings, seed) for seed in (1, *_MORE)])
        if "grid" not in what:
            return
        began, values = time.monotonic(), []
        for model, rate, epochs in itertools.product(("skipgram", "cbow"), _RATES, _EPOCHS):
            alpha = rate * Word2Vec(model=model).training_options().initial_alpha
            settings = {"model": model, "alpha": alpha, "epochs": epochs}
            values.append((judged(settings, 1), settings))
            say("grid", settings, [values[-1][0]])
        print(f"{text.stem}: {time.monotonic() - began:.0f} s for the grid", flush=True)
        for value, settings in sorted(values, key=lambda one: -one[0])[:3]:
            say("best of the grid", settings, [value, *(judged(settings, seed) for seed in _MORE)])


if __name__ == "__main__":
    typer.run(main)
