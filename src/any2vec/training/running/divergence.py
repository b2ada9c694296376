"""The error that ends training when values are not finite any more: when that was, why, and what to try."""

from any2vec.cluster.communicator import SharedError
from any2vec.training.options import Options

__all__ = ["LARGEST", "diverging", "not_finite"]

LARGEST = 1e6
"""Of a number in a row: larger ones are of no use, though they are finite."""

_SUSPECT = 1e2  # a row of 100 such numbers is as long as 1,000; those of good runs stay below 10
_WORST = 2.0  # mean loss of a sample: log 2 before training, and no more in good runs of any operator

_MANY_NEGATIVES = 50  # from here on they, rather than alpha, are why shared negatives diverge


def not_finite(options: Options, hosts: int, by_columns: bool, when: str, rate: float, kept: str) -> SharedError:
    """Make the error: `when` is the round and epoch, `rate` the learning rate then, `kept` what a checkpoint has."""
    which = options.combine
    name = which if isinstance(which, str) else getattr(which, "__name__", type(which).__name__)
    other = f", or the combiner {name!r} adds up too much" if hosts > 1 else ""
    if by_columns:
        other = f", or `batch` {options.centres(hosts)} is (`batch` times hosts up to 400 usually works)"
    why = _cause(options)
    return SharedError(
        f"training stopped in {when}: values are not finite any more, or beyond {LARGEST:,.0f}, at a learning rate of "
        f"{rate:.2g}; {why}{other}{kept}"
    )


def diverging(options: Options, hosts: int, epoch: int, loss: float, largest: float) -> str:
    """Return what to say after an epoch whose mean loss, or largest number of a row, is of no good run; else nothing.

    The losses of users' own operators may have any scale.
    """
    own = not options.operator_class.__module__.startswith("any2vec.")
    if largest <= _SUSPECT and (own or not loss > _WORST):
        return ""
    other = f", or the combiner {options.combine!r} adds up too much" if hosts > 1 else ""
    return (
        f"after epoch {epoch} the mean loss is {loss:.2f} (0.69 before training), and the largest number in a row "
        f"{largest:,.4g}; {_cause(options)}{other}"
    )


def _cause(options: Options) -> str:
    if options.negatives >= _MANY_NEGATIVES and options.negatives_per != "pair":
        return (
            f"`alpha` {options.initial_alpha} is too large for `negative` {options.negatives} shared by a "
            "window; lower one of them (5 to 20 negatives are usual), or use `negatives_per='pair'`"
        )
    return f"`alpha` {options.initial_alpha} is too large for this corpus (0.025 is usual)"
