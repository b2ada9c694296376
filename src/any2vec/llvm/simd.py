"""LLVM vector instructions, for intrinsics."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

__all__ = ["FLOAT", "I32", "I64", "call", "constant", "data", "fma", "load", "splat", "store", "sums", "vector"]

FLOAT = ir.FloatType()
I32 = ir.IntType(32)
I64 = ir.IntType(64)


def vector(width: int) -> ir.VectorType:
    """Type of `width` floats."""
    return ir.VectorType(FLOAT, width)


def constant(value: int) -> ir.Constant:
    """Make a 64-bit integer constant."""
    return ir.Constant(I64, value)


def _mask(indices: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(I32, len(indices)), indices)


def load(b: ir.IRBuilder, pointer: ir.Value, width: int) -> ir.Value:
    """Read a vector that is aligned to its size."""
    read = b.load(b.bitcast(pointer, vector(width).as_pointer()))
    read.align = width * 4
    return read


def store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value, align: int) -> None:
    """Write a vector to a place aligned to `align` bytes."""
    b.store(value, b.bitcast(pointer, value.type.as_pointer())).align = align


def splat(b: ir.IRBuilder, scalar: ir.Value, width: int) -> ir.Value:
    """Repeat a float, or an integer, in all lanes."""
    one = b.insert_element(ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined), scalar, ir.Constant(I32, 0))
    return b.shuffle_vector(one, one, _mask([0] * width))


def fma(b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """``x * y + z``, rounded once."""
    return call(b, "llvm.fma", x, y, z)


def call(b: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """Call an LLVM function of vectors that gives a vector of the same kind."""
    kind = values[0].type
    function = ir.FunctionType(kind, [kind] * len(values))
    return b.call(cgutils.get_or_insert_function(b.module, function, f"{name}.v{kind.count}f32"), values)


def sums(b: ir.IRBuilder, vectors: list[ir.Value], width: int) -> ir.Value:
    """One vector that holds the sum over the lanes of each of up to `width` vectors, in their order.

    Neighbours are folded pairwise (a transposition that adds as it goes): 2.6 instructions a sum where one
    reduction each takes 7.
    """
    count = 1
    while count < len(vectors):
        count *= 2
    level = vectors + [vectors[-1]] * (count - len(vectors))
    step = 1
    while len(level) > 1:
        # x holds `step` partial sums side by side, again and again; take the even runs and the odd runs of x, y
        low, high = [], []
        for block in range(0, width, 2 * step):
            for source in (0, width):
                low += [source + block + k for k in range(step)]
                high += [source + block + step + k for k in range(step)]
        level = [
            b.fadd(b.shuffle_vector(x, y, _mask(low)), b.shuffle_vector(x, y, _mask(high)), flags=["fast"])
            for x, y in zip(level[::2], level[1::2], strict=True)
        ]
        step *= 2
    folded, lanes = level[0], width
    while lanes > count:
        lanes //= 2
        halves = (list(range(lanes)), list(range(lanes, 2 * lanes)))
        folded = b.fadd(*(b.shuffle_vector(folded, folded, _mask(h)) for h in halves), flags=["fast"])
    return folded


def data(context: Any, b: ir.IRBuilder, kind: types.Array, array: ir.Value) -> ir.Value:
    """Where an array's elements begin."""
    return context.make_array(kind)(context, b, array).data
