"""The program `any2vec`, also `python -m any2vec`."""

import gc

from any2vec.signals import quit_at_once

_ALLOCATIONS = 100_000  # between collections of garbage: imports, and rounds, allocate much and leave little to collect


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly even while the rest is imported."""
    quit_at_once()
    gc.set_threshold(_ALLOCATIONS)
    from any2vec.cli import main as run

    run()


if __name__ == "__main__":
    main()
