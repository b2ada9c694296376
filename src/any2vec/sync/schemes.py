"""Communication schemes by name; a new one is a file of this folder and a line below."""

from any2vec.errors import Any2VecError
from any2vec.sync.pulled import PullModelBase, PullModelOpt
from any2vec.sync.replicated import RepModelNaive, RepModelOpt
from any2vec.sync.scheme import HostContext, Scheme

__all__ = ["SCHEMES", "check_scheme", "new_scheme"]

SCHEMES: dict[str, type[Scheme]] = {
    "rep-naive": RepModelNaive,
    "rep-opt": RepModelOpt,
    "pull-base": PullModelBase,
    "pull-opt": PullModelOpt,
}


def check_scheme(name: str) -> None:
    """Raise an error that lists the known schemes if `name` is not one."""
    if name not in SCHEMES:
        raise Any2VecError(f"`scheme` is {name!r}; known are {', '.join(SCHEMES)}")


def new_scheme(name: str, site: HostContext) -> Scheme:
    """Make the scheme of this name; alone, a host has every master and needs no mirrors: a replica of itself."""
    return (SCHEMES[name] if site.communicator.size > 1 else RepModelOpt)(site)
