"""The command `margrave`, also as `python -m margrave`."""

import sys

INTERRUPTED = 130  # as in cli/streams.py, which is not imported yet when this is needed


def main() -> None:
    """Runs the command line. Ctrl-C ends it with one line, also while its modules are imported."""
    try:
        from margrave.cli import main as run

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("margrave: interrupted.", file=sys.stderr, flush=True)
        raise SystemExit(INTERRUPTED) from None


if __name__ == "__main__":
    main()
