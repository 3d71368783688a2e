"""Public names, new and old, for what must run before and after a rename; the old half is the second column.

Callers use the new names alone. Without the second columns, `public` is a plain import and `make` a plain call.
"""

from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

# Where a name may be, the new place first.
PLACES: dict[str, tuple[str, str]] = {
    "ArcTemplates": ("margrave.features", "margrave.inputs"),
    "Columns": ("margrave.features", "margrave.inputs"),
    "EdgeFeatures": ("margrave.features", "margrave.inputs"),
    "NGrams": ("margrave.features", "margrave.inputs"),
    "Sequences": ("margrave.features", "margrave.inputs"),
    "Templates": ("margrave.features", "margrave.inputs"),
    "TfIdf": ("margrave.features", "margrave.inputs"),
    "Answers": ("margrave.data", "margrave.labels"),
    "BLOSUM62": ("margrave.data", "margrave.features"),
    "Lattice": ("margrave.data", "margrave.datasets"),
    "SubstitutionMatrix": ("margrave.data", "margrave.features"),
    "NGramModel": ("margrave.translation", "margrave.translation.language_model"),
    "SynchronousDecoder": ("margrave.translation", "margrave.translation.synchronous"),
    "SynchronousGrammar": ("margrave.translation", "margrave.translation.synchronous"),
    "Translator": ("margrave.translation", "margrave"),
    "aligner_of": ("margrave.estimators.generative_aligner", "margrave.estimators.generative_aligner"),
    "Objective": ("margrave.learners", "margrave.learners"),
}

# Names that are new themselves, and the old ones.
NAMES: dict[str, str] = {"LinearClassifier": "StructuredClassifier", "Objective": "Task", "load_harbor": "load_harbour"}

# Parameters: new and old. A function that has the new one gets the new one.
KEYWORDS: dict[str, str] = {
    "features": "inputs",
    "weights": "features",
    "kernel": "features",
    "n_jobs": "n_threads",
    "random_state": "seed",
    "binarize": "binarise",
    "neighbors": "neighbours",
}

# Methods of models: new and old.
METHODS: dict[str, str] = {"predict_proba": "predict_confidence"}


@cache
def public(name: str) -> Any:
    """What has this name, in its new place or in its old one."""
    for module in PLACES.get(name, ("margrave", "margrave.datasets")):
        try:
            place = import_module(module)
        except ModuleNotFoundError:
            continue
        for each in (name, NAMES.get(name, name)):
            if hasattr(place, each):
                return getattr(place, each)
    if name == "SegmentTagger" and not hasattr(import_module("margrave"), name):
        return lambda **settings: make("SequenceTagger", segments=True, **settings)
    raise ImportError(f"there is no {name} in {PLACES.get(name, 'margrave')}")


def make(name: str, *values: Any, **settings: Any) -> Any:
    """Calls what has this name, with the names of parameters that it knows."""
    called = public(name)
    known = signature(called).parameters
    if "settings" in known:  # the stand-in for a class, which translates them itself
        return called(*values, **settings)
    translated = {}
    for key, value in settings.items():
        moved = key == "features" and "inputs" in known
        translated[KEYWORDS[key] if moved or (key not in known and key in KEYWORDS) else key] = value
    return called(*values, **translated)


def method(model: Any, name: str) -> Any:
    """The method of this name; None if the model has none."""
    return getattr(model, name, None) or getattr(model, METHODS.get(name, name), None)
