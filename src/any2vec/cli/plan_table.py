"""A plan on the terminal: a table, what was measured, and what to take."""

from rich.console import Console
from rich.table import Table

from any2vec.io.sizes import size
from any2vec.plan.estimates import ONE_HOST, PHASES, Estimate
from any2vec.plan.planning import Plan
from any2vec.plan.quantities import time_text

__all__ = ["recommendation", "show"]

_WIDTH = 150  # that the table has at least; a narrower terminal wraps its lines
_HEADS = ("hosts", "scheme", "rows of e", "rows of t", "sent", "memory", *PHASES, "total", "speed-up", "limit")


def show(plan: Plan, thread: float, currency: str, *, measured: bool) -> None:
    """Print a plan."""
    console = Console(highlight=False, width=max(Console().width, _WIDTH))
    table = Table(box=None, padding=(0, 1, 0, 0))
    costs = plan.cluster.price is not None
    for head in (*_HEADS, *([f"cost {currency}".strip()] if costs else [])):
        table.add_column(head, justify="left" if head in ("scheme", "limit") else "right")
    before = 0
    for one in plan.estimates:
        if one.hosts != before and before:
            table.add_section()
        table.add_row(*_cells(one, again=one.hosts == before), style="bold" if one == plan.best else None)
        before = one.hosts
    console.print(
        f"{plan.words:,.0f} words, {plan.vertices:,.0f} of them different, epochs: {plan.epochs}; rows are those "
        "that a host touches in a round, memory is what a host needs, all else is of the whole run",
        soft_wrap=True,
    )
    console.print(table)
    here = f"measured here: {thread:,.0f} words/s of a thread"
    cores = plan.cluster.cores
    taken = f"; {cores:,} cores are taken to be as fast as {cores:,} threads alone" if cores > 1 else ""
    console.print(f"{here}{taken}" if measured else f"{here}, which is not used: the speed is given", soft_wrap=True)
    console.print(recommendation(plan, currency), style="bold", soft_wrap=True)


def recommendation(plan: Plan, currency: str = "") -> str:
    """Say in one line what to take, and what limits it."""
    best = plan.best
    cost = f", {best.cost:,.2f} {currency}".rstrip() if best.cost is not None else ""
    if best.scheme == ONE_HOST:
        more = "; more hosts bring less than a tenth" if len(plan.cluster.hosts) > 1 else ""
        return f"take one host: {time_text(best.total)}{cost}{more}"
    times = f"{best.speed_up:.1f} times as fast as one host"
    how = f"take {best.hosts:,} hosts, --scheme {best.scheme}"
    return f"{how}: {time_text(best.total)}, {times}{cost}; limit: {best.limit}"


def _cells(one: Estimate, *, again: bool) -> list[str]:
    rows = [f"{one.touched[which]:,.0f}" if one.touched[which] and one.scheme != ONE_HOST else "" for which in "et"]
    seconds = [time_text(one.seconds[phase]) if one.seconds[phase] else "" for phase in PHASES]
    cells = ["" if again else f"{one.hosts:,}", one.scheme, *rows, size(one.sent) if one.sent else ""]
    cells += [size(one.memory, memory=True), *seconds, time_text(one.total), f"{one.speed_up:,.2f}", one.limit]
    return [*cells, f"{one.cost:,.2f}"] if one.cost is not None else cells
