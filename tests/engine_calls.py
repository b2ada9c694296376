"""Calls of a communicator whose outcome must be that of the local engine: 4 hosts."""

import numpy as np

from any2vec.cluster.communicator import allgather_bytes, allreduce, exchange, from_host
from any2vec.cluster.local import waiting


def rows(host, step, dtype, shape):
    rng = np.random.default_rng([host.rank, step])
    counts = np.random.default_rng(step).integers(0, 5, (host.size, host.size)) * (step != 1)
    sent, came = counts[host.rank], counts[:, host.rank]
    send = rng.integers(0, 200, (sent.sum() + 2, *shape)).astype(dtype)
    starts = None if step % 2 else rng.integers(0, 3, host.size)
    if starts is not None:
        starts = np.minimum(starts, len(send) - sent)
    receive = np.full((came.sum() + 1, *shape), 1, dtype)
    return send, sent.astype(np.int64), receive, came.astype(np.int64), starts


def program(host):
    """Return the bytes of what all calls give on a host."""
    out = []
    for step, dtype in enumerate([bool, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64]):
        for shape in [(), (3,), (2, 2), (0,)]:
            given = rows(host, step, dtype, shape)
            host.ialltoallv(*given).wait()
            out.append(given[2])
            out.append(host.allgather(given[2][:1]))
            out.append(host.allgather(given[2][0]))
            given = [rows(host, step + k, dtype, shape) for k in range(3)]
            requests = [host.ialltoallv(*one) for one in given]
            host.barrier()
            while not requests[1].test():
                pass
            for request in requests[::-1]:
                request.wait()
                request.wait()
                assert request.test()
            out += [one[2] for one in given]
    one = np.random.default_rng(host.rank).standard_normal(1000).astype(np.float32)
    out.append(allreduce(host, one))
    out += [from_host(host, sender, one[: 10 * host.rank]) for sender in range(host.size)]
    large = np.random.default_rng(host.rank).standard_normal((host.size * 50_000, 4))  # 1.6 MB for each host
    counts, received = np.full(host.size, 50_000), [np.empty_like(large) for _ in range(2)]
    for request in [host.ialltoallv(large, counts, into, counts) for into in received]:  # both ways, and two at a time
        request.wait()
    assert (received[0] == received[1]).all()
    out.append(received[0])
    out += exchange(host, one[:10], np.bincount([host.rank], minlength=host.size) * 10)
    out.append(np.frombuffer(b"|".join(allgather_bytes(host, b"x" * host.rank)), np.uint8))
    with waiting(host):
        pass
    return b"".join(str(array.dtype).encode() + str(array.shape).encode() + array.tobytes() for array in out)
