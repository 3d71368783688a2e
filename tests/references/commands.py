"""The command line within a test: one command, what it says, and how it refuses."""

from typing import Any

from typer.testing import CliRunner

from margrave.cli import app


def run(*arguments: object, stdin: bytes | None = None) -> Any:
    """One command; a traceback, if any, is the test's."""
    return CliRunner().invoke(
        app, [str(a) for a in arguments], input=stdin, catch_exceptions=False, prog_name="margrave"
    )


def done(*arguments: object, stdin: bytes | None = None) -> str:
    """What a command that succeeds without a word on standard error has to say."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0 and result.stderr == "", result.output
    return str(result.stdout)


def message(result: Any) -> str:
    """The one line that a refused command leaves, without its `margrave: `."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("margrave: ") and result.stderr.count("\n") == 1, result.stderr
    return str(result.stderr.removeprefix("margrave: ").rstrip("\n"))
