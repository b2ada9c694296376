"""Arrays without an owner, for loops: Numba counts references to others at every slice, by locked instructions."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["unowned"]


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
