"""How rows travel, by name; a new way is a class of `Rounded`, or a file of this package, and a line here."""

from any2vec.sync.rounded import BFloat16, Int8
from any2vec.sync.wire import Wire

__all__ = ["FLOAT32", "USUAL", "WIRES", "wire_of"]

FLOAT32, USUAL = "float32", "int8"

WIRES: dict[str, type[Wire]] = {FLOAT32: Wire, "bfloat16": BFloat16, "int8": Int8}
"""How rows are sent, by name."""


def wire_of(name: str | None) -> type[Wire]:
    """Look up how rows are sent; None stands for the usual way."""
    return WIRES[name or USUAL]
