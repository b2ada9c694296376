"""gensim's tutorial "Similarity Queries" (run_similarity_queries.py), for any2vec.

    python examples/gensim/similarity_queries.py [reviews.txt] [--query "war and peace"]

Which documents are like a query? gensim's tutorial makes vectors of documents by LSI; here a document has the mean of
the vectors of its words. A document is a line. Without a text, it is ten sentences of speeches of US presidents.
"""

import argparse
import lzma
from importlib.resources import files
from pathlib import Path

from any2vec import Vectors, Word2Vec, load, save

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("text", nargs="?")
arguments.add_argument("--query", default="soldiers fight for freedom")
given = arguments.parse_args()

if given.text:
    try:
        lines = Path(given.text).read_text("utf-8").splitlines()
    except OSError as error:
        arguments.error(f"{given.text}: {error.strerror}")
    except UnicodeDecodeError:
        arguments.error(f"{given.text}: not UTF-8 text")
    if not any(line.split() for line in lines):
        arguments.error(f"{given.text}: no words")
else:
    speeches = lzma.decompress((files("any2vec") / "data" / "presidents.txt.xz").read_bytes()).decode().splitlines()
    lines = [" ".join(speeches[i : i + 10]) for i in range(0, len(speeches), 10)]
documents = [line.split() for line in lines]

# Dictionary, doc2bow and LsiModel: vectors of words, and their means
words = Word2Vec(epochs=10, sample=1e-4, threads=1, verbose=False).fit(documents).wv
names = [f"document {i}" for i in range(len(documents))]
means = Vectors(names, words.means(documents))

# MatrixSimilarity(lsi[corpus]) is the documents' vectors, which are saved and loaded as any others
save(means, "documents")
index = load("documents")

# index[lsi[dictionary.doc2bow(query)]], sorted
query = words.get_mean_vector(given.query.split(), pre_normalize=False)
for name, cosine in index.most_similar(query, topn=3):
    print(f"{cosine:.2f} {name}: {lines[names.index(name)][:80]}")
