"""A hint to the processor: this entry of an array will be read soon."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["prefetch"]

_I32 = ir.IntType(32)


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``, a C-contiguous array of one dimension; any index is safe."""

    def codegen(context: Any, b: ir.IRBuilder, sig: Any, args: Any) -> Any:
        entries = context.make_array(sig.args[0])(context, b, args[0]).data
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        fetch = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
        read, near, data = (ir.Constant(_I32, k) for k in (0, 3, 1))
        b.call(fetch, [b.bitcast(b.gep(entries, [args[1]]), byte), read, near, data])
        return context.get_dummy_value()

    return types.void(array, index), codegen
