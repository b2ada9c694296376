"""A context as one source (CBOW): rows are joined into one, which learns, and its change is spread over them.

LLVM vector code, as in `tiles`; rows are addressed as there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from any2vec.llvm.intrinsics import I64, constant, data, fma, load, splat, store, vector

__all__ = ["join", "join_changed", "learn", "spread"]

_COLUMNS = {16: 8, 8: 4, 4: 4}  # registers of columns taken at once, by width: sums of them all stay in registers

Spans = list[ir.Value]


def _columns(b: ir.IRBuilder, dim: int, width: int, emit: Callable[[Spans], None]) -> None:
    """Emit code for all columns, some registers at a time; `emit` is given where these begin."""
    parts = min(_COLUMNS[width], dim // width)
    whole = dim - dim % (parts * width)

    def spans(at: ir.Value, count: int) -> Spans:
        return [b.add(at, constant(part * width)) for part in range(count)]

    with cgutils.for_range_slice(b, constant(0), constant(whole), constant(parts * width), intp=I64) as (at, _):
        emit(spans(at, parts))
    if whole < dim:
        emit(spans(constant(whole), (dim - whole) // width))


@contextmanager
def _rows(b: ir.IRBuilder, matrix: ir.Value, offsets: ir.Value, n: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Emit a loop over rows: their index, and where they begin."""
    with cgutils.for_range_slice(b, constant(0), n, constant(1), intp=I64) as (index, _):
        yield index, b.gep(matrix, [b.load(b.gep(offsets, [index]))])


def _sums(b: ir.IRBuilder, spans: Spans, width: int) -> list[ir.Value]:
    """Make registers of zeros."""
    zero = ir.Constant(vector(width), [0.0] * width)
    slots = [cgutils.alloca_once_value(b, zero) for _ in spans]
    for slot in slots:
        b.store(zero, slot)
    return slots


def _literals(*values: Any) -> list[int] | None:
    return [v.literal_value for v in values] if all(isinstance(v, types.IntegerLiteral) for v in values) else None


@intrinsic(prefer_literal=True)
def join(typing: Any, e: Any, x: Any, n: Any, scale: Any, h: Any, dim: Any, width: Any) -> Any:
    """``h[:dim] = scale * (e[x[0] : x[0] + dim] + ... + e[x[n - 1] : x[n - 1] + dim])``.

    `h` is aligned to 64 bytes; `dim` and `width`, the floats of a register, are literal.
    """
    literal = _literals(dim, width)
    if literal is None:
        return None
    dim_, width_ = literal

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, x_, h_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 4))
        factor = splat(b, args[3], width_)

        def emit(spans: Spans) -> None:
            sums = _sums(b, spans, width_)
            with _rows(b, e_, x_, args[2]) as (_, row):
                for slot, span in zip(sums, spans, strict=True):
                    b.store(b.fadd(b.load(slot), load(b, b.gep(row, [span]), width_)), slot)
            for slot, span in zip(sums, spans, strict=True):
                store(b, b.fmul(factor, b.load(slot)), b.gep(h_, [span]), width_ * 4)

        _columns(b, dim_, width_, emit)
        return context.get_dummy_value()

    return types.void(e, x, types.int64, types.float32, h, dim, width), codegen


@intrinsic(prefer_literal=True)
def join_changed(
    typing: Any, e: Any, changes: Any, x: Any, weights: Any, n: Any, scale: Any, h: Any, dim: Any, width: Any
) -> Any:
    """Join rows ``e[x[i] : x[i] + dim] + weights[i] * changes[x[i] : x[i] + dim]``.

    The other parameters are those of `join`.
    """
    literal = _literals(dim, width)
    if literal is None:
        return None
    dim_, width_ = literal

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, changes_, x_, weights_, h_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 2, 3, 6))
        factor = splat(b, args[5], width_)

        def emit(spans: Spans) -> None:
            sums = _sums(b, spans, width_)
            with _rows(b, e_, x_, args[4]) as (i, row):
                weight = splat(b, b.load(b.gep(weights_, [i])), width_)
                change = b.gep(changes_, [b.load(b.gep(x_, [i]))])
                for slot, span in zip(sums, spans, strict=True):
                    total = b.fadd(b.load(slot), load(b, b.gep(row, [span]), width_))
                    b.store(fma(b, weight, load(b, b.gep(change, [span]), width_), total), slot)
            for slot, span in zip(sums, spans, strict=True):
                store(b, b.fmul(factor, b.load(slot)), b.gep(h_, [span]), width_ * 4)

        _columns(b, dim_, width_, emit)
        return context.get_dummy_value()

    return types.void(e, changes, x, weights, types.int64, types.float32, h, dim, width), codegen


@intrinsic(prefer_literal=True)
def learn(typing: Any, h: Any, t: Any, y: Any, g: Any, m: Any, change: Any, dim: Any, width: Any) -> Any:
    """Add ``g[j] * h`` to ``t[y[j]]``, and set `change` to the sum of ``g[j] * t[y[j]]``, with `t` as it was before.

    `h` is the joined row, `change` what it is to change by, `g` the steps; the others are those of `tiles.dots`.
    """
    literal = _literals(dim, width)
    if literal is None:
        return None
    dim_, width_ = literal

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        h_, t_, y_, g_, change_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 2, 3, 5))

        def emit(spans: Spans) -> None:
            sums = _sums(b, spans, width_)
            source = [load(b, b.gep(h_, [span]), width_) for span in spans]
            with _rows(b, t_, y_, args[4]) as (j, row):
                step = splat(b, b.load(b.gep(g_, [j])), width_)
                for slot, span, x in zip(sums, spans, source, strict=True):
                    place = b.gep(row, [span])
                    old = load(b, place, width_)
                    b.store(fma(b, step, old, b.load(slot)), slot)
                    store(b, fma(b, step, x, old), place, width_ * 4)
            for slot, span in zip(sums, spans, strict=True):
                store(b, b.load(slot), b.gep(change_, [span]), width_ * 4)

        _columns(b, dim_, width_, emit)
        return context.get_dummy_value()

    return types.void(h, t, y, g, types.int64, change, dim, width), codegen


@intrinsic(prefer_literal=True)
def spread(typing: Any, e: Any, x: Any, n: Any, scale: Any, change: Any, dim: Any, width: Any) -> Any:
    """Add ``scale * change[:dim]`` to each row ``e[x[i] : x[i] + dim]``; a row named twice gets it twice.

    The parameters are those of `join`.
    """
    literal = _literals(dim, width)
    if literal is None:
        return None
    dim_, width_ = literal

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, x_, change_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 4))
        factor = splat(b, args[3], width_)

        def emit(spans: Spans) -> None:
            parts = [b.fmul(factor, load(b, b.gep(change_, [span]), width_)) for span in spans]
            with _rows(b, e_, x_, args[2]) as (_, row):
                for part, span in zip(parts, spans, strict=True):
                    place = b.gep(row, [span])
                    store(b, b.fadd(load(b, place, width_), part), place, width_ * 4)

        _columns(b, dim_, width_, emit)
        return context.get_dummy_value()

    return types.void(e, x, types.int64, types.float32, change, dim, width), codegen
