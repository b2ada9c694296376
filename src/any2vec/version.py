"""Which any2vec this is."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("any2vec")
except PackageNotFoundError:  # run from the source tree
    __version__ = "unknown"
