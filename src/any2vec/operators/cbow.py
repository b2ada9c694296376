"""CBOW (Mikolov et al. 2013, "Efficient estimation of word representations in vector space"): a context is one source.

The mean, or the sum, of the context's rows of e predicts the centre. word2vec.c adds the whole gradient of the mean to
each row of the context. The gradient of the loss is this gradient divided by their number: see Irsoy, Benton and
Stratos 2021, "Corrected CBOW performs as well as skip-gram", arXiv 2012.15332.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, int64, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from any2vec.llvm.intrinsics import I64, constant, data, fixed, fma, load, splat, store, vector
from any2vec.operators.base import OperatorOptions, add_curvature
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.tiles import NOTHING, PADDING, copy, dots, put_repeats
from any2vec.options import option

_COLUMNS = {16: 8, 8: 4, 4: 4}  # registers of columns taken at once, by width: sums of them all stay in registers

_Spans = list[ir.Value]


def _columns(b: ir.IRBuilder, dim: int, width: int, emit: Callable[[_Spans], None]) -> None:
    """Emit code for all columns, some registers at a time; `emit` is given where these begin."""
    parts = min(_COLUMNS[width], dim // width)
    whole = dim - dim % (parts * width)

    def spans(at: ir.Value, count: int) -> _Spans:
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


def _sums(b: ir.IRBuilder, spans: _Spans, width: int) -> list[ir.Value]:
    """Make registers of zeros."""
    zero = ir.Constant(vector(width), [0.0] * width)
    slots = [cgutils.alloca_once_value(b, zero) for _ in spans]
    for slot in slots:
        b.store(zero, slot)
    return slots


@intrinsic(prefer_literal=True)
def join(typing: Any, e: Any, x: Any, n: Any, scale: Any, h: Any, dim: Any, width: Any) -> Any:
    """``h[:dim] = scale * (e[x[0] : x[0] + dim] + ... + e[x[n - 1] : x[n - 1] + dim])``.

    `h` is aligned to 64 bytes; `dim` and `width`, the floats of a register, are literal.
    """
    dim_, width_ = fixed(dim), fixed(width)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, x_, h_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 4))
        factor = splat(b, args[3], width_)

        def emit(spans: _Spans) -> None:
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
    dim_, width_ = fixed(dim), fixed(width)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, changes_, x_, weights_, h_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 2, 3, 6))
        factor = splat(b, args[5], width_)

        def emit(spans: _Spans) -> None:
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
    dim_, width_ = fixed(dim), fixed(width)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        h_, t_, y_, g_, change_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 2, 3, 5))

        def emit(spans: _Spans) -> None:
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
    dim_, width_ = fixed(dim), fixed(width)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        e_, x_, change_ = (data(context, b, sig.args[k], args[k]) for k in (0, 1, 4))
        factor = splat(b, args[3], width_)

        def emit(spans: _Spans) -> None:
            parts = [b.fmul(factor, load(b, b.gep(change_, [span]), width_)) for span in spans]
            with _rows(b, e_, x_, args[2]) as (_, row):
                for part, span in zip(parts, spans, strict=True):
                    place = b.gep(row, [span])
                    store(b, b.fadd(load(b, place, width_), part), place, width_ * 4)

        _columns(b, dim_, width_, emit)
        return context.get_dummy_value()

    return types.void(e, x, types.int64, types.float32, change, dim, width), codegen


@dataclass(kw_only=True, unsafe_hash=True)
class ContextOptions:
    """Options of CBOW."""

    context: str = option(
        "mean",
        "for cbow, how context words are combined: mean, as in word2vec.c; corrected, the mean with its gradient "
        "divided by their number; sum",
        choices=("mean", "corrected", "sum"),
        only="`model` cbow alone",
    )


class CBOW(SkipGram):
    """CBOW with negative sampling."""

    joined = True
    alpha = 0.05
    reads: tuple[str, ...] = ("negative", "ns_exponent", "context")

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.apply = joining(self.steps, options.context, self.varying)

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples as if all rows of a context moved alike: what they share is what hosts learn over again.

        A mean then moves as each of its n rows does, a corrected one 1/n as far; a sum, n times a row, n times as far.
        """
        sizes = 2.0 * np.arange(self.options.narrowest, self.options.window + 1)  # words of a context
        power = {"mean": {"e": 0, "t": 0}, "corrected": {"e": -1, "t": 0}, "sum": {"e": 1, "t": 2}}[
            self.options.context
        ]
        samples = super().samples_per_pair(counts)
        return {which: samples[which] * float((sizes ** power[which]).mean()) for which in samples}

    @property
    def by_columns(self) -> bool:
        """Whether its parts are those of this class: `columns` joins, scores and spreads as `_apply` does."""
        return self.score is dots and type(self).apply is None

    def scratch(self, dim: int) -> int:
        """Floats of the joined row, its change, and the scores."""
        return 2 * dim + self.targets + PADDING


@cache
def learning(steps: Callable[..., Any], varying: bool) -> Callable[..., None]:
    """Make ``learned(h, change, scores, t, group, stats, targets, dim, width)``: score, step, learn."""

    @njit(inline="always")
    def learned(
        h: Any, change: Any, scores: Any, t: Any, group: Any, stats: Any, targets: int, dim: int, width: int
    ) -> None:
        _x, y, labels, _n, skipped, alpha, measured = group
        count = int64(targets - skipped) if varying else targets  # a constant, unless groups have some each
        dots(h, 0, t, y, scores, 1, count, dim, width)
        if skipped and not varying:
            put_repeats(scores, y, 1, count, NOTHING)
        loss, curvature = steps(scores, labels, 1, count, alpha, measured, width)
        if skipped and not varying:
            put_repeats(scores, y, 1, count, 0.0)
        learn(h, t, y, scores, count, change, dim, width)
        stats.loss[0] += loss
        stats.samples[0] += targets - skipped
        if measured:
            add_curvature(stats, curvature, scores, count, alpha)

    return learned


@cache
def joining(steps: Callable[..., Any], context: str, varying: bool, keeps: bool = False) -> Callable[..., None]:
    """Make `Operator.apply`: join the context, score, step, learn, spread the change.

    If it `keeps`, the last joined rows are in `ThreadStats.met`.
    """
    mean, corrected = context != "sum", context == "corrected"
    learned = learning(steps, varying)

    @njit(inline="always")
    def apply(e: Any, t: Any, group: Any, scratch: Any, stats: Any, targets: int, dim: int, width: int) -> None:
        x, n = group[0], group[3]
        if n:
            change, scores = scratch[dim:], scratch[2 * dim :]
            share = float32(1.0) / float32(n)
            join(e, x, n, share if mean else float32(1.0), scratch, dim, width)
            if keeps and group[6]:
                copy(stats.met[stats.groups[0] % len(stats.met)], scratch, dim)
                stats.groups[0] += 1
            learned(scratch, change, scores, t, group, stats, targets, dim, width)
            spread(e, x, n, share if corrected else float32(1.0), change, dim, width)

    return apply
