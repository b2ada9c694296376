"""The few LLVM intrinsics that kernels are built from: vectors, atomics, bits, prefetch, arrays without an owner."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from any2vec.errors import Any2VecError

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


def fixed(kind: types.Type) -> int:
    """Return the number that an argument is while a kernel is compiled."""
    if not isinstance(kind, types.IntegerLiteral):
        what = "a `dim`, `width` or number of rows that is no constant of the kernel"
        raise Any2VecError(f"the operator's code computes {what}; pass on those that it is given")
    return int(kind.literal_value)


def data(context: Any, b: ir.IRBuilder, kind: types.Array, array: ir.Value) -> ir.Value:
    """Where an array's elements begin."""
    return context.make_array(kind)(context, b, array).data


@intrinsic
def exchange(typing: Any, cell: Any, value: Any) -> Any:
    """Atomically store an int32 `value` in ``cell[0]`` and return what was there."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.atomic_rmw("xchg", data(context, b, sig.args[0], args[0]), args[1], "seq_cst")

    return types.int32(cell, types.int32), codegen


@intrinsic
def load_atomic(typing: Any, cell: Any) -> Any:
    """Read an int32, ``cell[0]``, that another thread may be writing."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.load_atomic(data(context, b, sig.args[0], args[0]), "seq_cst", 4)

    return types.int32(cell), codegen


@intrinsic
def load_u64(typing: Any, array: Any, index: Any) -> Any:
    """Load the eight bytes at `index` of a uint8 array as a little-endian uint64."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        place = b.gep(data(context, b, sig.args[0], args[0]), [args[1]])
        value = b.load(b.bitcast(place, ir.IntType(64).as_pointer()), align=1)
        return value if np.little_endian else b.bswap(value)

    return types.uint64(array, types.int64), codegen


@intrinsic
def trailing_zeros(typing: Any, bits: Any) -> Any:
    """Count the zero bits below the lowest one; 64 if there is none."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.cttz(args[0], cgutils.false_bit)

    return types.uint64(types.uint64), codegen


@intrinsic
def ones(typing: Any, bits: Any) -> Any:
    """Count the bits that are set."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.ctpop(args[0])

    return types.uint64(types.uint64), codegen


LINE = 16  # float32 per cache line


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]``; `array` is C-contiguous with one dimension, any index is safe."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        _fetch(b, b.gep(data(context, b, sig.args[0], args[0]), [args[1]]))
        return context.get_dummy_value()

    return types.void(array, index), codegen


@intrinsic(prefer_literal=True)
def prefetch_row(typing: Any, matrix: Any, offset: Any, dim: Any) -> Any:
    """Prefetch ``matrix[offset : offset + dim]``, float32; `dim` is a literal."""
    signature = types.void(matrix, offset, dim)

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        row = b.gep(data(context, b, sig.args[0], args[0]), [args[1]])
        for first in range(0, fixed(dim), LINE):
            _fetch(b, b.gep(row, [constant(first)]))
        return context.get_dummy_value()

    return signature, codegen


def _fetch(b: ir.IRBuilder, place: ir.Value) -> None:
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    call = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    read, near, is_data = (ir.Constant(I32, k) for k in (0, 3, 1))
    b.call(call, [b.bitcast(place, byte), read, near, is_data])


@intrinsic
def unowned(typing: Any, value: Any) -> Any:
    """Return an array, or a tuple with arrays in it, as it is, but references are not counted any more.

    What owns the memory must outlive it: the caller's argument does; an array that the function itself makes has to be
    named once more at the end.
    """

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return _without(context, b, sig.return_type, args[0])

    return value(value), codegen


def _without(context: Any, b: ir.IRBuilder, kind: types.Type, value: ir.Value) -> ir.Value:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, b, value=value)
        for owner in ("meminfo", "parent"):
            setattr(array, owner, cgutils.get_null_value(getattr(array, owner).type))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind.types):
            value = b.insert_value(value, _without(context, b, part, b.extract_value(value, i)), i)
    return value
