"""Prefetch: ask for memory that will be read soon."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from any2vec.llvm.simd import I32, constant, data

__all__ = ["LINE", "prefetch", "prefetch_row"]

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
    if not isinstance(dim, types.IntegerLiteral):
        return None

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        row = b.gep(data(context, b, sig.args[0], args[0]), [args[1]])
        for first in range(0, dim.literal_value, LINE):
            _fetch(b, b.gep(row, [constant(first)]))
        return context.get_dummy_value()

    return signature, codegen


def _fetch(b: ir.IRBuilder, place: ir.Value) -> None:
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    call = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    read, near, is_data = (ir.Constant(I32, k) for k in (0, 3, 1))
    b.call(call, [b.bitcast(place, byte), read, near, is_data])
