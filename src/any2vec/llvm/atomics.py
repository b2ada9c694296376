"""Atomic operations on array elements."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from any2vec.llvm.simd import data

__all__ = ["exchange", "load"]


@intrinsic
def exchange(typing: Any, cell: Any, value: Any) -> Any:
    """Atomically store an int32 `value` in ``cell[0]`` and return what was there."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.atomic_rmw("xchg", data(context, b, sig.args[0], args[0]), args[1], "seq_cst")

    return types.int32(cell, types.int32), codegen


@intrinsic
def load(typing: Any, cell: Any) -> Any:
    """Read an int32, ``cell[0]``, that another thread may be writing."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        return b.load_atomic(data(context, b, sig.args[0], args[0]), "seq_cst", 4)

    return types.int32(cell), codegen
