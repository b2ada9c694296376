"""gensim's tutorial "Soft Cosine Measure" (run_scm.py), with vectors of any2vec.

    python examples/gensim/soft_cosine.py [reviews.bin]

Are two sentences alike, although they share no word? gensim's index of similar terms takes vectors of any2vec as they
are. Without a file it trains on speeches of US presidents. Needs any2vec[gensim].
"""

import sys
from importlib.resources import files

from gensim.corpora import Dictionary
from gensim.models import TfidfModel
from gensim.similarities import SparseTermSimilarityMatrix, WordEmbeddingSimilarityIndex

from any2vec import Any2VecError, Word2Vec, load

SENTENCES = [
    "parents send their children to schools",
    "families trust teachers with the kids",
    "oil and gas prices hurt farmers",
]
STOP_WORDS = {"and", "the", "their", "to", "with"}

if len(sys.argv) > 1:
    try:
        vectors = load(sys.argv[1])  # gensim.downloader.load(...): see Vectors.from_gensim
    except Any2VecError as error:  # such as a file that is not there
        sys.exit(f"error: {error}")
else:
    speeches = files("any2vec") / "data" / "presidents.txt.xz"
    vectors = Word2Vec(epochs=10, sample=1e-4, threads=1, verbose=False).fit(speeches).wv

texts = [[word for word in sentence.split() if word not in STOP_WORDS] for sentence in SENTENCES]
dictionary = Dictionary(texts)
bags = [dictionary.doc2bow(text) for text in texts]
tfidf = TfidfModel(bags)
terms = SparseTermSimilarityMatrix(WordEmbeddingSimilarityIndex(vectors), dictionary, tfidf)
first, *others = (tfidf[bag] for bag in bags)
print(SENTENCES[0])
for sentence, other in zip(SENTENCES[1:], others, strict=True):
    print(f"{terms.inner_product(first, other, normalized=(True, True)):.2f} {sentence}")
