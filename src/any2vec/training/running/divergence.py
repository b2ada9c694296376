"""The error that ends training when values are not finite any more: when that was, why, and what to try."""

from any2vec.cluster.communicator import SharedError
from any2vec.training.options import Options

__all__ = ["not_finite"]

_MANY_NEGATIVES = 50  # from here on they, rather than alpha, are why shared negatives diverge


def not_finite(options: Options, hosts: int, by_columns: bool, when: str, rate: float, kept: str) -> SharedError:
    """Make the error.

    Parameters
    ----------
    options : Options
        Of the run.
    hosts : int
        The hosts.
    by_columns : bool
        Whether each has some columns of all rows.
    when : str
        Round and epoch.
    rate : float
        The learning rate then.
    kept : str
        What to say of the last checkpoint, if there is one.
    """
    which = options.combine
    name = which if isinstance(which, str) else getattr(which, "__name__", type(which).__name__)
    other = f", or the combiner {name!r} adds up too much" if hosts > 1 else ""
    if by_columns:
        other = f", or `batch` {options.centres(hosts)} is (`batch` times hosts up to 400 usually works)"
    why = f"`alpha` {options.initial_alpha} is too large for this corpus (0.025 is usual)"
    if options.negatives >= _MANY_NEGATIVES and options.negatives_per != "pair":
        why = (
            f"`alpha` {options.initial_alpha} is too large for `negative` {options.negatives} shared by a "
            "window; lower one of them (5 to 20 negatives are usual), or use `negatives_per='pair'`"
        )
    return SharedError(
        f"training stopped in {when}: values are not finite any more, at a learning rate of {rate:.2g}; "
        f"{why}{other}{kept}"
    )
