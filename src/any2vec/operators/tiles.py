"""Vector tiles: dot products and updates of rows, as LLVM vector code.

Numba's own loops reach a third of their speed, as they do not keep a tile of several rows in registers. The
intrinsics below emit LLVM IR (through llvmlite, no compiler is needed); LLVM lowers a vector of `width` floats to
whatever the processor has. A tile is `n` source rows (1 to `tile_rows`) against `m` destination rows. Rows are
addressed by their offset, in floats, from the start of a matrix. Every offset is a multiple of 16 and
the matrices are 64-byte aligned, so that all loads are aligned.

The integers `dim` and `width` must be compile-time constants (closure variables of the calling kernel): then Numba's
cache finds the kernel again in the next process. `m` may be one. For `dots` and `add_rows`, `dim` need not be one.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import float32, int64, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

from any2vec.llvm.intrinsics import FLOAT, I32, I64, call, constant, data, fixed, fma, load, splat, store, sums, vector

TILE_ROWS = 5
"""Source rows that any processor takes at once: five rows, their five changes and three more fit in 16 registers."""

MOST_ROWS = 10
"""Source rows that processors with AVX-512 take at once: ten, and two sums for each, fit in 32 registers."""

ROW_ALIGNMENT = 16
"""Floats in a cache line; rows are padded to a multiple of it."""

# Destination rows held against n source rows: 8 sums in flight hide the latency of a fused multiply-add, at most 12
# stay in 16 registers, 20 in 32.
_DESTINATIONS = {1: 8, 2: 4, 3: 4} | dict.fromkeys(range(4, MOST_ROWS + 1), 2)
# Registers of columns that an update takes at once, and sums over which its destinations take turns; likewise.
_COLUMNS = {1: 2, 2: 2} | dict.fromkeys(range(3, MOST_ROWS + 1), 1)
_TURNS = dict.fromkeys(range(1, MOST_ROWS + 1), 1) | {3: 2}


def register_width() -> int:
    """Return how many float32 a vector register of this processor holds: 16 with AVX-512, 8 with AVX, else 4."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


@register_jitable
def tile_rows(width: int) -> int:
    """Return the most source rows in a tile: AVX-512 has 32 registers of 16 floats."""
    return MOST_ROWS if width == 16 else TILE_ROWS


def _number(kind: types.Type, value: ir.Value) -> ir.Value:
    return constant(kind.literal_value) if isinstance(kind, types.IntegerLiteral) else value


def _row(b: ir.IRBuilder, matrix: ir.Value, offsets: ir.Value, index: ir.Value) -> ir.Value:
    return b.gep(matrix, [b.load(b.gep(offsets, [index]))])


def _switch(b: ir.IRBuilder, n: ir.Value, width: int, emit: Callable[[int], None]) -> None:
    """Emit the code for each number of source rows, and a switch."""
    after = b.append_basic_block("tile.after")
    switch = b.switch(n, after)
    for rows in range(1, tile_rows(width) + 1):
        block = b.append_basic_block(f"tile.{rows}")
        switch.add_case(constant(rows), block)
        b.position_at_end(block)
        emit(rows)
        b.branch(after)
    b.position_at_end(after)


def _groups(b: ir.IRBuilder, kind: types.Type, m: ir.Value, most: int) -> Iterator[tuple[ir.Value, int]]:
    """Emit loops over m rows in groups of `most`; then, over the rest, in groups of half as many, and so on."""
    if isinstance(kind, types.IntegerLiteral):
        size = min(most, kind.literal_value)
        first, rest = constant(0), kind.literal_value % size
        whole = constant(kind.literal_value - rest)
        with cgutils.for_range_slice(b, first, whole, constant(size), intp=I64) as (row, _):
            yield row, size
        if rest:
            yield whole, rest
        return
    first, size = constant(0), most
    while size:
        whole = b.sub(m, b.urem(b.sub(m, first), constant(size)))
        with cgutils.for_range_slice(b, first, whole, constant(size), intp=I64) as (row, _):
            yield row, size
        first, size = whole, size // 2


@intrinsic(prefer_literal=True)
def dots(typing: Any, e: Any, x: Any, t: Any, y: Any, out: Any, n: Any, m: Any, dim: Any, width: Any) -> Any:
    """``out[j * n + i] = e[x[i] : x[i] + dim] . t[y[j] : y[j] + dim]`` for i < n, j < m.

    `e` and `t` are flat matrices, aligned to 64 bytes as `out` is, of whose 16 floats behind the first ``n * m`` some
    are overwritten. An integer `x` is the offset of a single source; n is 1 to `tile_rows(width)`. A literal `m` spares
    code and time; `width`, the floats of a register, is literal.
    """
    signature = types.void(e, x, t, y, out, n, m, dim, width)
    w_, alone = fixed(width), isinstance(x, types.Integer)

    def tile(b: ir.IRBuilder, p: list[ir.Value], first: ir.Value, n_: int, rows: int) -> None:
        sources = [b.gep(p[0], [p[1]])] if alone else [_row(b, p[0], p[1], constant(i)) for i in range(n_)]
        targets = [_row(b, p[2], p[3], b.add(first, constant(j))) for j in range(rows)]
        zero = ir.Constant(vector(w_), [0.0] * w_)
        partial = [cgutils.alloca_once_value(b, zero) for _ in range(n_ * rows)]
        for s in partial:
            b.store(zero, s)
        columns = cgutils.for_range_slice(b, constant(0), p[5], constant(w_), intp=I64)
        with columns as (column, _):
            xs = [load(b, b.gep(source, [column]), w_) for source in sources]
            for j, target in enumerate(targets):
                y_ = load(b, b.gep(target, [column]), w_)
                for i, x_ in enumerate(xs):
                    s = partial[j * n_ + i]
                    b.store(fma(b, x_, y_, b.load(s)), s)
        for k in range(0, len(partial), w_):
            total = sums(b, [b.load(s) for s in partial[k : k + w_]], w_)
            place = b.add(b.mul(first, constant(n_)), constant(k))
            store(b, total, b.gep(p[4], [place]), 4)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        arrays = zip(sig.args[:5], args[:5], strict=True)
        p = [data(context, b, kind, a) if isinstance(kind, types.Array) else a for kind, a in arrays]
        p.append(_number(dim, args[7]))

        def emit(n_: int) -> None:
            for first, rows in _groups(b, m, args[6], _DESTINATIONS[n_]):
                tile(b, p, first, n_, rows)

        if alone:
            emit(1)
        else:
            _switch(b, args[5], w_, emit)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic(prefer_literal=True)
def add_rows(typing: Any, out: Any, at: Any, t: Any, y: Any, g: Any, m: Any, dim: Any, width: Any) -> Any:
    """Add ``g[j] * t[y[j] : y[j] + dim]``, for all j < m, to ``out[at : at + dim]``; m is literal."""
    signature = types.void(out, at, t, y, g, m, dim, width)
    w_ = fixed(width)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        out_, t_, y_, g_ = (data(context, b, sig.args[k], args[k]) for k in (0, 2, 3, 4))
        rows = [_row(b, t_, y_, constant(j)) for j in range(fixed(m))]
        weights = [splat(b, b.load(b.gep(g_, [constant(j)])), w_) for j in range(fixed(m))]
        columns = cgutils.for_range_slice(b, constant(0), _number(dim, args[6]), constant(w_), intp=I64)
        with columns as (column, _):
            place = b.gep(out_, [b.add(args[1], column)])
            total = load(b, place, w_)
            for row, weight in zip(rows, weights, strict=True):
                total = fma(b, weight, load(b, b.gep(row, [column]), w_), total)
            store(b, total, place, w_ * 4)
        return context.get_dummy_value()

    return signature, codegen


@njit(inline="always")
def aligned(size: int) -> NDArray[np.float32]:
    """Floats that begin a cache line: Numba's arrays begin at 32 bytes, and registers may have 64."""
    spare = np.empty(size + ROW_ALIGNMENT, np.float32)
    skip = int64(spare.ctypes.data // 4) % ROW_ALIGNMENT
    return spare[ROW_ALIGNMENT - skip : ROW_ALIGNMENT - skip + size]


@njit(inline="always")
def copy(to: Any, values: Any, n: int) -> None:
    """Copy n floats, in a loop: Numba takes seconds to compile an assignment to a slice."""
    for i in range(n):
        to[i] = values[i]


@intrinsic(prefer_literal=True)
def update(typing: Any, e: Any, x: Any, t: Any, y: Any, g: Any, n: Any, m: Any, dim: Any, width: Any) -> Any:
    """Add ``g[j * n + i] * t[y[j]]`` to ``e[x[i]]`` and ``g[j * n + i] * e[x[i]]`` to ``t[y[j]]``; else as `dots`.

    Both use the rows as they were before, except that a row named twice in `y` is read again at its second
    turn. Every row is loaded and stored once; changes are added in memory, so a row named twice in `x` gets both.
    """
    signature = types.void(e, x, t, y, g, n, m, dim, width)
    d_, w_ = fixed(dim), fixed(width)

    def columns(b: ir.IRBuilder, p: list[ir.Value], sources: list[ir.Value], at: ir.Value, parts: int) -> None:
        """All rows, over `parts` registers of columns from `at`."""
        n_ = len(sources)
        turns = min(_TURNS[n_], fixed(m)) if isinstance(m, types.IntegerLiteral) else _TURNS[n_]
        spans = [b.add(at, constant(part * w_)) for part in range(parts)]
        places = [[b.gep(source, [span]) for span in spans] for source in sources]
        xs = [[load(b, place, w_) for place in row] for row in places]
        zero = ir.Constant(vector(w_), [0.0] * w_)
        changes = [[[cgutils.alloca_once_value(b, zero) for _ in spans] for _ in sources] for _ in range(turns)]
        for slot in (c for turn in changes for row in turn for c in row):
            b.store(zero, slot)

        def destination(j: ir.Value, turn: int) -> None:
            target = _row(b, p[2], p[3], j)
            steps = b.gep(p[4], [b.mul(j, constant(n_))])
            ys = [load(b, b.gep(target, [span]), w_) for span in spans]
            new = list(ys)
            for i in range(n_):
                step = splat(b, b.load(b.gep(steps, [constant(i)])), w_)
                for part, change in enumerate(changes[turn][i]):
                    b.store(fma(b, step, ys[part], b.load(change)), change)
                    new[part] = fma(b, step, xs[i][part], new[part])
            for value, span in zip(new, spans, strict=True):
                store(b, value, b.gep(target, [span]), w_ * 4)

        for j, rows in _groups(b, m, p[5], turns):
            for turn in range(rows):
                destination(b.add(j, constant(turn)), turn)
        for i, row in enumerate(places):
            for part, place in enumerate(row):
                total = load(b, place, w_)
                for change in changes:
                    total = b.fadd(total, b.load(change[i][part]))
                store(b, total, place, w_ * 4)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        p = [data(context, b, kind, array) for kind, array in zip(sig.args[:5], args[:5], strict=True)] + [args[6]]

        def emit(n_: int) -> None:
            sources = [_row(b, p[0], p[1], constant(i)) for i in range(n_)]
            parts = min(_COLUMNS[n_], d_ // w_)
            whole = d_ - d_ % (parts * w_)
            with cgutils.for_range_slice(b, constant(0), constant(whole), constant(parts * w_), intp=I64) as (at, _):
                columns(b, p, sources, at, parts)
            if whole < d_:
                columns(b, p, sources, constant(whole), (d_ - whole) // w_)

        _switch(b, args[5], w_, emit)
        return context.get_dummy_value()

    return signature, codegen


LIMIT = 16.0
"""Dot products are cut to this; there a prediction differs from 0 or 1 by 1e-7."""

PADDING = 16
"""Floats of padding behind a tile, filled with `NOTHING`."""

NOTHING = -1e30
"""Stands for a dot product that is not there: label 0 has neither a step nor a loss there worth the name."""

_LN2 = math.log(2.0)
_POWER_SERIES = [_LN2**k / math.factorial(k) for k in range(7)]  # 2^f for |f| <= 1/2, to 1.2e-7
_LOG_SERIES = [2.0 / (2 * k + 1) for k in range(5)]  # 2 atanh(s) / s for s <= 1/3, to 2e-6


@intrinsic(prefer_literal=True)
def logistic_steps(typing: Any, tile: Any, size: Any, alpha: Any, width: Any) -> Any:
    """Replace each dot product x by ``-alpha * sigmoid(x)``, the step of a sample with label 0; sum up the losses.

    The loss of label 0 is ``-log(1 - sigmoid(x)) = x + log(1 + exp(-x))`` (GraphAny2Vec, section 2.2). For label 1
    the caller adds `alpha` to the step and takes x off the loss. The `tile` has PADDING floats behind its `size`.
    """
    signature = types.float32(tile, size, alpha, width)
    w_ = fixed(width)
    integers = ir.VectorType(I32, w_)

    def floats(value: float) -> ir.Constant:
        return ir.Constant(ir.VectorType(FLOAT, w_), [value] * w_)

    def ints(value: int) -> ir.Constant:
        return ir.Constant(integers, [value] * w_)

    def polynomial(b: ir.IRBuilder, x: ir.Value, series: list[float]) -> ir.Value:
        p = floats(series[-1])
        for c in series[-2::-1]:
            p = fma(b, p, x, floats(c))
        return p

    def exp(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        y = b.fmul(x, floats(1.0 / _LN2))
        whole = call(b, "llvm.floor", b.fadd(y, floats(0.5)))
        bits = b.shl(b.add(b.fptosi(whole, integers), ints(127)), ints(23))
        return b.fmul(polynomial(b, b.fsub(y, whole), _POWER_SERIES), b.bitcast(bits, x.type))

    def log(b: ir.IRBuilder, z: ir.Value) -> ir.Value:
        bits = b.bitcast(z, integers)
        mantissa = b.bitcast(b.or_(b.and_(bits, ints(0x007FFFFF)), ints(0x3F800000)), z.type)
        s = b.fdiv(b.fsub(mantissa, floats(1.0)), b.fadd(mantissa, floats(1.0)))
        exponent = b.sitofp(b.sub(b.lshr(bits, ints(23)), ints(127)), z.type)
        series = b.fmul(s, polynomial(b, b.fmul(s, s), _LOG_SERIES))
        return fma(b, exponent, floats(_LN2), series)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        place, count = data(context, b, sig.args[0], args[0]), args[1]
        whole = b.mul(b.udiv(b.add(count, constant(w_ - 1)), constant(w_)), constant(w_))
        with cgutils.for_range_slice(b, count, whole, constant(1), intp=I64) as (k, _):
            b.store(ir.Constant(FLOAT, NOTHING), b.gep(place, [k]))
        step = splat(b, b.fneg(args[2]), w_)
        loss = cgutils.alloca_once_value(b, floats(0.0))
        b.store(floats(0.0), loss)
        with cgutils.for_range_slice(b, constant(0), whole, constant(w_), intp=I64) as (k, _):
            x = load(b, b.gep(place, [k]), w_)
            x = call(b, "llvm.minnum", call(b, "llvm.maxnum", x, floats(-LIMIT)), floats(LIMIT))
            odds = b.fadd(exp(b, b.fneg(x)), floats(1.0))
            store(b, b.fdiv(step, odds), b.gep(place, [k]), w_ * 4)
            b.store(b.fadd(b.load(loss), b.fadd(x, log(b, odds))), loss)
        return b.extract_element(sums(b, [b.load(loss)], w_), ir.Constant(I32, 0))

    return signature, codegen


@njit(inline="always")
def logistic(
    scores: Any, labels: Any, sources: int, targets: int, alpha: float, measured: bool, width: int
) -> tuple[float, float]:
    """Turn scores into steps of the logistic loss; the first target has label 1, the others 0 (`Operator.steps`)."""
    loss = label_one_loss(scores, 0, sources)
    loss += logistic_steps(scores, sources * targets, alpha, width)
    for i in range(sources):
        scores[i] += alpha
    return loss, logistic_curvature(scores, sources * targets, alpha) if measured else 0.0


@njit(inline="always")
def label_one_loss(scores: Any, begin: int, end: int) -> float:
    """Sum up what the loss of label 1 is more than that of label 0."""
    loss = 0.0
    for i in range(begin, end):
        loss -= min(max(scores[i], float32(-LIMIT)), float32(LIMIT))
    return loss


@njit(inline="always")
def logistic_curvature(steps: Any, size: int, alpha: float) -> float:
    """Sum up p (1 - p), times the squared gradient: with label 0 that is -p, with label 1 it is 1 - p."""
    total = 0.0
    for i in range(size):
        gradient = abs(steps[i] / alpha)
        total += gradient**3 * (float32(1.0) - gradient)
    return total


@njit(inline="always")
def put_repeats(scores: Any, y: Any, sources: int, targets: int, value: float) -> None:
    """Set the scores, or the steps, of targets that repeat the first one."""
    for k in range(1, targets):
        if y[k] == y[0]:
            scores[k * sources : (k + 1) * sources] = float32(value)
