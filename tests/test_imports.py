"""The front door: `import margrave` is cheap, and every public name is behind it."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
import margrave.estimators
import margrave.translation
from margrave.estimators.files import SavedModel
from margrave.files.stored import import_modules
from tests.estimators.registry import ENTRIES, Entry

HEAVY = ("numpy", "scipy", "sklearn", "rich", "typer", "safetensors", "matplotlib", "pandas")


def modules_after(statement: str) -> set[str]:
    """What a fresh process has imported after this statement."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_package_alone_imports_nothing_heavy() -> None:
    loaded = modules_after("import margrave; margrave.__version__; dir(margrave); margrave.__all__")
    assert "margrave" in loaded
    assert not loaded & set(HEAVY)
    assert not any(name.startswith("margrave.") for name in loaded)


def test_the_errors_import_nothing_heavy() -> None:
    assert not modules_after("from margrave import MargraveError") & set(HEAVY)


def test_an_estimator_imports_no_command_line() -> None:
    loaded = modules_after("from margrave import SequenceTagger")
    assert "margrave.estimators" in loaded
    assert not loaded & {"rich", "typer", "matplotlib", "pandas", "margrave.cli"}


def test_training_a_tagger_imports_neither_scikit_learn_nor_scipy(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("a A\nb B\n\nb B\na A\n")
    command = ["margrave", "train", str(tmp_path / "train"), "-o", str(tmp_path / "model")]
    loaded = modules_after(
        f"sys.argv = {command!r}\nfrom margrave.cli import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code"
    )
    assert "margrave.estimators.sequence_tagger" in loaded
    assert not loaded & {"sklearn", "scipy"}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_loaded_model_predicts_without_scikit_learn_and_scipy(entry: Entry, tmp_path: Path) -> None:
    entry.make().fit(entry.X, entry.y).save(tmp_path / "model")
    plain = entry.X.tolist() if isinstance(entry.X, np.ndarray) else entry.X
    (tmp_path / "X").write_bytes(pickle.dumps(plain))
    loaded = modules_after(
        f"import margrave, pickle; X = pickle.loads(open({str(tmp_path / 'X')!r}, 'rb').read())\n"
        f"assert len(margrave.load({str(tmp_path / 'model')!r}).predict(X)) == len(X)"
    )
    with_matrices = {"TaxonomyClassifier", "HierarchicalMultiLabelClassifier"}  # of nodes, which are SciPy's
    unneeded = {"sklearn", "margrave.learners.base", "margrave.estimators.base"}
    assert not loaded & (unneeded if entry.make().saved_as in with_matrices else unneeded | {"scipy"})


def test_records_and_endings_are_imported_without_the_learners() -> None:
    loaded = modules_after("from margrave.learners.record import Record; from margrave.learners.ended import Ended")
    assert not loaded & {*HEAVY, "margrave._core", "margrave.learners.base"}
    loaded = modules_after("from margrave.learners import EG")
    assert "margrave.learners.eg" in loaded and "margrave.learners.lbfgs" not in loaded


def test_a_learner_cannot_take_the_name_of_one_that_is_not_imported_yet() -> None:
    code = "class Own(Learner): name = 'eg'"
    with pytest.raises(subprocess.CalledProcessError) as found:
        modules_after(f"from margrave.learners import Learner\n{code}")
    assert "TypeError: the learner 'eg' is already margrave.learners.eg.EG" in found.value.stderr


@pytest.mark.parametrize("name", margrave.__all__)
def test_a_public_name_is_what_it_says(name: str) -> None:
    value = getattr(margrave, name)
    assert value.__name__ == name
    assert value.__doc__
    assert name in dir(margrave)


def test_a_public_name_is_the_same_object_every_time() -> None:
    from margrave.estimators import SequenceTagger

    assert margrave.SequenceTagger is SequenceTagger is margrave.SequenceTagger


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from margrave import *", names)
    assert set(margrave.__all__) <= names.keys()
    assert not {name for name in names if name.startswith("_")} - {"__builtins__"}


def test_the_list_of_names_is_sorted_and_says_everything_once() -> None:
    assert sorted(set(margrave.__all__)) == margrave.__all__
    assert dir(margrave) == margrave.__all__


@pytest.mark.parametrize("package", [margrave, margrave.translation], ids=lambda package: package.__name__)
def test_type_checkers_see_the_same_names(package: Any) -> None:
    seen = {}
    for statement in ast.walk(ast.parse(Path(package.__file__).read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("margrave"):
            for name in statement.names:
                assert name.asname == name.name  # Otherwise it is imported but not exported.
                seen[name.name] = statement.module
    assert seen == package._HOMES
    assert all(getattr(package, name).__name__ == name for name in package.__all__)


def test_every_estimator_is_a_public_name() -> None:
    import_modules("margrave.estimators")
    import_modules("margrave.translation")
    own = {name for name, kind in SavedModel.estimators.items() if kind.__module__.startswith("margrave.")}
    assert own <= set(margrave.__all__)
    assert set(dir(margrave.estimators)) == (own - {"Translator"}) | {"PathCV", "load"}


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import PackageNotFoundError, version

    assert margrave.__version__.count(".") == 2
    try:
        installed = version("margrave")
    except PackageNotFoundError:
        pytest.skip("margrave is run from its sources, and is not installed")
    assert installed == margrave.__version__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'margrave' has no attribute 'SequenceTager'$"):
        _ = margrave.SequenceTager
    with pytest.raises(ImportError, match="SequenceTager"):
        exec("from margrave import SequenceTager")
    assert not hasattr(margrave, "utils")
    assert not hasattr(margrave, "__wrapped__")
