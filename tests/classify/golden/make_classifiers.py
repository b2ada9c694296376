"""Makes the files beside it with fastText 0.9.2 (`pip install fasttext-wheel`), and writes down what it answers."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
WORDS = ["wherever", "über", "дом", "日本語", "a", "here", "no"]
LINES = [
    "where über",
    "дом дом 日本",
    "a",
    "unheard of things",
    "__label__b here",
    "__label__new no",
    "",
    "\t here  where ",
]
SETTINGS = {
    "softmax.bin": {"loss": "softmax", "wordNgrams": 2, "minn": 2, "maxn": 3, "bucket": 90},
    "tree.bin": {"loss": "hs", "wordNgrams": 3, "bucket": 90},
    "plain.bin": {"loss": "ova"},
    "small.ftz": {"loss": "softmax", "wordNgrams": 2, "bucket": 280},
    "pruned.ftz": {"loss": "ns", "minn": 1, "maxn": 4, "bucket": 600},
}
QUANTIZED = {"small.ftz": {}, "pruned.ftz": {"cutoff": 300, "qnorm": True}}


def text():
    """Return lines of which words speak for labels; the third label is rare."""
    draw = random.Random(1)
    lines = []
    for _ in range(60):
        label = draw.choice("aaabbc")
        words = draw.choices(WORDS, k=3) + [WORDS["abc".index(label)]] * 2
        lines.append(f"__label__{label} {' '.join(words)}\n")
    return "".join(lines)


def answers(model, lines=LINES):
    """Ask a model for the probabilities of all labels."""
    found = [model.f.predict(line + "\n", 1000, -1.0, "strict") for line in lines]
    return [{label: p for p, label in one} for one in found]


if __name__ == "__main__":
    import fasttext

    (FOLDER / "text").write_text(text())
    # with fewer threads than 11, fastText does not set all rows at the beginning
    how = {"input": str(FOLDER / "text"), "dim": 4, "minCount": 1, "epoch": 20, "thread": 12, "verbose": 0}
    found = {}
    for name, settings in SETTINGS.items():
        model = fasttext.train_supervised(**how, **settings)
        if name in QUANTIZED:
            model.quantize(**QUANTIZED[name])
        model.save_model(str(FOLDER / name))
        found[name] = answers(model)
    (FOLDER / "answers.json").write_text(json.dumps({"lines": LINES, "answers": found}, ensure_ascii=False) + "\n")
    words = fasttext.train_unsupervised(how["input"], dim=2, minCount=1, bucket=5, thread=12, verbose=0)
    words.save_model(str(FOLDER / "words.bin"))
    (FOLDER / "text").unlink()
