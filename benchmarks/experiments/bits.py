"""The SHA-256 of weights and predictions of every learner and estimator, in which a change of any bit shows.

Weights are those after 3 iterations with one thread: of every learner with every loss and structure that it accepts,
chains on 500 sentences of CoNLL-2000, and of one small model or more of every estimator, with what these predict. All
of it runs once with each instruction set of the machine.

Another compiler, processor or version of NumPy may give other bits, so that only results of one machine and one set of
versions can be compared; both are in the file. `python -m benchmarks.experiments.bits OLD.json NEW.json` compares two
files.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import in_new_process
from benchmarks.names import make, method, public
from benchmarks.small import digits, foreign, lists, models, structures, tag_pairs, town
from benchmarks.tables import markdown
from margrave import CustomProblem, MargraveError, Reranker, _core
from margrave.learners import LEARNERS
from margrave.losses import LOSSES, Hinge, LossFamily, loss_named

Result = dict[str, Any]
Digests = dict[str, str]

CORPORA = ("conll2000",)
RESULT = "bits"
ITERATIONS = 3
LEARNED: Result = {"max_iter": ITERATIONS, "n_jobs": 1}
COUNTED: dict[str, Result] = {"HMMTagger": {}, "PCFG": {"n_jobs": 1}, "GenerativeAligner": {"n_jobs": 1}}
LOOSE = 0.5  # the tolerance of losses that are not convex, whose iterations are whole runs of another learner
SLOW = ("chain", "chain, kernel")  # where 'auto' is not run with them: it would run 'cccp', which is a case already
ASKED = 15  # examples of which marginals, k best outputs and samples are asked
K = 3


def measure() -> Result:
    """The digests of all cases with each instruction set, in a process of its own."""
    digests = {}
    for name in _core.instruction_sets():
        # One thread of BLAS, too: how several of them divide a sum may depend on the load of the machine.
        os.environ.update(MARGRAVE_INSTRUCTIONS=name, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
        digests[name] = in_new_process(all_digests, name)
    return {"iterations": ITERATIONS, "sha256": digests}


def all_digests(instructions: str) -> Digests:
    """The digests of all cases in this process."""
    assert _core.instruction_set() == instructions
    found = {}
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # three iterations are not many, and some weights are all zero after them
        for cases in (of_learners, of_options, of_models, of_others):
            for name, value in cases():
                assert name not in found, name
                found[name] = digest(value)
    return found


# ---- cases -----------------------------------------------------------------------------------------------------------


def of_learners() -> Iterator[tuple[str, Any]]:
    """The weights of every learner with every loss on every structure, as far as it accepts them."""
    losses: dict[str, str | LossFamily] = {name: name for name in sorted(LOSSES)}
    losses["L(2, 0.5)"] = LossFamily(beta=2.0, gamma=0.5)
    for (structure, small), learner, (loss, given) in product(structures().items(), sorted(LEARNERS), losses.items()):
        settings = {**LEARNED, "learner": learner, "loss": given}
        if not loss_named(given).convex:
            if learner == "auto" and structure in SLOW:
                continue
            settings["tol"] = LOOSE
        if structure == "chain" and "untied" in LEARNERS[learner].needs:
            settings["tied"] = False
        try:
            model = small.fit(**settings)
        except MargraveError:  # It does not accept the loss or the structure: a case that is missing is reported.
            continue
        yield f"{structure}: {learner}, {loss}", model.coef_


def of_options() -> Iterator[tuple[str, Any]]:
    """The weights of learners on chains with options that have code of their own."""
    chain = structures()["chain"]
    options: dict[str, dict[str, Any]] = {
        "lbfgs, log, order 2": {"learner": "lbfgs", "order": 2},
        "eg, log, start and stop": {"learner": "eg", "start": True, "stop": True},
        "lbfgs, log, all pairs": {"learner": "lbfgs", "weights": "all"},
        "sgd, log, hashed": {"learner": "sgd", "weights": "hash:18"},
        "cutting-plane, hinge, zero-one cost": {"learner": "cutting-plane", "loss": Hinge(cost="zero-one")},
        "cutting-plane, hinge, slack re-scaling": {"learner": "cutting-plane", "loss": Hinge(rescale="slack")},
        "cutting-plane, hinge, quadratic slack": {"learner": "cutting-plane", "loss": Hinge(slack=2)},
    }
    for name, settings in options.items():
        yield f"chain: {name}", chain.fit(**LEARNED, **settings).coef_


def of_models() -> Iterator[tuple[str, Any]]:
    """The weights and the predictions of one small model or more of every estimator."""
    for name, small in models().items():
        model = small.fit(**COUNTED.get(small.kind, LEARNED))
        if hasattr(model, "coef_"):
            yield f"{name}: weights", model.coef_
        else:
            yield f"{name}: weights", [model.emissions_, model.transitions_]
        for data, X in small.new().items():
            yield f"{name}: predictions of {data}", model.predict(X)
        yield from of_queries(name, model, X[:ASKED])


def of_queries(name: str, model: Any, X: Any) -> Iterator[tuple[str, Any]]:
    """What else a model can be asked, as far as it has an answer."""
    queries: dict[str, tuple[Any, ...]] = {
        "predict_marginals": (),
        "predict_proba": (),
        "predict_kbest": (K,),
        "sample": (K, 7),
        "decision_function": (),
    }
    for query, more in queries.items():
        ask = method(model, query)
        if ask is None:
            continue
        try:
            answer = ask(X, *more)
        except MargraveError:  # It has none, such as the marginals of an approximate maximum.
            continue
        yield f"{name}: {query}", answer


def of_others() -> Iterator[tuple[str, Any]]:
    """What is reached by other ways: further arguments, paths of C, given weights, and problems of one's own."""
    X, y = town("train", 60)
    tagger = make("SequenceTagger", features=make("Templates"), **LEARNED)
    weights = np.linspace(0.5, 1.5, len(X))
    tagger.fit(X, y, weights, edges=tag_pairs("train", 60))
    yield "tagger, transition attributes: weights", tagger.coef_
    new, edges = town("test", 20)[0], tag_pairs("test", 20)
    yield "tagger, transition attributes: predictions", tagger.predict(new, edges=edges)
    allowed = [[["O", "B-PER", "I-PER"]] * len(rows) for rows in new]
    yield "tagger, allowed: predictions", tagger.predict(new, edges=edges, allowed=allowed)
    for learner in ("eg", "bcfw", "lbfgs"):
        tagger = make("SequenceTagger", features=make("Templates"), learner=learner, **LEARNED)
        yield f"tagger, path of C, {learner}: weights", [each.coef_ for each in tagger.fit_path(X, y, [0.1, 1.0, 10.0])]
    given = Reranker.of_weights({f"x{k}": k - 2.5 for k in range(6)})
    yield "reranker, given weights: predictions", given.predict(lists(30)[0])
    matrix = public("aligner_of")(public("BLOSUM62"))
    yield "aligner, given matrix: predictions", matrix.predict([("HEAGAWGHEE", "PAWHEAE"), ("ARNDC", "RNDCQ")])
    yield "translator, untuned: predictions", make("Translator", "none", n_jobs=1).fit(*foreign()).predict(foreign()[0])
    for learner in ("bcfw", "cutting-plane", "one-slack", "mira", "perceptron"):
        loss = "perceptron" if learner == "perceptron" else "hinge"
        run = make("Objective", own_problem(), loss_named(loss), **LEARNED)
        yield f"custom problem: {learner}, {loss}", LEARNERS[learner]().solve(run).w


def own_problem() -> CustomProblem:
    """Digits as a problem that is described by functions."""
    X, y = digits(0, 40)

    def joint_feature(x: NDArray[np.float64], digit: int) -> NDArray[np.float64]:
        return np.outer(np.arange(10) == digit, x).ravel()

    def argmax(x: NDArray[np.float64], w: NDArray[np.float64], digit: int | None = None) -> int:
        return int(np.argmax(w.reshape(10, -1) @ x + (0 if digit is None else np.arange(10) != digit)))

    return CustomProblem(X, y.tolist(), joint_feature, lambda y, other: float(y != other), argmax)


# ---- digests ---------------------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """The SHA-256 of an array's bytes, or of anything else in a form that has every bit of it."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return sha256(value.tobytes()).hexdigest()
    return sha256(json.dumps(plain(value)).encode()).hexdigest()


def plain(value: Any) -> Any:
    """Outputs as lists, texts and whole numbers; arrays of floats as digests of their bytes, other floats in full."""
    if isinstance(value, np.ndarray):
        return [list(value.shape), digest(value)] if value.dtype.kind == "f" else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value.hex()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return sorted(([plain(key), plain(item)] for key, item in value.items()), key=json.dumps)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "label") and hasattr(value, "children"):
        return [value.label, plain(value.children)]
    raise TypeError(f"a prediction has a {type(value).__name__}, which `plain` does not know.")


# ---- what was found --------------------------------------------------------------------------------------------------


def table(result: Result) -> str:
    """How many cases there are, and one digest for all of each instruction set."""
    rows = [
        [name, str(len(found)), sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()]
        for name, found in result["sha256"].items()
    ]
    title = f"Weights after {result['iterations']} iterations, and predictions"
    return f"{title}\n\n{markdown(['instruction set', 'cases', 'SHA-256 of all'], rows)}"


def plot(result: Result) -> None:
    """There is none."""


def compare(old: Result, new: Result) -> tuple[list[str], bool]:
    """Lines about the cases that differ, are missing or are new, and whether all old ones are there and equal."""
    lines, same = [], True
    for name in sorted({*old["sha256"], *new["sha256"]}):
        before, after = old["sha256"].get(name, {}), new["sha256"].get(name, {})
        kinds: dict[str, list[str]] = {
            "differs": [case for case in before if case in after and before[case] != after[case]],
            "missing": [case for case in before if case not in after],
            "added": [case for case in after if case not in before],
        }
        lines += [f"{name}: {kind}: {case}" for kind, cases in kinds.items() for case in cases]
        lines.append(f"{name}: {len(before)} cases, " + ", ".join(f"{len(c)} {kind}" for kind, c in kinds.items()))
        same = same and not kinds["differs"] and not kinds["missing"]
    return lines, same


def main() -> None:
    """Compares two files of results; the status is 1 if a case differs or is missing."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m benchmarks.experiments.bits OLD.json NEW.json")
    old, new = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    lines, same = compare(old, new)
    print("\n".join(lines))
    sys.exit(not same)


if __name__ == "__main__":
    main()
