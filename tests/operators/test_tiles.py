from itertools import product

import llvmlite.binding as llvm
import naive
import numpy as np
import pytest
from numba import njit
from simulated import aligned

from any2vec.llvm.intrinsics import prefetch_row
from any2vec.operators import tiles
from any2vec.operators.tiles import LIMIT, PADDING, ROW_ALIGNMENT, logistic_steps, tile_rows

WIDTHS = (4, 8, 16)
ROWS = 40

# every m and every dim with every width, but not every pair: each is a kernel to compile
SIZES = [(1, 208), (2, 32), (3, 48), (6, 112), (7, 16), (16, 48), (21, 16)]


def labels(dim, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((ROWS, dim)).astype(np.float32) for _ in range(2))


def rows_for(n, m, seed):
    """Rows, all different; rows with repeats in both; one row again and again."""
    rng = np.random.default_rng(seed)
    yield rng.permutation(ROWS)[:n], rng.permutation(ROWS)[:m]
    yield rng.integers(0, 3, n), rng.integers(0, 3, m)
    yield np.full(n, 7), np.full(m, 7)


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("m", "dim"), SIZES)
def test_dots_and_update(m, dim, width):
    @njit(fastmath=True)  # as the kernels are
    def both(e, x, t, y, out, g, n):
        tiles.dots(e, x, t, y, out, n, m, dim, width)
        prefetch_row(e, x[0], dim)
        tiles.update(e, x, t, y, g, n, m, dim, width)

    for n in range(1, tile_rows(width) + 1):
        for k, (x, y) in enumerate(rows_for(n, m, 10 * n)):
            e, t = labels(dim, k)
            g = np.random.default_rng(k).uniform(-0.1, 0.1, (m, n)).astype(np.float32)
            flat_e, flat_t = aligned(e).reshape(-1), aligned(t).reshape(-1)
            out = aligned(np.full(n * m + PADDING + 1, 55.0))
            both(flat_e, x * dim, flat_t, y * dim, out, g.ravel(), n)

            exact = t[y].astype(float) @ e[x].astype(float).T
            # a sum of `dim` products of about 1, in float32
            np.testing.assert_allclose(out[: n * m].reshape(m, n), exact, atol=dim * 1e-6)
            assert out[n * m + PADDING] == 55.0  # nothing is written behind the room for it

            new_e, new_t, change = e.astype(float), t.astype(float), np.zeros((n, dim))
            for row, steps in zip(y, g, strict=True):
                change += np.outer(steps, new_t[row])
                new_t[row] += steps @ e[x]
            np.add.at(new_e, x, change)
            # up to 21 changes of about 0.1, each with the relative error of float32
            np.testing.assert_allclose(flat_e.reshape(ROWS, dim), new_e, atol=1e-5)
            np.testing.assert_allclose(flat_t.reshape(ROWS, dim), new_t, atol=1e-5)
            for flat, old, named in ((flat_e, e, x), (flat_t, t, y)):
                others = np.setdiff1d(np.arange(ROWS), named)
                assert (flat.reshape(ROWS, dim)[others] == old[others]).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_against_many_with_a_length_known_late(width):
    @njit(fastmath=True)
    def both(row, at, t, y, out, g, dim):
        tiles.dots(row, at, t, y, out, 1, 16, dim, width)
        tiles.add_rows(row, at, t, y, g, 16, dim, width)

    for dim in (16, 48, 112):
        rows, t = labels(dim, dim)
        y, g = np.arange(16) * 2, np.random.default_rng(dim).standard_normal(16).astype(np.float32)
        flat, out = aligned(rows).reshape(-1), aligned(np.zeros(16 + PADDING))
        both(flat, 3 * dim, aligned(t).reshape(-1), y * dim, out, g, dim)
        np.testing.assert_allclose(out[:16], t[y].astype(float) @ rows[3], atol=dim * 1e-6)
        expected = rows.astype(float)
        expected[3] += g @ t[y].astype(float)
        np.testing.assert_allclose(flat.reshape(ROWS, dim), expected, atol=2e-5)


def test_prefetch_changes_nothing():
    @njit
    def prefetch(label, offset):
        prefetch_row(label, offset, 48)

    label = aligned(np.arange(96.0))
    prefetch(label, 48)
    prefetch(label, 10**9)  # a hint: it may point anywhere
    assert (label == np.arange(96.0)).all()


LANE = 1e-6
"""Error of the loss, a lane: the logarithm's series is good to 4e-7, and a lane that only fills up the register, cut
to -LIMIT, has lost x + log(1 + exp(-x)) = 1e-7 as the small difference of two numbers near 16 (6e-7 with fastmath)."""


@pytest.fixture(params=product(WIDTHS, [False, True]), ids="width={0[0]}-fastmath={0[1]}".format, scope="module")
def steps(request):
    width, fastmath = request.param

    @njit(fastmath=fastmath)
    def logistic(tile, size, alpha):
        return logistic_steps(tile, size, alpha, width)

    def run(values, alpha=0.025):
        values = np.asarray(values, np.float32)
        tile = aligned(np.append(values, np.full(PADDING + 1, 9.0)))
        total = logistic(tile, len(values), np.float32(alpha))
        assert tile[len(values) + PADDING] == 9.0
        lanes = -(-len(values) // width) * width
        return tile[: len(values)], total, LANE * lanes

    return run


@pytest.mark.parametrize("alpha", [1.0, 0.025, 2.5e-6])
def test_steps_are_those_of_the_sigmoid(steps, alpha):
    x = np.linspace(-LIMIT, LIMIT, 20_001, dtype=np.float32)
    found, *_ = steps(x, alpha)
    exact = -np.float32(alpha) / (1 + np.exp(-x.astype(float)))
    # 2^f is good to 1.2e-7, and a few roundings of 6e-8 come on top
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_losses_are_those_of_the_logarithm(steps):
    for x in np.linspace(-LIMIT, LIMIT, 2001, dtype=np.float32):
        _, total, error = steps([x])
        assert abs(total - naive.loss(float(x), 0)) < error


@pytest.mark.parametrize("size", [1, 3, 4, 5, 15, 16, 17, 64, 105])
def test_any_number_of_steps(steps, size):
    x = np.random.default_rng(size).normal(0, 4, size).astype(np.float32)
    found, total, error = steps(x)
    np.testing.assert_allclose(found, -0.025 / (1 + np.exp(-x.astype(float))), rtol=1e-6)
    assert total == pytest.approx(naive.loss(x.astype(float), 0).sum(), abs=error, rel=1e-6)


@pytest.mark.parametrize("x", [16.1, 88.0, 100.0, 1e30, np.inf])
def test_extreme_products_are_cut(steps, x):
    found, total, error = steps([x, -x], 1.0)
    assert found[0] == pytest.approx(-1.0, abs=2e-7)
    assert 0 >= found[1] >= -1.3e-7
    assert total == pytest.approx(LIMIT, abs=error)


def test_register_width(monkeypatch):
    assert tiles.register_width() in WIDTHS
    for features, width in (
        ({"avx512f": True, "avx": True}, 16),
        ({"avx512f": False, "avx": True}, 8),
        ({"neon": True}, 4),
    ):
        monkeypatch.setattr(llvm, "get_host_cpu_features", lambda found=features: found)
        assert tiles.register_width() == width


def test_rows_fit_the_registers():
    assert all(ROW_ALIGNMENT % width == 0 for width in WIDTHS)
    assert {width: tile_rows(width) for width in WIDTHS} == naive.TILE_ROWS
    assert max(WIDTHS) <= PADDING
