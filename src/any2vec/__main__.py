"""The program `any2vec`, also `python -m any2vec`."""

from any2vec.signals import quit_at_once

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly even while the rest is imported."""
    quit_at_once()
    from any2vec.cli import main as run

    run()


if __name__ == "__main__":
    main()
