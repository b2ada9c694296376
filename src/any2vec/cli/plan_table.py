"""A plan on the terminal: a table, what was measured, and what to take."""

from rich.measure import Measurement
from rich.table import Table

from any2vec.io.shown import Console, size
from any2vec.plan.estimates import ONE_HOST, Estimate
from any2vec.plan.planning import SHORT, Plan
from any2vec.plan.quantities import time_text, unit_of

__all__ = ["recommendation", "show"]

_WIDEST = 1000  # more than any table has
_HEADS = ("inspect", "compute", "combine", "transfer", "latency", "hidden", "total", "speed-up", "limit")
_LEFT = ("scheme", "graph", "limit")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}


def show(plan: Plan, thread: float, currency: str, *, measured: bool) -> None:
    """Print a plan; a terminal that is narrower than its table wraps the lines."""
    table, unit = Table(box=None, padding=(0, 1, 0, 0)), unit_of(plan.best.total)
    places = {one.walking.graph for one in plan.estimates if one.walking}
    graph, walks = ["graph"] * (len(places) > 1), ["walks"] * bool(places)
    costs = [currency or "cost"] * (plan.cluster.price is not None)
    for head in ("hosts", "scheme", *graph, "sent", "memory", *walks, *_HEADS, *costs):
        table.add_column(head, justify="left" if head in _LEFT else "right", no_wrap=True)
    before = 0
    for one in plan.estimates:
        if one.hosts != before and before:
            table.add_section()
        cells = _cells(one, unit[0], again=one.hosts == before, places=bool(graph))
        table.add_row(*cells, style="bold" if one == plan.best else None)
        before = one.hosts
    wide = Console(width=_WIDEST)
    width = Measurement.get(wide, wide.options, table).maximum
    console = Console(highlight=False, width=max(Console().width, width))
    only = "" if graph or not places else f"; graph: {min(places)}"
    parts = f", with {plan.parts:,.0f} parts" if plan.parts else ""
    console.print(
        f"{plan.words:,.0f} words, {plan.vertices:,.0f} of them different{parts}, epochs: {plan.epochs}{only}; "
        f"times are {_UNITS[unit[1]]} of the whole run, memory is what a host needs",
        soft_wrap=True,
    )
    console.print(table)
    console.print(_measured(plan, thread, given=not measured, parts="parts" in places), soft_wrap=True)
    console.print(recommendation(plan, currency), style="bold", soft_wrap=True)


def _measured(plan: Plan, thread: float, *, given: bool, parts: bool) -> str:
    """Say what was measured here."""
    here, cores, walks = f"measured here: {thread:,.0f} words/s of a thread", plan.cluster.cores, plan.speeds.walks
    if given:
        here += ", which is not used: the speed is given"
    if walks:
        here += f"; {walks.whole:,.0f} steps/s of walks" + (f", {walks.parts:,.0f} in parts" if parts else "")
    if cores > 1 and (walks or not given):
        here += f"; {cores:,} cores are taken to be as fast as {cores:,} threads alone"
    return here


def recommendation(plan: Plan, currency: str = "") -> str:
    """Say in one line what to take, and what limits it."""
    best = plan.best
    cost = f", {best.cost:,.2f} {currency}".rstrip() if best.cost is not None else ""
    if best.scheme == ONE_HOST:
        why = "to start more takes as long" if best.total < SHORT else "more hosts bring less than a tenth"
        more = f"; {why}" if len(plan.cluster.hosts) > 1 else ""
        return f"take one host: {time_text(best.total)}{cost}{more}"
    times = f"{best.speed_up:.1f} times as fast as one host"
    how = f"take {best.hosts:,} hosts, --scheme {best.scheme}"
    return f"{how}: {time_text(best.total)}, {times}{cost}; limit: {best.limit}"


def _cells(one: Estimate, unit: float, *, again: bool, places: bool) -> list[str]:
    walking, seconds = one.walking, one.seconds
    sent = one.sent + (walking.sent if walking else 0.0)
    cells = ["" if again else f"{one.hosts:,}", one.scheme, *([walking.graph] if walking and places else [])]
    cells += [size(sent) if sent else "", size(one.memory, memory=True)]
    times = [walking.seconds] if walking else []
    times += [seconds["inspection"], seconds["computation"], seconds["combining"]]
    times += [one.transfer, one.latency, one.hidden, one.total]
    cells += [_time(taken / unit) for taken in times]
    cells += [f"{one.speed_up:,.2f}", one.limit]
    return [*cells, f"{one.cost:,.2f}"] if one.cost is not None else cells


def _time(value: float) -> str:
    """Write a time without its unit; nothing for none."""
    if not value:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
