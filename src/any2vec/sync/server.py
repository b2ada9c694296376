"""A parameter server as DMTK's Word2Vec has it (GraphAny2Vec, section 5.1 and A.1): the baseline of the papers.

Every host is a worker, and the server of its masters. A block of words is a round. A worker draws a pool of
negatives and gets rows: of e those of its words, of t those of its words and of the pool. The worker trains on them at
a fixed learning rate, gets them again, as DMTK's program does, and sends the difference. Ids go along with
rows. The server averages (`--combine average`), or combines in another way.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.sync.combiners import Combiner, Round
from any2vec.sync.masters import Combined
from any2vec.sync.pulled import Proxies, Pulled


class Server(Pulled):
    """Rows of a block's words and of its pool are pulled and pushed, with their ids."""

    pools = True
    of_its_own = True

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Get the rows again; then send what changed, combine, and pull what the next block needs."""
        requests = []
        for which, masters in (("e", self.masters.e), ("t", self.masters.t)):
            now = self._now[which]
            again = self.wire.rows(f"again {which}", len(now.ids))
            requests += self._send(
                "broadcast", which, now, self.wire.gather(f"pull {which}", masters, now.touched.rows), again
            )
        self.channel.wait(requests)
        return super().synchronize(round_, combiner)

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        words = sources > 0
        outputs = words | (destinations > 0)
        outputs[self.context.inspector.draws.tables.astype(np.int64)] = True
        return self._named(("e", sources, words), ("t", destinations, outputs))

    def _send(self, phase: str, which: str, now: Proxies, send: NDArray[Any], receive: NDArray[Any]) -> list[Request]:
        """Send ids with the rows."""
        rows, counts = now.touched
        ids = [now.ids, rows + np.int32(self.masters.first)]
        n = [now.sent, counts]
        out = 0 if phase == "reduce" else 1
        known = np.empty_like(ids[1 - out])
        more = self.channel.begin((phase, which, "ids"), ids[out], n[out], known, n[1 - out])
        return [more, *super()._send(phase, which, now, send, receive)]
