"""The table of rounds at the end of a run on several hosts."""

import io

from rich.console import Console
from rich.table import Table

from any2vec.errors import counted
from any2vec.training.shown.progress import decimals
from any2vec.training.shown.report import Report
from any2vec.training.shown.rounds import PHASES

__all__ = ["rounds_table"]


def rounds_table(report: Report) -> str:
    """Lay out seconds, bytes, and rows and orthogonality or updates: mean per round and sum over all."""
    rounds = report.rounds
    n = len(rounds)
    first, last = ("first round", "last round") if rounds.each == 1 else (f"first {rounds.each} rounds", "last rounds")
    table = Table(title=f"{report.hosts} hosts, {counted(n, 'round')}", title_justify="left", title_style="", box=None)
    for name, justify in (("", "left"), ("per round", "right"), ("all rounds", "right"), ("slowest host", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for phase in PHASES:
        seconds, slowest = sum(rounds.seconds[phase]), sum(rounds.slowest[phase])
        if not any(rounds.slowest[phase]):  # columns inspect and combine nothing
            continue
        table.add_row(f"{phase}, s", f"{seconds / n:.4f}", f"{seconds:.2f}", f"{slowest:.2f}")
    everything = sum(map(sum, rounds.bytes.values()))
    for phase in ("inspect", "reduce", "broadcast"):  # the report has them by label and kind
        total = sum(sum(sent) for key, sent in rounds.bytes.items() if key.startswith(phase))
        if total:
            table.add_row(f"sent in {phase}, MB", f"{total / n / 1e6:.3f}", f"{total / 1e6:,.1f}", "")
    table.add_row("sent by all hosts, MB", f"{everything / n / 1e6:.3f}", f"{everything / 1e6:,.1f}", "")
    if any(rounds.largest):  # columns: no rows travel
        table.add_row(f"largest change of a number, {first}", f"{rounds.largest[0]:.4f}", "", "")
        table.add_row("largest change, of all rounds", f"{max(rounds.largest):.4f}", "", "")
    else:
        for label, rows in rounds.touched.items():
            table.add_row(f"rows of {label} touched by a host", f"{rounds.mean(rows):,.0f}", "", "")
        table.add_row(f"orthogonality of the hosts' changes, {first}", decimals(rounds.orthogonality[0], 3), "", "")
        table.add_row(f"orthogonality, {last}", decimals(rounds.orthogonality[-1], 3), "", "")
        orthogonal = decimals(100 * rounds.mean(rounds.orthogonal), 1)
        table.add_row("rows changed orthogonally", orthogonal if orthogonal == "-" else f"{orthogonal} %", "", "")
    text = io.StringIO()
    Console(file=text, width=100, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
