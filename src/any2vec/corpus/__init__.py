"""From text to a vocabulary V and a worklist W.

The modules, in the order in which text passes through them:

- `read`: `read_corpus`, the whole way.
- `splits`: where the part of each host begins.
- `blocks`: pieces of a part, one at a time for a thread.
- `raw_text`: what is done with a block before, if asked for: `lower_case`, `token_rule`. `utf8` has code points.
- `tokenizer`: bytes to words, with `word_hash` and `word_table`.
- `scan`: all blocks of files. It writes provisional ids.
- `sentences`: the same for sentences in memory. `rows` finds them in tables and data sets.
- `vocabulary`: V, chosen from the counts.
- `distributed_vocabulary`: V, from the counts of all hosts.
- `given_vocabulary`: V, given by the user.
- `fingerprint`: a check that all hosts read the same.
- `encode`: provisional ids to the ids of W.
- `worklist`: W, on disk.
- `cache`: V and W, kept for the next run. `cache_folder` is the place, `cache_entry` one corpus in it.
- `corpus`: V and W, for training.
- `subwords`: the parts of words, as numbers of buckets. `features`: those of items, by name.

Phrases may be joined before V is chosen:

- `phrases`: the estimator.
- `phrase_list`: the phrases that it finds. `phrase_file` saves them.
- `id_text`: the provisional ids of a text, with one number for each word.
- `connectors`: words that may stand inside a phrase. `runs` numbers the runs of them in a text.
- `bigrams`: pairs of words, counted. `scores` says which are phrases.
- `joins`: pairs of ids, replaced by the id of the phrase. `pair_table` finds a pair.
- `phrased_text`: a text with phrases, for `read`. `joined` writes it.

**Where words and sentences end.** In files, ASCII whitespace (space, tab, vertical tab, form feed, carriage return,
line feed) separates words; `token_rule` separates them further. A sentence ends at a line feed and at the end of a
file. `tokenizer.scan` and `scan` mark these ends by the provisional id -1, and `encode.remap` turns them into the
bounds of W, dropping sentences without a word of V. (If asked to, as by ``any2vec word2vec``, a word ``</s>`` ends
a sentence, too.) A sentence has any length and may span many blocks. It never spans two hosts: `splits` and
`blocks` cut the parts of hosts at line feeds only. In memory a sentence is an item of what the user gives; its
tokens may hold whitespace.
"""

from any2vec.corpus.corpus import Corpus, Worklist
from any2vec.corpus.given_vocabulary import load_vocabulary, save_vocabulary
from any2vec.corpus.read import read_corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.io.inputs import Source

__all__ = ["Corpus", "Source", "Vocabulary", "Worklist", "load_vocabulary", "read_corpus", "save_vocabulary"]
