"""Conversion of model files from format 1, which Margrave 0.1 wrote, to format 2; predictions do not change."""

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.learners import Learner
from margrave.losses import DifferenceOfLosses, LossFamily, loss_names

Json = dict[str, Any]


def upgraded(header: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Json:
    """The equivalent header of format 2; arrays have the same names, and new ones can be added."""
    kind, structure = header["estimator"], dict(header["structure"])
    lengths = header.get("sparse", {}).get("lengths", {})
    table = _table(header, arrays)
    inputs, metadata = _inputs(kind, header["metadata"], arrays)
    settings = header["settings"]
    parameters: Json = {
        "loss": _loss(header["loss"]),
        "learner": _learner(header["learner"]),
        "features": _features_parameter(header["features"]),
        "inputs": inputs,
        **{name: settings[name] for name in ("C", "tol", "max_iter", "seed")},
    }
    labels: Json = _stored("outputs", "labels", {"classes": header["labels"]})
    if kind == "SequenceTagger":
        structure["forbidden"] = [_tagged("tuple", pair) for pair in structure["forbidden"]]
        edges = _table(header, arrays, "edges")
        features = _stored(
            "features",
            "chain",
            {
                "tokens": table,
                "start": structure["start"],
                "stop": structure["stop"],
                "scale": structure["transition_scale"],
            },
            {"gram_weight": _vector("gram_weight", lengths, -1), "edges": edges},
        )
        outputs = labels
    elif kind == "Reranker":
        encoder = table["state"]["encoder"]
        hash_bits = header["features"]["hash_bits"]
        features = _stored("features", "sparse", {"hash_bits": hash_bits, "unit": "candidate"}, {"encoder": encoder})
        outputs = _stored("outputs", "none", {})
    elif kind == "HierarchicalMultiLabelClassifier":
        structure["taxonomy"] = _taxonomy(structure["taxonomy"])
        features = _stored("features", "nodes", {"table": table, "intercept": structure["intercept"]})
        outputs = _stored("outputs", "nodes", {"taxonomy": structure["taxonomy"]})
    elif kind == "TaxonomyClassifier":
        names = structure.pop("output_features")
        matrix = {name: _array(f"output.{name}") for name in ("begin", "column", "value")}
        described = {"table": table, "names": names, "classes": len(header["labels"]), **matrix}
        features, outputs = _stored("features", "outputs", described), labels
        structure = {
            "taxonomy": _taxonomy(structure["taxonomy"]),
            "classes": structure["classes"],
            "similarity": _array("similarity") if "similarity" in arrays else None,
            "cost": _array("cost") if structure["cost"] is None else structure["cost"],
            **{
                name: None if structure[name] is None else _tagged("mapping", structure[name])
                for name in ("node_weights", "descriptions")
            },
        }
    else:
        features, outputs = table, labels
    n_weights = header["sparse"]["n_weights"] if "sparse" in header else _length("weights", arrays)
    return {
        "estimator": kind,
        "parameters": parameters | structure,
        "inputs": inputs,
        "outputs": outputs,
        "features": features,
        "weights": _vector("weights", lengths, 0),
        "n_weights": n_weights,
        "metadata": metadata,
        **{name: header[name] for name in ("certificate", "converged", "stop_reason")},
    }


def _stored(kind: str, name: str, settings: Json, state: Json | None = None) -> Json:
    return {"kind": kind, "name": name, "settings": settings, "state": state or {}}


def _tagged(kind: str, items: Any) -> Json:
    return {"kind": kind, "items": list(items)}


def _array(name: str) -> Json:
    return {"kind": "array", "array": name}


def _vector(name: str, lengths: Mapping[str, int], blank: int) -> Json:
    if name not in lengths:
        return _array(name)
    return {"kind": "array", "length": lengths[name], "blank": blank, "sparse": name}


def _length(name: str, arrays: Mapping[str, NDArray[Any]]) -> int:
    return len(arrays[name])


def _table(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], of: str = "tokens") -> Any:
    """The table of tokens or of edges; None if there are no edges."""
    settings, encoder = header["features"], header["encoders"][of]
    name = {"tokens": "token_pairs", "edges": "edge_pairs"}[of]
    pairs = header["pairs"][name]
    if of == "edges" and pairs is None:
        return None
    state: Json = {
        "encoder": _stored(
            "encoder",
            "rows",
            {"hash_bits": settings["hash_bits"]},
            {
                "form": encoder["kind"],
                "columns": encoder["columns"],
                **(
                    {"bytes": _array(f"{of}.bytes"), "offsets": _array(f"{of}.offsets")}
                    if f"{of}.bytes" in arrays
                    else {}
                ),
            },
        ),
        "pairs": None,
    }
    if pairs is not None:
        items = [["attributes", pairs["attributes"]], ["labels", pairs["labels"]]]
        if pairs["packed"]:
            items += [["begin", _array(f"{name}.begin")], ["column", _array(f"{name}.column")]]
        state["pairs"] = _tagged("mapping", items)
    if "kernel" not in settings or of == "edges":
        return _stored("features", "table", {key: settings[key] for key in ("pairs", "hash_bits")}, state)
    state["gamma"] = settings["gamma"]
    for key in ("columns", "projection"):
        state[key] = _array(f"support.{key}") if f"support.{key}" in arrays else None
    if "support.begin" in arrays:
        state["support"] = _tagged("mapping", [[key, _array(f"support.{key}")] for key in ("begin", "index", "value")])
    return _stored("features", "kernel", _kernel(settings["kernel"]), state)


def _kernel(settings: Mapping[str, Any]) -> Json:
    return {"function" if key == "name" else key: value for key, value in settings.items()}


def _features_parameter(settings: Mapping[str, Any]) -> Any:
    if "kernel" in settings:
        return _stored("features", "kernel", _kernel(settings["kernel"]), None) | {"state": _UNLEARNED_KERNEL}
    if not settings["hash_bits"]:
        return settings["pairs"]
    return f"hash:{settings['hash_bits']}"


# The state of a kernel that has not learned from data, for kernels that are parameters.
_UNLEARNED_KERNEL: Json = {
    "encoder": _stored("encoder", "rows", {"hash_bits": 0}, {"form": None, "columns": 0}),
    "pairs": None,
    "gamma": 1.0,
    "columns": None,
    "projection": None,
}


def _loss(stored: Mapping[str, Any]) -> Any:
    beta = inf if stored["beta"] is None else stored["beta"]
    rescale, slack = stored.get("rescale", "margin"), stored.get("slack", 1)
    coordinates = {"beta": beta, "gamma": stored["gamma"], "cost": stored["cost"]}
    difference = stored.get("difference", False)
    if stored["cost"] == "hamming":
        loss = (
            DifferenceOfLosses(**coordinates) if difference else LossFamily(**coordinates, rescale=rescale, slack=slack)
        )
        if loss.name in loss_names():
            return loss.name
    packed = coordinates | {"beta": {"kind": "number", "value": "inf"} if beta == inf else beta}
    if difference:
        return _stored("loss", "difference", packed)
    return _stored("loss", "family", packed | {"rescale": rescale, "slack": slack})


def _learner(stored: Mapping[str, Any]) -> Any:
    """The name of the learner if it has default settings or is unknown, otherwise the learner with its settings."""
    name = str(stored["name"])
    settings = {key: _setting(value) for key, value in stored["settings"].items()}
    if name not in Learner.registered:
        return name
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in stored["settings"].items()}
    if not any(isinstance(value, dict) for value in plain.values()):
        kind = Learner.registered[name]
        if kind(**plain) == kind():
            return name
    return _stored("learner", name, settings)


def _setting(value: Any) -> Any:
    if isinstance(value, dict):
        return _learner(value)
    return _tagged("tuple", value) if isinstance(value, list) else value


def _taxonomy(stored: Any) -> Any:
    if stored is None or isinstance(stored, str):
        return stored
    return _stored("labels", "taxonomy", {"parents": _tagged("mapping", stored)})


def _inputs(kind: str, metadata: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Any, Json]:
    """The inputs that the command line stored in its metadata, and the remaining metadata."""
    match metadata:
        case {"templates": [str(), *_] as templates, "n_columns": int(columns), "separator": separator, **rest}:
            inputs = _stored("inputs", "templates", {"templates": templates, "label": -1}, {"columns": columns})
            return inputs, {"separator": separator, **rest}
        case {"input": "text", "words": list(words), "idf": list(idf), **rest}:
            arrays["inputs_.idf"] = np.array(idf, dtype=np.float64)
            return _stored("inputs", "tf-idf", {}, {"words": words, "idf": _array("inputs_.idf")}), rest
        case {"input": "svmlight", "n_features": int(n_features), **rest}:
            return _stored("inputs", "columns", {}, {"n_features": n_features}), rest
        case {"input": "nbest", "ngrams": int(order), "lowercase": bool(lowercase), **rest}:
            return _stored("inputs", "n-grams", {"order": order, "lowercase": lowercase}), rest
    return None, dict(metadata)
