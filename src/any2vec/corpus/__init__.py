"""From text to a vocabulary V and a worklist W.

The modules, in the order in which text passes through them:

- `read`: `read_corpus`, which does all of the following
- `splits`: where each host's part of the files begins
- `blocks`: pieces of a part, which threads take
- `tokenizer`: bytes to words, with `word_hash` and `word_table`; `scan` runs it on all blocks and writes provisional
  ids; `sentences` does the same for sentences in memory, which `rows` finds in tables and data sets
- `vocabulary`: V, chosen from the counts; `distributed_vocabulary`: from those of all hosts; `given_vocabulary`: given
  by the user; `fingerprint`: do all hosts read the same?
- `encode`: provisional ids to the ids of W, a `worklist`
- `cache`: keeps them for the next run, as a `cache_entry` of the `cache_folder`; `corpus`: what the user gets

Before V is chosen, phrases may be joined (`phrases`: the estimator; `phrase_list`, what it finds, and `phrase_file`):

- `id_text`: the provisional ids of a text, as one numbering of its words
- `bigrams`: counts pairs of words, and scores them; `joins`: replaces them by the id of the phrase
- `phrased_text`: such a text, which `read` takes; `joined`: writes it

**Where words and sentences end.** In files, ASCII whitespace (space, tab, vertical tab, form feed, carriage
return, line feed) separates words. A sentence ends at a line feed and at the end of a file. `tokenizer.scan` and
`scan` mark these ends by the provisional id -1, and `encode.remap` turns them into the bounds of W, dropping
sentences without a word of V. (If asked to, as by ``any2vec word2vec``, a word ``</s>`` ends a sentence, too.) A
sentence has any length and may span many blocks. It never spans two hosts: `splits` and `blocks` cut the parts of
hosts at line feeds only. In memory a sentence is an item of what the user gives; its tokens may hold whitespace.
"""

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.given_vocabulary import load_vocabulary, save_vocabulary
from any2vec.corpus.read import read_corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import Worklist
from any2vec.io.inputs import Source

__all__ = ["Corpus", "Source", "Vocabulary", "Worklist", "load_vocabulary", "read_corpus", "save_vocabulary"]
