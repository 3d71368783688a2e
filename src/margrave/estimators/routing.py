"""scikit-learn's metadata routing: which keywords of its methods an estimator wants to get from a grid search.

scikit-learn reads the keywords from the signatures when it defines a class; here they are read when it asks for them.
"""

import inspect
from collections.abc import Callable
from typing import Any, Self

_METHODS = ("fit", "predict", "predict_proba", "score")  # those of scikit-learn's methods that estimators have
_NOT_ROUTED = ("self", "X", "y")


class Routed:
    """Has `set_fit_request` and its kin, one for each method that takes keywords."""

    set_fit_request: Callable[..., Self]
    set_predict_request: Callable[..., Self]
    set_predict_proba_request: Callable[..., Self]
    set_score_request: Callable[..., Self]

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        for method in _METHODS:
            if _keywords(cls, method):
                setattr(cls, f"set_{method}_request", _request(cls, method))

    def get_metadata_routing(self) -> Any:
        """Return the keywords that each method takes, and which of them were requested."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=type(self).__name__)
        for method in _METHODS:
            for keyword in _keywords(type(self), method):
                getattr(requests, method).add_request(param=keyword, alias=None)
        return requests


def _keywords(cls: type[Any], method: str) -> list[str]:
    """The keywords of a method that can be routed."""
    function = getattr(cls, method, None)
    if not inspect.isfunction(function):
        return []
    parameters = inspect.signature(function).parameters.values()
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.name not in _NOT_ROUTED and each.kind not in variable]


def _request(cls: type[Any], method: str) -> Any:
    """The method that requests keywords for another one."""
    valid = _keywords(cls, method)

    def request(self: Any, **keywords: bool | str | None) -> Self:  # type: ignore[misc]
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError("metadata routing is off: call sklearn.set_config(enable_metadata_routing=True) first.")
        if wrong := keywords.keys() - {*valid}:
            raise TypeError(f"Unexpected args: {', '.join(sorted(wrong))}; {method} accepts {', '.join(valid)}.")
        requests = self.get_metadata_routing()
        for keyword, alias in keywords.items():
            getattr(requests, method).add_request(param=keyword, alias=alias)
        self._metadata_request = requests
        return self

    request.__name__ = f"set_{method}_request"
    request.__qualname__ = f"{cls.__qualname__}.{request.__name__}"
    request.__doc__ = f"""Choose which keywords of `{method}` scikit-learn's meta-estimators pass on.

        Parameters
        ----------
        **keywords : True, False, or another name under which the keyword is passed.
        """
    own = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in valid]
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    request.__signature__ = inspect.Signature([me, *own])  # type: ignore[attr-defined]
    return request
