"""Simulate a whole cluster, a second for each seed: options, data, the order of messages, and faults are drawn.

Prints what failed: the seed, what it drew as Python, and the traceback.
"""

import multiprocessing
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from tables import out

TESTS = Path(__file__).parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "naive")]

EVERY = 100  # seeds between two lines of progress


def run(seed: int) -> tuple[int, str, str, float]:
    """Run a seed; return it, how it ended, what failed, and the seconds."""
    from simulation.draw import drawn
    from simulation.oracle import RefusedError, run_alone

    began, trace = time.perf_counter(), ""
    try:
        ended = run_alone(drawn(seed))
    except RefusedError as error:
        ended = f"options refused: {error}"
    except Exception:
        ended, trace = "failed", traceback.format_exc()
    return seed, ended, trace, time.perf_counter() - began


def main(
    first: Annotated[int, typer.Argument(help="First seed.")] = 0,
    last: Annotated[int | None, typer.Argument(help="Last seed; that one alone by default.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print what each seed draws.")] = False,
) -> None:
    """Run the seeds FIRST to LAST."""
    from simulation.draw import drawn

    seeds = range(first, (first if last is None else last) + 1)
    began, ends, failed = time.perf_counter(), Counter(), []
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) if jobs > 1 else None
    for done, (seed, ended, trace, seconds) in enumerate(
        pool.map(run, seeds, chunksize=10) if pool else map(run, seeds), 1
    ):
        ends[ended.split(": ")[0 if ended.startswith(("refused", "options")) else -1]] += 1
        if verbose or trace:
            out.print(f"{drawn(seed)}\nseed {seed}: {ended}, {seconds:.1f} s\n{trace}", markup=False, soft_wrap=True)
        if trace:
            failed.append(seed)
        if done % EVERY == 0:
            each = (time.perf_counter() - began) / done
            out.print(f"{done:,} seeds, {len(failed)} failed, {each:.2f} s each; {dict(ends)}", markup=False)
    passed = "none failed" if not failed else f"failed: {', '.join(map(str, failed))}"
    out.print(f"seeds {seeds[0]} to {seeds[-1]}: {passed}; {dict(ends)}", markup=False)
    raise typer.Exit(bool(failed))


if __name__ == "__main__":
    typer.run(main)
