"""Let every call to the operating system fail, one after the other, in all that any2vec writes; print what is wrong.

Needs the extra `test`, and Linux (/proc).
"""

import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fault_operations import GROUPS
from faults import Bench
from tables import out, table

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def calls(
    groups: Annotated[str, typer.Option(help="Of operations, separated by commas.")] = ",".join(GROUPS),
    only: Annotated[str, typer.Option(help="Operations whose names have this.")] = "",
    first: Annotated[int, typer.Option(help="Problems of an operation that are shown.")] = 5,
    messages: Annotated[bool, typer.Option("--messages", help="Show the errors.")] = False,
) -> None:
    """Fail each call of each operation in each way; the exit status is 1 if anything is wrong then."""
    rows, wrong = [], 0
    gc.freeze()
    for operation in (one for group in groups.split(",") for one in GROUPS[group]() if only in one.name):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            with Bench(operation, Path(folder).resolve()) as bench:
                problems = [problem for fault in bench.faults() if (problem := bench.check(*fault))]
        for line in [*problems[:first], *(sorted(bench.messages) if messages else ())]:
            out.print(line, markup=False, soft_wrap=True)
        wrong += len(problems)
        seconds = f"{time.perf_counter() - began:.0f} s"
        out.print(f"{operation.name}: {len(bench.faults())} faults, {len(problems)} wrong, {seconds}", markup=False)
        rows.append((operation.name, len(bench.calls), len(bench.faults()), len(problems), seconds))
    rows.append(("all", *(sum(row[k] for row in rows) for k in (1, 2, 3)), ""))
    table("", ("operation", "calls", "faults", "wrong", "time"), rows)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    app()
