"""gensim's tutorial "Word2Vec Model" (run_word2vec.py), for any2vec: train, ask, evaluate, save, go on, draw.

    python examples/gensim/word2vec.py [reviews.txt] [--questions questions-words.txt] [--pairs wordsim353.tsv]

Without a text it trains on speeches of US presidents. The picture needs any2vec[plot], --pairs any2vec[evaluate].
Comments have gensim's call where it differs.
"""

import argparse
from importlib.resources import files

from any2vec import Any2VecError, Word2Vec

SPEECHES = files("any2vec") / "data" / "presidents.txt.xz"

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("text", nargs="?", default=SPEECHES, help="a sentence per line")
arguments.add_argument("--questions", help="analogies, such as word2vec's questions-words.txt")
arguments.add_argument("--pairs", help="pairs of words with judgements, such as wordsim353.tsv")
arguments.add_argument("--dim", type=int, default=100)
given = arguments.parse_args()

# Word2Vec(LineSentence(text), vector_size=100, sg=1)
try:
    model = Word2Vec(dim=given.dim, min_count=10, threads=1, verbose=False).fit(given.text)
except Any2VecError as error:  # such as a file that is not there
    arguments.error(str(error))
wv = model.wv

# Queries are the same.
print(f"{len(wv.index_to_key)} words, the first are", *wv.index_to_key[:5])
print("shape of a vector:", wv["people"].shape)
try:
    wv["xylophone"]
except KeyError:
    print("'xylophone' has no vector")
for other in ("men", "citizens", "war"):
    print(f"people, {other}: {wv.similarity('people', other):.2f}")
print("near to peace and war:", [word for word, _ in wv.most_similar(positive=["peace", "war"], topn=5)])
print("the odd one out:", wv.doesnt_match(["men", "people", "citizens", "peace"]))

# Evaluations are the same.
if given.questions:
    score, sections = wv.evaluate_word_analogies(given.questions)
    print(f"analogies: {score:.1%} of {sum(len(s['correct']) + len(s['incorrect']) for s in sections[:-1])}")
if given.pairs:
    _, spearman, unknown = wv.evaluate_word_pairs(given.pairs)
    print(f"pairs: Spearman's correlation {spearman[0]:.2f}, {unknown:.0f} % unknown")

# A saved model is a folder, not a pickle: give a name without an ending.
model.save("speeches-model")
loaded = Word2Vec.load("speeches-model")

# build_vocab(more, update=True), train(more, total_examples=..., epochs=...)
more = [["peace", "and", "prosperity", "for", "all", "people"]] * 20
loaded.fit(more, warm_start=True)
print(f"{loaded.wv.similarity('peace', 'prosperity'):.2f} after more training")

# compute_loss=True, get_latest_training_loss(): here always, one mean per epoch
print("loss by epoch:", *(f"{loss:.3f}" for loss in model.loss_))

# t-SNE of scikit-learn and 25 random words of matplotlib
wv.map(top=300, method="tsne").save("speeches.png")
