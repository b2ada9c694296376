"""The steps and the loss of logistic regression on a tile of dot products."""

import math
from typing import Any

from llvmlite import ir
from numba import float32, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from any2vec.llvm.intrinsics import FLOAT, I32, I64, call, constant, data, fma, load, splat, store, sums

__all__ = [
    "LIMIT",
    "NOTHING",
    "PADDING",
    "label_one_loss",
    "logistic",
    "logistic_curvature",
    "logistic_steps",
    "put_repeats",
]

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
    if not isinstance(width, types.IntegerLiteral):
        return None
    w_ = width.literal_value
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
