"""From text to a vocabulary V and a worklist W.

The modules, in the order in which text passes through them:

- `read`: `read_corpus`, the whole way.
- `blocks`: where the part of each host begins, and pieces of a part, one at a time for a thread.
- `raw_text`: what is done with a block before, if asked for: lower case, and tokens.
- `tokenizer`: bytes to words, which `word_table` counts.
- `scan`: the files (`input_files`), all blocks of them as provisional ids, and from these to the ids of W. `sentences`:
  those in memory.
- `vocabulary`: V, chosen from the counts of all hosts, or given by the user.
- `corpus`: V and W, for training. `cache`: kept for the next run.
- `parts`: the parts of words, n-grams and features, and the rows of these.
- `phrases`: words that are joined before V is chosen.

**Where words and sentences end.** In files, ASCII whitespace (space, tab, vertical tab, form feed, carriage return,
line feed) separates words; the tokens of `raw_text` do so further. A sentence ends at a line feed and at the end of a
file. `tokenizer.scan` and `scan` mark these ends by the provisional id -1, and `scan.remap` turns them into the
bounds of W, dropping sentences without a word of V. (If asked to, as by ``any2vec word2vec``, a word ``</s>`` ends
a sentence, too.) A sentence has any length and may span many blocks. It never spans two hosts: `blocks` cuts the parts
of hosts at line feeds only. In memory a sentence is an item of what the user gives; its tokens may hold whitespace.
"""

from any2vec.corpus.corpus import Corpus, Worklist
from any2vec.corpus.read import read_corpus
from any2vec.corpus.vocabulary import Vocabulary, load_vocabulary, save_vocabulary
from any2vec.io.inputs import Source

__all__ = ["Corpus", "Source", "Vocabulary", "Worklist", "load_vocabulary", "read_corpus", "save_vocabulary"]
