"""How threads divide a slice."""

import pytest

from any2vec.training.chunks import Chunks


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("size", [0, 1, 4096, 100_000, 1_000_001])
@pytest.mark.parametrize("late", [0, 10**6])
@pytest.mark.parametrize("apart", [False, True])
def test_all_is_taken_once(threads, size, late, apart):
    """However fast the threads are."""
    chunks, found, waits = Chunks(size, threads, apart), [], [0] * threads
    if threads > 1:
        waits[1] = late
    while True:
        thread = waits.index(min(waits))
        if (chunk := chunks.take(thread)) is None:
            break
        found.append(chunk)
        waits[thread] += 1
    assert not any(chunks.take(k) for k in range(threads))
    found.sort()
    assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == size
    assert len(found) == 1 or max(end - begin for begin, end in found) <= max(4096, size // (64 * threads))


def test_one_thread_takes_all_at_once():
    chunks = Chunks(10**7, 1)
    assert chunks.take(0) == (0, 10**7)
    assert chunks.done(0) == 0


def test_threads_that_see_each_other_read_the_text_in_its_order():
    chunks = Chunks(8 * 4096, 2)
    assert [chunks.take(k)[0] // 4096 for k in (0, 1, 1, 0, 0, 0, 0, 0)] == list(range(8))
    assert chunks.take(1) is None
    assert [chunks.done(4096 * k) // 4096 for k in range(8)] == list(range(8))


def test_threads_begin_far_apart_and_help_in_the_end():
    chunks = Chunks(8 * 4096, 2, apart=True)
    assert [chunks.take(k)[0] // 4096 for k in (0, 1, 1, 0)] == [0, 4, 5, 1]
    assert [chunks.take(0)[0] // 4096 for _ in range(4)] == [2, 3, 7, 6]
    assert chunks.take(1) is None


def test_positions_done_by_all():
    chunks = Chunks(8 * 4096, 2, apart=True)
    assert [chunks.done(4096 * k) // 4096 for k in range(8)] == [0, 2, 4, 6] * 2
    assert [Chunks(4096 * 3, 5, apart=True).done(4096 * k) for k in range(3)] == [0, 0, 0]
