"""Every estimator with every option at values other than the default: what holds of estimators is tested with these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

import margrave
from margrave import Hinge, Kernel, SoftmaxMargin, Taxonomy
from margrave.data import BLOSUM62
from margrave.features import (
    ArcTemplates,
    NGrams,
    SegmentTemplates,
    Sequences,
    SpanTemplates,
    Templates,
    TfIdf,
)
from margrave.learners import EG, LBFGS
from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar
from tests.estimators.registry import BRACKETED, BRACKETS, ENTRIES, HEADS, MATCHES, PAIRS, ROWS, TAGS, WORDS

# Options of a run, which say nothing of a model; and those that the data here cannot have.
OF_RUNS = ("C", "max_iter", "max_seconds", "tol", "n_jobs", "random_state", "verbose")
NOT_HERE = {("SegmentTagger", "kernel"), ("LatticeDecoder", "features")}


@dataclass(frozen=True)
class Case:
    """An unfitted estimator with examples, and what else `fit` takes of each of them."""

    estimator: Any
    X: Any
    y: Any
    more: Mapping[str, Any] = field(default_factory=dict)

    def fit(self, **settings: Any) -> Any:
        """A fitted copy, with some settings changed."""
        return self.estimator.unfitted().set_params(**settings).fit(self.X, self.y, **self.more)


LABELED = [[(head, "root" if head == 0 else "dep") for head in tree] for tree in HEADS]
CROSSING = [*HEADS[:3], [3, 0, 0]]  # for trees that need not be projective
RULES = ["[X] ||| haus ||| house", "[X] ||| das [X,1] ||| the [1]"]  # of the decoder "grammar"
SOURCES, TARGETS = ["la maison bleue", "la fleur", "une maison"], ["the blue house", "the flower", "a house"]
LINKS = ["0-0 1-2 2-1", "0-0 1-1", "0-0 1-1"]
TREE = Taxonomy.from_names(["pet.cat", "pet.dog", "fish.carp"])
SAME = np.eye(3) + 1.0

_TABLE: list[dict[str, Any]] = [{"weights": "hash:8"}, {"kernel": Kernel("polynomial")}]
_TAGGERS: list[dict[str, Any]] = [
    *({"loss": "hinge"}, {"learner": EG()}, {"weights": "all"}, {"weights": "hash:8"}, {"features": Templates()}),
    *({"start": True, "stop": True}, {"transition_scale": 0.5}, {"tied": False}, {"starts": 2}),
]
_GRAMMARS: list[dict[str, Any]] = [
    *({"terminals": "words"}, {"terminals": "words", "rare": 0}, {"binarize": "left"}, {"binarize": "head"}),
    *({"horizontal": 0}, {"horizontal": 1, "vertical": 2}, {"decode": "mbr"}, {"decode": "mbr", "threshold": 0.1}),
    {"max_words": 5},
]
_ALIGNERS: list[dict[str, Any]] = [
    *({"mode": "global"}, {"mode": "local"}, {"mode": "semi-global"}, {"gaps": "linear"}, {"gaps": "affine"}),
    *({"symmetric": True}, {"symmetric": False}, {"gap_residues": True}),
    {"mode": "global", "end_gaps": True},
    *({"start": BLOSUM62, "features": "default"}, {"features": Sequences("ACGT")}),
]

# The settings of each case beside the default ones, by the name of the estimator.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "SequenceTagger": [*_TAGGERS, *_TABLE, {"order": 0}, {"order": 2}, {"order": 3}, {"forbidden": [("V", "D")]}],
    "SegmentTagger": [
        *_TAGGERS,
        {"features": Templates(), "templates": SegmentTemplates()},
        {"max_length": 3},
    ],
    "LinearClassifier": [{"loss": SoftmaxMargin(cost={"pet.cat": 2.0})}, {"features": TfIdf()}, *_TABLE],
    "TaxonomyClassifier": [
        *_TABLE,
        {"taxonomy": TREE, "node_weights": {"pet": 2.0}},
        {"descriptions": {"pet.cat": "it purrs", "pet.dog": "it barks", "fish.carp": "it swims"}},
        {"similarity": SAME, "taxonomy": None},
        {"cost": "zero-one", "features": TfIdf()},
        {"classes": ["fish.carp", "pet.cat", "pet.dog", "pet.owl"], "loss": "log"},
    ],
    "HierarchicalMultiLabelClassifier": [
        *({"taxonomy": ".", **each} for each in _TABLE),
        {"taxonomy": ".", "features": TfIdf(), "loss": "log"},
        {"taxonomy": ".", "intercept": False},
    ],
    "Reranker": [{"features": NGrams(1)}, {"weights": "hash:8"}, {"no_good": "skip"}, {"loss": "hinge"}],
    "GraphLabeler": [
        *({"inference": name} for name in ("bp", "trw")),
        *({"inference": name, "loss": "hinge", "max_iter": 2} for name in ("relaxed", "lp")),
        *({"pairs": name} for name in ("directed", "symmetric", "equal")),
        *({"memory": 64.0}, {"weights": "hash:8"}, {"intercept": False}, {"neighbors": 8}, {"window": 3}),
        *(
            {"states": 2},
            {"starts": 2},
            {"inference": "bp", "iterations": 50},
            {"decode": "marginals"},
            {"decode": "best"},
        ),
    ],
    "MultiLabelClassifier": [
        *({"inference": name} for name in ("bp", "trw")),
        *({"inference": name, "loss": "hinge", "max_iter": 2} for name in ("relaxed", "lp")),
        *({"graph": graph} for graph in ("independent", "full", [("cat", "dog")])),
        *({"memory": 64.0}, {"weights": "hash:8"}, {"pair_attributes": True}, {"features": TfIdf()}),
    ],
    "LatticeDecoder": [
        *({"weights": "hash:8"}, {"unreachable": "skip"}, {"loss": "latent-log", "starts": 2}),
    ],
    "DependencyParser": [
        *({"projective": True}, {"projective": False}, {"crossing": "drop"}, {"crossing": "refuse"}),
        *({"labels": False}, {"labels": True}, {"labels": "joint"}, {"labels": "joint", "prune": False}),
        *({"prune": "lengths"}, {"prune": "posterior"}, {"prune": False}, {"order": 2}, {"decode": "mbr"}),
        {"decode": "best"},
        {"order": 2, "projective": False, "labels": False},
        {"order": 2, "projective": False, "labels": False, "fallback": "reweighted", "loss": "hinge"},
        *({"max_words": 2}, {"weights": "observed"}, {"weights": "hash:10"}, {"single_root": False}),
        *({"features": ArcTemplates(["h[0]|w[0]"])}, {"features": None, "labels": False}, {"loss": "hinge"}),
    ],
    "ArcLabeler": [
        *({"weights": "observed"}, {"weights": "hash:10"}, {"features": ArcTemplates(["w[0]|label"])}),
        {"loss": "hinge"},
    ],
    "SequenceAligner": [
        *_ALIGNERS,
        *({"decode": "accuracy"}, {"decode": "accuracy", "caution": 0.2}, {"tied": False, "loss": "hinge"}),
        *({"decode": "auto"}, {"tied": True, "loss": "log"}, {"edges": True}, {"window": 1}, {"gap_context": 1}),
    ],
    "HomologyRanker": _ALIGNERS,
    "ConstituencyParser": [
        *_GRAMMARS,
        {"decode": "auto"},
        *(
            {"grammar": "spans", "weights": "hash:8"},
            {"prune": 0.01},
            {"features": SpanTemplates(), "weights": "hash:8"},
        ),
        *(
            {"grammar": "spans", "weights": "hash:8", "prune": 0.01},
            {"features": None, "loss": Hinge(), "learner": "bcfw"},
        ),
        {"kernel": Kernel("polynomial"), "features": "default"},
    ],
    "PCFG": [*_GRAMMARS, {"horizontal": 2}, {"smoothing": 0.5}],
    "HMMTagger": [{"order": 2}, {"smoothing": 1.0}, {"suffix_length": 1}, {"rare": 1}],
    "GenerativeAligner": [
        *({"mode": "global"}, {"mode": "semi-global"}, {"decode": "accuracy"}, {"decode": "accuracy", "caution": 0.2}),
        *({"gap": -0.5}, {"smoothing": 0.5}, {"alphabet": "ACGTN"}),
    ],
    "Translator": [
        *({"tuning": name} for name in ("mira", "learner", "none")),
        {"tuning": "none", "decoder": "grammar", "start": {"Glue": -1.0}},
        {"tuning": "learner", "loss": "latent-log", "learner": LBFGS(), "graphs": True, "n_edges": 100},
        {"tuning": "mira", "sparse": True, "step": 0.1, "rounds": 2, "k": 5, "n_tuning": 2, "folds": 2},
        {
            "tuning": "learner",
            "loss": "log",
            "learner": "lbfgs",
            "good": 2,
            "wrong": 2,
            "beam": 5,
            "options": 3,
            "reach": 2,
        },
        {"longest": 2, "order": 2},
    ],
}

# Data of estimators that ENTRIES lacks, or that its data are too simple for.
_DATA: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "ArcLabeler": (ROWS, [[label for _, label in tree] for tree in LABELED], {"heads": HEADS}),
    "DependencyParser": (ROWS, LABELED, {}),
    "PCFG": (BRACKETED, BRACKETS, {}),
    "HMMTagger": (WORDS, TAGS, {}),
    "GenerativeAligner": (PAIRS, MATCHES, {}),
    "Translator": (SOURCES, TARGETS, {"alignments": LINKS}),
}


def _case(name: str, settings: Mapping[str, Any]) -> Case:
    make: Any = getattr(margrave, name)
    entry = ENTRIES.get(name)
    if "n_jobs" in signature(make).parameters:
        settings = {"n_jobs": 1, **settings}
    if entry is None or name == "DependencyParser":
        X, y, more = _DATA[name]
        if "decoder" in settings:
            X, y, more = ["das haus"], ["the house"], {}
            settings = {**settings, "decoder": SynchronousDecoder(SynchronousGrammar().add(RULES).add_glue())}
        if settings.get("features", "default") is None:
            assert entry is not None
            X, y = entry.X, HEADS
        return Case(make(**settings), X, y, more)
    made = entry.make().set_params(**settings)
    raw = getattr(made, "features", None) is not None and entry.raw is not None
    return Case(made, entry.raw if raw else entry.X, entry.y)


@cache
def cases() -> dict[str, Case]:
    """The default of every estimator and every case of SETTINGS, by name."""
    found = {}
    for name, settings in SETTINGS.items():
        for each in ({}, *settings):
            said = ", ".join(f"{key}={_said(value)}" for key, value in each.items())
            found[f"{name}({said})"] = _case(name, each)
    return found


def _said(value: Any) -> str:
    return type(value).__name__ if "object at" in repr(value) or len(repr(value)) > 40 else repr(value)


def values_of(name: str, option: str) -> Sequence[Any]:
    """The values that the cases of an estimator have for an option."""
    return [getattr(_case(name, each).estimator, option) for each in ({}, *SETTINGS[name])]
