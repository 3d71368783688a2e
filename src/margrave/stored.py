"""Objects that can be stored in model files. Their classes are registered by subclassing.

A file names a class by its kind and name ("learner", "eg") and never by its module, so that only classes that are
registered when a file is read can be created. Settings are the declared fields of the class and are passed to its
constructor, which checks them; what training has added is passed to `restore`.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, ClassVar, Self

from margrave.checks import declared_types, is_a
from margrave.errors import MargraveError, quoted


class UnknownClassError(MargraveError):
    """An object whose class is not registered: the file may be good, but the class is not here."""


class Stored:
    """The base of losses, learners, structures, features, inputs and everything else that a model file contains.

    `class Loss(Stored, kind="loss")` defines a kind. Every subclass with a `name` in its own body is registered under
    that name; two classes with the same kind and name are an error.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    registered: ClassVar[dict[str, type[Any]]]  # the classes of this kind, by name

    def __init_subclass__(cls, *, kind: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if kind is not None:
            if kind in KINDS:
                raise TypeError(f"there are two kinds of stored objects named {kind!r}.")
            cls.kind, cls.registered = kind, {}
            KINDS[kind] = cls
        name = vars(cls).get("name")
        if isinstance(name, str):
            other = cls.registered.get(name, cls)
            # A definition that is run again, for example in a notebook, replaces the previous one.
            if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(
                    f"the {cls.kind} {name!r} is already {other.__module__}.{other.__qualname__}: give "
                    f"{cls.__qualname__} another name."
                )
            cls.registered[name] = cls

    @classmethod
    def find(cls, name: str) -> type[Any] | None:
        """The class of this kind with this name; None if there is none."""
        return cls.registered.get(name)

    @classmethod
    def missing(cls, name: str) -> Any:
        """A replacement for an object whose class is not registered; by default an error."""
        raise UnknownClassError(
            f"it contains the {cls.kind} {name!r}, which this Margrave does not know: import the module that defines "
            "it, or upgrade Margrave."
        )

    def stored_settings(self) -> dict[str, Any]:
        """The arguments that recreate this object: by default the declared fields of the dataclass."""
        if not is_dataclass(self):
            return {}
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def state(self) -> dict[str, Any]:
        """What training has added to the settings, by name: numbers, texts, arrays and other stored objects."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned; raise an error if it is inconsistent."""
        if state:
            raise MargraveError(f"the {self.kind} {self.name!r} has no learned state, but there is {', '.join(state)}.")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """A new object with these settings, which must be declared fields."""
        declared: set[str] = {each.name for each in fields(cls) if each.init} if is_dataclass(cls) else set()
        types = declared_types(cls)  # type: ignore[arg-type]  # A class can be a key.
        for each, value in settings.items():
            if each not in declared:
                raise MargraveError(f"the {cls.kind} {cls.name!r} has no setting {each!r}.")
            if not is_a(value, types[each]):
                raise MargraveError(f"the {each} of the {cls.kind} {cls.name!r} cannot be {quoted(value)}.")
        return cls(**settings)


KINDS: dict[str, type[Stored]] = {}

# Where kinds are defined that reading a file does not import anyway: most models do not contain a learner.
_HOMES = {"learner": "margrave.learners.base"}


def kind_named(kind: str) -> type[Stored] | None:
    """The base of the classes of this kind; None if there is no such kind."""
    if kind not in KINDS and kind in _HOMES:
        import_module(_HOMES[kind])
    return KINDS.get(kind)
