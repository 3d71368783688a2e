"""The command line on taxonomies and with the structural SVM's options: training, prediction, measures, mistakes."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from sklearn.feature_extraction.text import TfidfVectorizer

import margrave
from margrave import metrics
from margrave.data.taxonomy import Taxonomy
from margrave.datasets import read_svmlight_paths, read_taxonomy, read_texts
from margrave.estimators import TaxonomyClassifier
from margrave.learners import LP
from margrave.losses import Hinge
from tests.references.commands import done, message, run

PATHS = ["1/1/1", "1/1/2", "1/2", "2/1", "2/2"]
# The words of every group and of every class below it: a text has some of both, and some that say nothing.
GROUPS = {"plants": "green leaf root", "animals": "blood eye run"}
WORDS = {
    "plants.tree": "bark wood tall",
    "plants.grass": "thin meadow mow",
    "animals.cat": "purr mouse claw",
    "animals.fish": "swim gill water",
}
NOISE = ["the", "of", "and", "it", "is"]


def svmlight_lines(seed: int, n: int) -> list[str]:
    """Classes that share features with those near them: one feature a node, and two that say nothing."""
    rng = np.random.default_rng(seed)
    tree = Taxonomy.from_names(PATHS, "/")
    column = {node: k for k, node in enumerate(sorted(tree.nodes), 1)}
    lines = []
    for name in rng.choice(PATHS, n):
        x = rng.normal(0, 0.6, len(column) + 2)
        for node in tree.ancestors(str(name)):
            x[column[node] - 1] += 1
        lines.append(f"{name}\t" + " ".join(f"{k}:{value:.3f}" for k, value in enumerate(x, 1)))
    return lines


def text_lines(seed: int, n: int) -> list[str]:
    rng = np.random.default_rng(seed)
    lines = []
    for name in rng.choice(list(WORDS), n):
        own = [*WORDS[name].split(), *GROUPS[name.split(".")[0]].split()]
        lines.append(f"{name}\t" + " ".join(rng.choice(own + NOISE, 8)))
    return lines


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with examples of features, their taxonomy, and a model."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "train.svm").write_text("\n".join(svmlight_lines(0, 80)) + "\n")
    (folder / "test.svm").write_text("\n".join(svmlight_lines(1, 40)) + "\n")
    (folder / "hierarchy.txt").write_text("1\n1/1\n1/1/1\n1/1/2\n1/2\n2\n2/1\n2/2\n2/3\n")
    arguments = ("--taxonomy", folder / "hierarchy.txt", "--dev", folder / "test.svm", "-C", "0.1", "--json")
    output = done("train", "--task", "taxonomy", folder / "train.svm", "-o", folder / "m", *arguments)
    (folder / "report.json").write_text(output)
    return folder


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with labeled texts, and a model."""
    folder = tmp_path_factory.mktemp("posts")
    (folder / "train.txt").write_text("\n".join(text_lines(0, 60)) + "\n")
    (folder / "test.txt").write_text("\n".join(text_lines(1, 40)) + "\n")
    done("train", "--task", "taxonomy", folder / "train.txt", "-o", folder / "m", "-q")
    return folder


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    """Sequences that are learned at once."""
    path = tmp_path / "tags.conll"
    path.write_text("the D\nold J\ntown N\n\na D\ntown N\nhall N\n\nold J\nhall N\n")
    return path


# ---- train, predict, evaluate ----------------------------------------------------------------------------------------


def test_features_are_learned_as_in_python(images: Path) -> None:
    report = json.loads((images / "report.json").read_text())
    X, y = read_svmlight_paths(images / "train.svm")
    taxonomy = read_taxonomy(images / "hierarchy.txt")
    model: Any = TaxonomyClassifier(taxonomy=taxonomy, C=0.1).fit(X, y)
    loaded: Any = margrave.load(images / "m")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.taxonomy == taxonomy and "2/3" in loaded.taxonomy
    assert report["primal"] == model.certificate_.primal
    assert report["relative_gap"] <= 1e-4 and report["converged"] is True
    assert (report["loss"], report["cost"], report["C"]) == ("hinge", "tree", 0.1)
    assert (report["n_examples"], report["n_classes"], report["n_nodes"]) == (80, 5, 9)
    assert (report["n_features"], report["n_weights"]) == (X.shape[1], model.coef_.size)
    assert report["model"] == str(images / "m")


def test_evaluate_measures_as_the_metrics_do(images: Path) -> None:
    predicted = done("predict", images / "m", images / "test.svm").split()
    _, gold = read_svmlight_paths(images / "test.svm")
    taxonomy = read_taxonomy(images / "hierarchy.txt")
    scores = metrics.tree_scores(gold, predicted, taxonomy)
    report = json.loads(done("evaluate", images / "m", images / "test.svm", "--json"))
    assert report.pop("n_examples") == 40
    assert report == {
        "accuracy": scores.accuracy,
        "tree_loss": scores.tree_loss,
        "standard_error": scores.standard_error,
        "hierarchical_f1": metrics.hierarchical_scores([{a} for a in gold], [{b} for b in predicted], taxonomy).f1,
    }
    assert 0.5 < scores.accuracy < 1
    assert json.loads((images / "report.json").read_text())["dev"] == report

    table = done("evaluate", images / "m", images / "test.svm")
    assert f"accuracy            {100 * scores.accuracy:.2f} %\n" in table
    assert f"tree loss           {scores.tree_loss:.4f} (standard error {scores.standard_error:.4f})\n" in table


def test_one_example_has_no_standard_error(images: Path) -> None:
    line = svmlight_lines(1, 1)[0].encode()
    report = json.loads(done("evaluate", images / "m", "-", "--json", stdin=line))
    assert report["n_examples"] == 1 and report["standard_error"] is None
    assert "standard error" not in done("evaluate", images / "m", "-", stdin=line)


def test_predict_writes_one_class_a_line_as_the_model_says_in_python(images: Path, tmp_path: Path) -> None:
    model: Any = margrave.load(images / "m")
    X, _ = read_svmlight_paths(images / "test.svm")
    labels, probabilities = model.predict(X).tolist(), model.predict_proba(X)
    assert done("predict", images / "m", images / "test.svm").splitlines() == labels
    with_marginals = [
        line.split("\t") for line in done("predict", images / "m", images / "test.svm", "--marginals").splitlines()
    ]
    classes = model.classes_.tolist()
    for i, (label, probability) in enumerate(with_marginals):
        assert label == labels[i]
        assert float(probability) == pytest.approx(probabilities[i, classes.index(label)], abs=5.1e-5)
    assert done("predict", images / "m", images / "test.svm", "-o", tmp_path / "out.gz") == ""
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines() == labels


def test_files_gzip_standard_input_and_pipes_give_the_same(images: Path, posts: Path, tmp_path: Path) -> None:
    for folder, name in ((images, "train.svm"), (posts, "train.txt")):
        content = (folder / name).read_bytes()
        (tmp_path / "packed.gz").write_bytes(gzip.compress(content))
        os.mkfifo(pipe := tmp_path / f"pipe-{name}")
        command = [sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write(open({str(folder / name)!r}, 'rb').read())"]
        done("train", "--task", "taxonomy", folder / name, "-o", tmp_path / "plain", "-q")
        done("train", "--task", "taxonomy", tmp_path / "packed.gz", "-o", tmp_path / "gzip", "-q")
        done("train", "--task", "taxonomy", "-", "-o", tmp_path / "stdin", "-q", stdin=content)
        with subprocess.Popen(command):
            done("train", "--task", "taxonomy", pipe, "-o", tmp_path / "pipe", "-q")
        models: list[Any] = [margrave.load(tmp_path / of) for of in ("plain", "gzip", "stdin", "pipe")]
        for model in models[1:]:
            np.testing.assert_array_equal(model.coef_, models[0].coef_)
        expected = done("predict", tmp_path / "plain", folder / name)
        assert done("predict", tmp_path / "plain", tmp_path / "packed.gz") == expected
        assert done("predict", tmp_path / "plain", "-", stdin=content) == expected


def test_predict_needs_no_class_and_no_known_feature(images: Path, posts: Path) -> None:
    content = (images / "test.svm").read_text()
    expected = done("predict", images / "m", images / "test.svm")
    bare = "\n".join(line.partition("\t")[2] for line in content.splitlines())
    assert done("predict", images / "m", "-", stdin=bare.encode()) == expected
    more = "\n".join(line + " 999:7" for line in content.splitlines())
    assert done("predict", images / "m", "-", stdin=more.encode()) == expected
    fewer = "\n".join(" ".join(line.split()[:3]) for line in content.splitlines())
    assert len(done("predict", images / "m", "-", stdin=fewer.encode()).splitlines()) == 40

    content = (posts / "test.txt").read_text()
    expected = done("predict", posts / "m", posts / "test.txt")
    bare = "\n".join(line.partition("\t")[2] for line in content.splitlines())
    assert done("predict", posts / "m", "-", stdin=bare.encode()) == expected
    more = "\n".join(line + " unheard" for line in content.splitlines())
    assert done("predict", posts / "m", "-", stdin=more.encode()) == expected


def test_texts_are_learned_by_their_tf_idf_and_the_file_keeps_it(posts: Path) -> None:
    train, test = list(read_texts(posts / "train.txt")), list(read_texts(posts / "test.txt"))
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform([text for _, text in train])
    model: Any = TaxonomyClassifier(taxonomy=".").fit(X, [name for name, _ in train])
    loaded: Any = margrave.load(posts / "m")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.features_.words == vectorizer.get_feature_names_out().tolist()
    assert loaded.features_.idf.tolist() == vectorizer.idf_.tolist()
    expected = model.predict(vectorizer.transform([text for _, text in test])).tolist()
    assert loaded.predict([text for _, text in test]).tolist() == expected
    assert done("predict", posts / "m", posts / "test.txt").split() == expected
    report = json.loads(done("evaluate", posts / "m", posts / "test.txt", "--json"))
    assert report["accuracy"] == np.mean([a == b for (a, _), b in zip(test, expected, strict=True)]) > 0.6
    with safe_open(posts / "m", "numpy") as tensors:  # numbers and JSON alone
        assert "weights" in tensors.keys()  # noqa: SIM118


def test_a_class_that_only_has_a_description_is_predicted(tmp_path: Path) -> None:
    """The words of descriptions are shared features: what is learned of them from others speaks for the new class."""
    train, glosses = tmp_path / "train.txt", tmp_path / "glosses.txt"
    classes = [
        (skin, foot) for skin in ("fur", "scales", "wings", "shell") for foot in ("claws", "fins", "hoofs", "toes")
    ]
    lines = [f"{skin}.{foot}\t{skin} {foot}" for skin, foot in classes]
    new = "scales.toes\tscales toes"
    train.write_text("\n".join(line for line in lines if line != new))
    glosses.write_text("\n".join(lines) + "\nfur\tnot a class, for classes lie below it\n")
    done("train", "--task", "taxonomy", train, "-o", tmp_path / "m", "--descriptions", glosses, "-q")
    assert done("predict", tmp_path / "m", train).split() == [line.split("\t")[0] for line in lines if line != new]
    assert done("predict", tmp_path / "m", "-", stdin=new.encode()).split() == ["scales.toes"]
    loaded: Any = margrave.load(tmp_path / "m")
    assert loaded.classes_.tolist() == sorted(line.split("\t")[0] for line in lines)


def test_the_taxonomy_comes_from_a_file_or_from_names(posts: Path, tmp_path: Path) -> None:
    models: list[Any] = []
    parents = tmp_path / "parents.txt"
    parents.write_text("".join(f"{name.split('.')[0]}\t{name}\n" for name in WORDS))
    slashed = tmp_path / "slashed.txt"
    slashed.write_text((posts / "train.txt").read_text().replace("plants.", "plants/").replace("animals.", "animals/"))
    for data, options in (
        (posts / "train.txt", []),
        (posts / "train.txt", ["--taxonomy", parents]),
        (slashed, []),
    ):
        done("train", "--task", "taxonomy", data, "-o", tmp_path / "m", "-q", *options)
        models.append(margrave.load(tmp_path / "m"))
    assert models[0].taxonomy == models[1].taxonomy
    assert set(models[0].taxonomy.nodes) == {*WORDS, *GROUPS}
    assert set(models[2].taxonomy.nodes) == {name.replace(".", "/") for name in WORDS} | set(GROUPS)
    np.testing.assert_allclose(models[1].certificate_.primal, models[0].certificate_.primal, rtol=1e-3)


@pytest.mark.filterwarnings("default")
def test_classes_without_a_taxonomy_stand_alone_and_it_is_said(tmp_path: Path) -> None:
    data = tmp_path / "flat.svm"
    data.write_text("a 1:1\nb 2:1\nc 3:1\n")
    result = run("train", "--task", "taxonomy", data, "-o", tmp_path / "m", "-q")
    assert result.exit_code == 0
    expected = (
        "margrave: warning: the names of the classes are not paths, and there is no --taxonomy: classes are "
        "unrelated.\n"
    )
    assert result.stderr == expected
    model: Any = margrave.load(tmp_path / "m")
    assert set(model.taxonomy.nodes) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--cost", "zero-one"], {"cost": "zero-one"}),
        (["--loss", "log"], {"loss": "log"}),
        (["--loss", "softmax-margin", "--cost", "tree"], {"loss": "softmax-margin"}),
        (["--rescale", "slack"], {"loss": Hinge(rescale="slack")}),
        (["--slack", "2"], {"loss": Hinge(slack=2)}),
        (["--rescale", "slack", "--slack", "2", "--cost", "zero-one"],
         {"loss": Hinge(rescale="slack", slack=2), "cost": "zero-one"}),
        (["--learner", "cutting-plane"], {"learner": "cutting-plane"}),
        (["--learner", "one-slack"], {"learner": "one-slack"}),
    ],
)  # fmt: skip
def test_options_are_the_parameters_of_the_classifier(
    images: Path, tmp_path: Path, options: list[str], settings: dict[str, Any]
) -> None:
    X, y = read_svmlight_paths(images / "train.svm")
    model: Any = TaxonomyClassifier(**settings, taxonomy="/", C=0.1).fit(X, y)
    arguments = ("-C", "0.1", "--json", *options)
    report = json.loads(done("train", "--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", *arguments))
    assert report["primal"] == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert report["learner"] == model.learner_.name and report["relative_gap"] <= 1e-4
    loaded: Any = margrave.load(tmp_path / "m")
    np.testing.assert_allclose(loaded.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    inspected = json.loads(done("inspect", tmp_path / "m", "--json"))
    assert (inspected["loss"], inspected["cost"]) == (report["loss"], report["cost"])


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ([], Hinge()),
        (["--rescale", "slack"], Hinge(rescale="slack")),
        (["--slack", "2"], Hinge(slack=2)),
        (["--slack", "0"], Hinge(slack=0)),
        (["--rescale", "slack", "--slack", "2"], Hinge(rescale="slack", slack=2)),
        (["--cost", "zero-one"], Hinge("zero-one")),
    ],
)
@pytest.mark.parametrize("learner", ["auto", "cutting-plane", "one-slack"])
def test_taggers_learn_with_every_hinge_loss(
    tags: Path, tmp_path: Path, options: list[str], loss: Hinge, learner: str
) -> None:
    if learner == "one-slack" and loss.slack != 1:
        arguments = ("--loss", "hinge", "--learner", learner, *options)
        assert "one-slack" in message(run("train", tags, "-o", tmp_path / "m", *arguments))
        return
    arguments = ("--loss", "hinge", "--learner", learner, "--json", *options)
    report = json.loads(done("train", tags, "-o", tmp_path / "m", *arguments))
    assert report["loss"] == loss.name
    assert report["converged"] and abs(report["relative_gap"]) <= 1e-4
    kept = json.loads(done("inspect", tmp_path / "m", "--json"))
    assert kept["loss"] == loss.name
    assert json.loads(done("evaluate", tmp_path / "m", tags, "--json"))["accuracy"] > 0.6


@pytest.mark.filterwarnings("default")
def test_a_training_goes_on_from_its_checkpoint(images: Path, tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    options = ("--loss", "log", "--learner", "lbfgs", "--tol", "1e-7", "--json", "--task", "taxonomy")
    once = json.loads(run("train", images / "train.svm", "-o", tmp_path / "m", "--max-iter", 8, *options).stdout)
    options = ("--checkpoint", file, *options)
    first = json.loads(run("train", images / "train.svm", "-o", tmp_path / "n", "--max-iter", 3, *options).stdout)
    assert first["passes"] < once["passes"] and file.exists()
    then = json.loads(run("train", images / "train.svm", "-o", tmp_path / "n", "--max-iter", 8, *options).stdout)
    assert (then["primal"], then["dual"]) == (once["primal"], once["dual"])


def test_a_linear_program_leaves_features_out(images: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", "--json", "-C", "1")
    report = json.loads(done(*train, "--learner", "lp", "--free-sign"))
    classifier: Any = margrave.load(tmp_path / "m")
    assert (report["loss"], report["cost"]) == ("hinge", "zero-one")
    assert report["zero_weights"] == np.mean(classifier.coef_ == 0) > 0.1
    assert json.loads(done(*train, "--learner", "lp", "--cost", "tree"))["cost"] == "tree"
    assert margrave.load(tmp_path / "m").learner == LP(margin="cost")


# ---- inspect ---------------------------------------------------------------------------------------------------------


def test_inspect_shows_what_a_model_is(images: Path) -> None:
    trained = json.loads((images / "report.json").read_text())
    report = json.loads(done("inspect", images / "m", "--json"))
    assert report["estimator"] == "TaxonomyClassifier" and report["labels"] == sorted(PATHS)
    for name in ("n_classes", "n_nodes", "n_features", "n_weights", "primal", "dual", "gap", "loss", "cost", "C"):
        assert report[name] == trained[name], name
    summary = done("inspect", images / "m")
    for name, value in (("estimator", "TaxonomyClassifier"), ("nodes", "9"), ("loss", "hinge, tree cost, C 0.1")):
        assert re.search(rf"^{name} +{value}$", summary, re.MULTILINE), summary


def test_inspect_shows_taggers_and_classifiers_too(tags: Path, tmp_path: Path) -> None:
    done("train", tags, "-o", tmp_path / "m", "-q")
    report = json.loads(done("inspect", tmp_path / "m", "--json"))
    assert (report["estimator"], report["labels"], report["loss"], report["cost"]) == (
        "SequenceTagger", ["D", "J", "N"], "log", None
    )  # fmt: skip
    margrave.LinearClassifier().fit(np.eye(2), ["a", "b"]).save(tmp_path / "c")
    assert "LinearClassifier" in done("inspect", tmp_path / "c")


def test_inspect_shows_the_words_that_speak_for_each_node(posts: Path) -> None:
    words = json.loads(done("inspect", posts / "m", "--top", 3, "--json"))["words"]
    assert set(words) == {*WORDS, *GROUPS}
    for name, own in WORDS.items():
        assert words[name][0] in own.split(), words
    model: Any = margrave.load(posts / "m")
    known = model.features_.words
    for node, best in words.items():
        weights = model.coef_[model.output_features_.index(node)]
        assert [weights[known.index(word)] for word in best] == sorted(weights, reverse=True)[:3]
    every = json.loads(done("inspect", posts / "m", "--top", 999, "--json"))["words"]
    assert {node: len(of) for node, of in every.items()} == {
        node: (model.coef_[model.output_features_.index(node)] > 0).sum() for node in words
    }
    line = f"animals.cat   {', '.join(words['animals.cat'])}"
    assert line in done("inspect", posts / "m", "--top", 3).splitlines()


def test_inspect_shows_the_features_of_each_node(images: Path) -> None:
    report = json.loads(done("inspect", images / "m", "--top", 2, "--json"))
    assert "words" not in report and set(report["top"]) == {*PATHS, "1", "2", "1/1"}
    column = {node: str(k) for k, node in enumerate(sorted(Taxonomy.from_names(PATHS, "/").nodes), 1)}
    for node, features in report["top"].items():
        assert column[node] in dict(features), report["top"]  # each node has a feature, counted from 1 as in the file
    lines = done("inspect", images / "m", "--top", 2).splitlines()
    name, weight = report["top"]["2/1"][0]
    assert lines[lines.index("2/1") + 1] == f"    {name}  {weight:+.6g}"


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--task", "taxnomy"],
            "unknown task 'taxnomy'; did you mean 'taxonomy'? (valid: tagging, align, classify, constituency, graph, "
            "homology, lattice, multilabel, parse, rerank, taxonomy, translate)",
        ),
        (["--loss", "log", "--rescale", "slack"], "--rescale applies to --loss hinge only, and this is --loss log."),
        (["--loss", "ramp", "--slack", "2"], "--slack applies to --loss hinge only, and this is --loss ramp."),
        (["--slack", "2"], "--slack applies to --loss hinge only, and this is --loss log."),
        (["--loss", "log", "--cost", "zero-one"], "--loss log does not use --cost: choose another"),
        (["--loss", "hinge", "--cost", "hammer"], "unknown cost 'hammer'; did you mean 'hamming'?"),
        (["--loss", "hinge", "--rescale", "both"], "unknown --rescale 'both'; (valid: margin, slack)"),
        (["--loss", "hinge", "--rescale", "slack", "--learner", "bcfw"], "learner 'bcfw'"),
        (["--taxonomy", "tree.txt"], "--taxonomy applies to --task multilabel or taxonomy only, and this is"),
        (["--descriptions", "glosses"], "--descriptions applies to --task taxonomy only, and this is --task tagging."),
        (["--task", "taxonomy", "--order", "2"], "--order applies to --task tagging or parse only, and this is --task"),
        (["--task", "taxonomy", "--templates", "t"], "--templates applies to --task tagging"),
        (["--task", "taxonomy", "--separator", "TAB"], "--separator applies to --task tagging"),
        (["--task", "taxonomy", "--weights", "all"], "--weights applies to --task tagging"),
    ],
)
def test_a_wrong_option_is_refused_before_any_work(
    tags: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    assert message(run("train", tags, "-o", tmp_path / "m", *options)).startswith(expected)
    assert os.listdir(tmp_path) == ["tags.conll"]


def test_a_slack_that_cannot_be_is_refused_with_a_hint(tags: Path, tmp_path: Path) -> None:
    result = run("train", tags, "-o", tmp_path / "m", "--loss", "hinge", "--slack", "3")
    assert result.exit_code == 2 and "--slack" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ": it contains no examples."),
        ("\n# nothing\n", ": it contains no examples."),
        ("1/2 1:1\n1/3 x\n", ", line 2: 'x' is not a pair index:value."),
        ("1/2 1:1\n1//3 1:2\n", ", line 2: '1//3' is not a class"),
        ("1/2;1/3 1:1\n", ", line 1: '1/2;1/3' has several classes, but only one is allowed."),
        ("1/2\tsome text\nno class\n", ", line 2: there is no tab between the class and the text."),
        ("a line of words\n", ": its first line is neither a class with features (4/6/2 1:0.5) nor a class, a tab"),
        ("a.b\t! ?\na.c\t-\n", ": there are no words of two letters or more in its texts."),
    ],
)
def test_a_mistake_in_the_data_is_named(tmp_path: Path, content: str, expected: str) -> None:
    data = tmp_path / "data"
    data.write_text(content)
    assert message(run("train", "--task", "taxonomy", data, "-o", tmp_path / "m")).startswith(f"{data}{expected}")
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 2\n", ", line 1: '1 2' is neither parent TAB child nor"),
        ("a\tb\nb\ta\n", ": a taxonomy must not have cycles"),
    ],
)
def test_a_mistake_in_the_taxonomy_is_named(images: Path, tmp_path: Path, content: str, expected: str) -> None:
    tree = tmp_path / "tree"
    tree.write_text(content)
    arguments = ("--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", "--taxonomy", tree)
    assert message(run("train", *arguments)).startswith(f"{tree}{expected}")


def test_a_class_beyond_the_taxonomy_is_named(images: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.write_text("1/1\n1/1/1\n")
    arguments = ("--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", "--taxonomy", tree)
    refused = message(run("train", *arguments))
    assert re.fullmatch(re.escape(f"{images / 'train.svm'}: the taxonomy has no class ") + "'[12]/[12](/2)?'.", refused)
    refused = message(run("evaluate", images / "m", "-", stdin=b"1/1/1 1:1\n7/7 1:1\n"))
    assert refused == "<stdin>: the taxonomy has no class '7/7'."
    arguments = ("--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", "--dev", "-")
    assert message(run("train", *arguments, stdin=b"7/7 1:1\n")) == "<stdin>: the taxonomy has no class '7/7'."


def test_a_class_without_a_description_is_named(posts: Path, tmp_path: Path) -> None:
    glosses = tmp_path / "glosses"
    glosses.write_text("plants.tree\tbark\n")
    arguments = ("--task", "taxonomy", posts / "train.txt", "-o", tmp_path / "m", "--descriptions", glosses)
    assert message(run("train", *arguments)) == "class 'animals.cat' has no description."


def test_dev_data_must_be_of_the_same_kind(posts: Path, images: Path, tmp_path: Path) -> None:
    arguments = ("--task", "taxonomy", images / "train.svm", "-o", tmp_path / "m", "--dev", posts / "test.txt")
    assert message(run("train", *arguments)).startswith(f"{posts / 'test.txt'}, line 1: ")
    assert not (tmp_path / "m").exists()


def test_an_input_is_never_overwritten(images: Path) -> None:
    tree = images / "hierarchy.txt"
    before = tree.read_bytes()
    refused = message(run("train", "--task", "taxonomy", images / "train.svm", "-o", tree, "--taxonomy", tree))
    assert refused == f"{tree}: it is both read and to be written: give the output another name."
    assert tree.read_bytes() == before


def test_a_scheme_is_of_tags_only(images: Path) -> None:
    refused = message(run("evaluate", images / "m", images / "test.svm", "--scheme", "IOB2"))
    assert refused == f"{images / 'm'}: --scheme applies to tagging only, and this model classifies in a taxonomy."


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"input": "svmlight"},
        {"input": "text", "words": [], "idf": []},
        {"input": "text", "words": ["a", "b"], "idf": [1.0]},
        {"input": "text", "words": ["a", "a"], "idf": [1.0, 1.0]},
        {"input": "text", "words": ["a", "b"], "idf": [1.0, "x"]},
    ],
)
def test_a_model_that_cannot_read_examples_is_refused(images: Path, tmp_path: Path, metadata: Any) -> None:
    TaxonomyClassifier(taxonomy=".").fit(np.eye(2), ["a.b", "a.c"]).save(tmp_path / "m", metadata=metadata)
    refused = message(run("predict", tmp_path / "m", images / "test.svm"))
    assert refused == f"{tmp_path / 'm'}: it does not say how to read examples: train it with 'margrave train'."


# ---- help ------------------------------------------------------------------------------------------------------------


def test_help_teaches_taxonomies_and_the_structural_svm() -> None:
    text = re.sub(r"-\s+", "-", done("train", "--help", "--task", "taxonomy"))  # lines end after hyphens too
    for word in ("--task", "--cost", "--rescale", "--slack", "--taxonomy", "--descriptions", "4/6/2", "tf-idf"):
        assert word in text, word
    assert "margrave inspect " in done("inspect", "--help")
    assert "--task taxonomy" in done("--help")
