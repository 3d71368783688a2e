"""HiGHS, the solver of linear programs, which is installed with the extra `lp`."""

from typing import Any

from margrave.errors import MargraveError, Setting


def highs_for(purpose: str | Setting, instead: Setting) -> Any:
    """The package highspy; an error that names another way if it is not installed or does not load."""
    try:
        import highspy
    except ModuleNotFoundError:
        raise MargraveError(
            purpose,
            " needs the package highspy, which the extra margrave[lp] brings: install it, or use ",
            instead,
            ".",
        ) from None
    except (ImportError, OSError) as error:
        raise MargraveError(
            purpose,
            f" needs the package highspy, which does not load ({error}): install margrave[lp] again, or use ",
            instead,
            ".",
        ) from error
    return highspy
