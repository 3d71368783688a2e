"""HiGHS, the solver of linear programs, which is installed with the extra `lp`."""

from typing import Any

from margrave.errors import MargraveError


def highs_for(purpose: str, instead: str) -> Any:
    """The package highspy; an error that names another way if it is not installed or does not load."""
    try:
        import highspy
    except ModuleNotFoundError:
        raise MargraveError(
            f"{purpose} needs the package highspy, which the extra margrave[lp] brings: install it, or use {instead}."
        ) from None
    except (ImportError, OSError) as error:
        raise MargraveError(
            f"{purpose} needs the package highspy, which does not load ({error}): install margrave[lp] again, or use "
            f"{instead}."
        ) from error
    return highspy
