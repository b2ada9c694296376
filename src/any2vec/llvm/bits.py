"""Bits: unaligned loads of 64, and counts."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from any2vec.llvm.simd import data

__all__ = ["load_u64", "trailing_zeros"]


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
