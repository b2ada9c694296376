"""How hosts synchronize: communication schemes by name; a new one is a file of this package and a line below."""

from any2vec.errors import Any2VecError, shown
from any2vec.sync.columns import Columns
from any2vec.sync.rows import PullModelBase, PullModelOpt, RepModelNaive, RepModelOpt, Server
from any2vec.sync.scheme import Scheme

__all__ = ["AUTO", "SCHEMES", "Scheme", "scheme_of"]

AUTO = "auto"
"""Stands for the scheme that `training.choice` finds best."""

SCHEMES: dict[str, type[Scheme]] = {
    "rep-naive": RepModelNaive,
    "rep-opt": RepModelOpt,
    "pull-base": PullModelBase,
    "pull-opt": PullModelOpt,
    "columns": Columns,
    "server": Server,
}


def scheme_of(name: str | None, hosts: int = 2) -> type[Scheme]:
    """Look up a scheme; one host has all masters: there, every scheme of whole rows is `RepModelOpt`."""
    if name is not None and (not isinstance(name, str) or name not in [*SCHEMES, AUTO]):
        raise Any2VecError(f"`scheme` is {shown(name)}; known are {', '.join([*SCHEMES, AUTO])}")
    scheme = SCHEMES.get(name or AUTO, PullModelOpt)
    return scheme if hosts > 1 or scheme.of_its_own else RepModelOpt
