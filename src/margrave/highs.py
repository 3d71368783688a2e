"""HiGHS, the solver of linear programs, which is installed with the extra `lp`."""

from typing import Any

from margrave import _core
from margrave.errors import MargraveError, Setting, TimeUpError

_BETWEEN = 0.02  # seconds between two looks at Ctrl-C and the time limit


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


def run(highspy: Any, model: Any) -> None:
    """Solve the model in a thread beside this one, which looks at Ctrl-C and at the time limit.

    Parameters
    ----------
    highspy : the package.
    model : a `highspy.Highs`.
    """
    _core.check_signals()
    model.HandleKeyboardInterrupt = True
    # The first-order method cannot be canceled. HiGHS counts the seconds of all runs of a model.
    model.setOptionValue("time_limit", model.getRunTime() + _core.seconds_left())
    thread = model.startSolve()
    try:
        while not model.wait(_BETWEEN)[0]:
            _core.check_signals()
    except BaseException:
        model.cancelSolve()
        raise
    finally:
        thread.join()
    if model.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        raise TimeUpError("the time limit has passed")
