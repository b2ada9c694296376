"""A plan: the estimates of all numbers of hosts and schemes, and the one to choose."""

from dataclasses import asdict, dataclass
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.io.memory import available
from any2vec.io.shown import size
from any2vec.plan.cluster import Cluster
from any2vec.plan.estimates import Estimate, Estimator
from any2vec.plan.formulas import by_tree, number_of_rows
from any2vec.plan.measuring import Speeds
from any2vec.plan.quantities import MOST_HOSTS
from any2vec.plan.text import Text
from any2vec.training.options import Options

__all__ = ["SHORT", "Plan", "make_plan"]

SHORT = 60.0
"""Seconds of a run that is not worth several hosts."""

_AS_FAST = 1.1  # times the shortest time: fewer hosts are recommended up to there
_BYTES_OF_A_LEAF = 1200  # of memory here, where each word is a group of its own (measured)
_COMPARED = ("server",)  # schemes with other vectors, to compare with the papers: never recommended


@dataclass(frozen=True)
class Plan:
    """Estimates by number of hosts and scheme, and the one to choose.

    Of words with parts, a matrix has `vertices` + `parts` rows.
    """

    cluster: Cluster
    words: float
    vertices: float
    parts: float
    epochs: int
    speeds: Speeds
    estimates: list[Estimate]

    @property
    def best(self) -> Estimate:
        """The fewest hosts that take at most a tenth longer than the fastest, and of their schemes what sends least.

        One host if it takes less than a minute: to start several takes about as long. Schemes that are there to compare
        with are left out.
        """
        fitting = [one for one in self.estimates if one.fits and one.scheme not in _COMPARED]
        fitting = fitting or [one for one in self.estimates if one.fits]
        if short := [one for one in fitting if one.hosts == 1 and one.total < SHORT]:
            return short[0]
        enough = _AS_FAST * min(one.total for one in fitting)
        hosts = min(one.hosts for one in fitting if one.total <= enough)
        return min((one for one in fitting if one.hosts == hosts and one.total <= enough), key=lambda one: one.sent)

    def as_dict(self) -> dict[str, Any]:
        """All figures."""
        figures = ("total", "transfer", "limit")
        more = [asdict(one) | {name: getattr(one, name) for name in figures} for one in self.estimates]
        best = {"hosts": self.best.hosts, "scheme": self.best.scheme}
        return asdict(self) | {"estimates": more, "recommended": best}


def make_plan(text: Text, options: Options, cluster: Cluster, speeds: Speeds) -> Plan:
    """Estimate what training takes.

    Parameters
    ----------
    text : Text
        What is trained on.
    options : Options
        How; ``threads``, ``hosts`` and ``scheme`` are not read.
    cluster : Cluster
        Where.
    speeds : Speeds
        What a thread does.

    Returns
    -------
    Plan
        With an estimate for each number of hosts and scheme that the options allow.

    Raises
    ------
    Any2VecError
        If there are more hosts than words, the memory of the hosts does not suffice for any scheme, or that of this
        machine for the plan of a Huffman tree.
    """
    if max(cluster.hosts) > text.words:
        raise Any2VecError(
            f"`hosts` is {max(cluster.hosts):,}, but there are {text.words:,.0f} words; give fewer hosts, or more text"
        )
    options = options.training_options()
    if by_tree(options.operator_class):
        _check_leaves(text.vertices)
        text = text.ungrouped()
    estimator = Estimator(text, options, cluster, speeds)
    estimates = [one for hosts in cluster.hosts for one in estimator.estimates(hosts)]
    if not any(one.fits for one in estimates):
        raise Any2VecError(_refusal(estimator, estimates))
    parts = number_of_rows(text, estimator.operator) - text.vertices
    return Plan(cluster, text.words, text.vertices, parts, options.epochs, speeds, estimates)


def _check_leaves(vertices: float) -> None:
    """Refuse more words than can be taken one by one, as a Huffman tree needs it."""
    need, has = _BYTES_OF_A_LEAF * vertices, available()
    if need > has:
        raise Any2VecError(
            f"`loss` is 'hierarchical', for which a plan takes each of {vertices:,.0f} words by itself: that needs "
            f"{size(need, memory=True)} of memory here, where {size(has, memory=True)} are left; give fewer words "
            "(`min_count`), or plan with `loss='negative'`"
        )


def _refusal(estimator: Estimator, estimates: list[Estimate]) -> str:
    """Say what would fit where nothing does."""
    least, hosts = min(estimates, key=lambda one: one.memory), 2 * max(estimator.cluster.hosts)
    more, most = "", min(MOST_HOSTS, int(estimator.text.words))
    while hosts <= most and not more:
        fitting = [one.scheme for one in estimator.estimates(hosts) if one.fits]
        more = f", {hosts:,} hosts with {fitting[0]}" if fitting else ""
        hosts *= 2
    ways = [f"that much memory{more}"] + ["a smaller `dim`"] * (least.training == least.memory)
    if least.walking is None:
        ways.append("fewer words (`min_count`)")
    elif least.walking.graph == "whole":
        ways.append("`graph='parts'`")
    return (
        f"`memory` is {size(estimator.cluster.memory, memory=True)}, in which no scheme fits: {least.scheme} on "
        f"{least.hosts:,} needs {size(least.memory, memory=True)} a host, and that is the least; "
        f"{' or '.join(filter(None, [', '.join(ways[:-1]), ways[-1]]))} would do"
    )
