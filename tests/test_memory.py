"""Memory: what a fit will take is known before it is taken, and a refusal says what asks for it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave import Kernel, LinearClassifier, MargraveError, memory
from margrave.datasets import read_svmlight
from tests.sanitized import OWN_MEMORY, SANITIZED

CLASSES = 100_000


def little(bytes_left: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: bytes_left)


def test_some_memory_is_available() -> None:
    assert memory.available_memory() > 2**20


GROUP = "/outer/inner"
VERSIONS = {
    2: (f"0::{GROUP}", "", ("memory.max", "memory.current", "")),
    1: (
        f"9:cpu:/\n4:memory,other:{GROUP}\n0::/",
        "memory",
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ),
}


def cgroups(tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the root of control groups, which has none yet."""
    process, place, _ = VERSIONS[version]
    (tmp_path / "process").write_text(f"{process}\n")
    monkeypatch.setattr(memory, "_CGROUPS_OF_PROCESS", tmp_path / "process")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_of_system", lambda: 1e12)
    return tmp_path / "groups" / place


def limit(folder: Path, version: int, most: object, used: object, inactive: object = 0, active: object = 0) -> None:
    name, usage, prefix = VERSIONS[version][2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"{most}\n")
    (folder / usage).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 7\n{prefix}inactive_file {inactive}\n{prefix}active_file {active}\n")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limit_of_the_container_counts(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = cgroups(tmp_path, version, monkeypatch)
    assert memory.available_memory() == 1e12
    limit(root, version, 3_000_000, 1_000_000)
    assert memory.available_memory() == 2_000_000
    limit(root, version, 3_000_000, 4_000_000)  # The limit was lowered.
    assert memory.available_memory() == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_pages_of_files_that_were_read_are_available(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cgroups(tmp_path, version, monkeypatch)
    limit(root, version, 3_000_000, 2_999_000, inactive=1_500_000, active=499_000)
    assert memory.available_memory() == 2_000_000
    limit(root, version, 3_000_000, 1_000, inactive=5_000)  # The numbers were not read at the same moment.
    assert memory.available_memory() == 3_000_000


@pytest.mark.parametrize("version", VERSIONS)
def test_the_smallest_limit_of_nested_groups_counts(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = cgroups(tmp_path, version, monkeypatch)
    limit(root, version, 9_000_000, 1_000_000)
    limit(root / "outer" / "inner", version, 7_000_000, 1_000_000)
    assert memory.available_memory() == 6_000_000
    limit(root / "outer", version, 7_000_000, 5_000_000)
    assert memory.available_memory() == 2_000_000
    limit(root / "other", version, 1, 0)  # It is not a group of this process.
    assert memory.available_memory() == 2_000_000


@pytest.mark.parametrize("version", VERSIONS)
def test_files_that_say_nothing_are_no_limit(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = cgroups(tmp_path, version, monkeypatch)
    limit(root, version, "max", 1_000_000)
    assert memory.available_memory() == 1e12
    limit(root, version, 3_000_000, "odd", "odd", "")
    assert memory.available_memory() == 3_000_000
    for process in ("", "odd", "0::/../..", ":::"):
        (tmp_path / "process").write_text(process)
        assert memory.available_memory() == 3_000_000
    (tmp_path / "process").unlink()
    assert memory.available_memory() == 3_000_000


@pytest.mark.parametrize("learner", ["auto", "lbfgs", "cg", "sgd", "mira", "perceptron", "eg", "bcfw"])
def test_a_large_feature_number_is_refused_in_one_sentence(learner: str, tmp_path: Path) -> None:
    path = tmp_path / "large.svm"
    path.write_text("1 1:1\n2 2147483646:1\n1 1:0.5\n")
    data = read_svmlight(path)
    with pytest.raises(MargraveError, match=r"a model with 4294967292 weights would take 96 GiB of memory, and .*"):
        LinearClassifier(learner=learner).fit(data[0], data[1])


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"learner": "lbfgs"}, r"learner 'lbfgs' with \d+ weights and memory=20 would take"),
        ({"learner": "cg"}, r"learner 'cg' with \d+ weights would take"),
        ({"learner": "svrg"}, r"learner 'svrg' with \d+ weights would take"),
        ({"learner": "eg"}, r"the distributions over the 1000000 parts of 1000 examples would take"),
        ({"learner": "bcfw"}, r"the distributions over the 1000000 parts of 1000 examples would take"),
        ({"loss": "hinge"}, r"the distributions over the 1000000 parts of 1000 examples would take"),
        ({"loss": "hinge", "learner": "lp"}, r"learner 'lp' with \d+ weights would take"),
    ],
    ids=str,
)
def test_what_a_learner_will_take_is_refused_if_there_is_less(
    settings: dict[str, Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = [[f"w{i}", "all"] for i in range(1000)], [f"c{i}" for i in range(1000)]
    model = LinearClassifier(
        weights="all" if settings.get("learner") in ("lbfgs", "cg", "svrg", "lp") else "observed", **settings
    )
    little(30_000_000 if model.weights == "all" else 2_000_000, monkeypatch)
    with pytest.raises(MargraveError, match=what):
        model.fit(X, y)


def test_the_kernels_of_landmarks_are_refused_if_there_is_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    little(1_000_000, monkeypatch)
    X = np.random.default_rng(0).normal(size=(400, 3))
    with pytest.raises(MargraveError, match=r"the kernels of 400 inputs with 400 landmarks would take"):
        LinearClassifier(kernel=Kernel("rbf", nystroem=400)).fit(X, [i % 2 for i in range(400)])


@pytest.mark.skipif(SANITIZED, reason=OWN_MEMORY)
@pytest.mark.parametrize("cost", ["ZeroOne()", "Hamming()", "Tree(taxonomy)"])
def test_costs_that_are_functions_never_become_matrices(cost: str) -> None:
    """A matrix of all pairs of these classes would take 80 GB."""
    program = (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "from margrave.data import Taxonomy\nfrom margrave.losses.costs import Hamming, Tree, ZeroOne\n"
        f"classes = [f'a{{i % 100}}.b{{i}}' for i in range({CLASSES})]\n"
        "taxonomy = Taxonomy.from_names(classes, '.')\n"
        f"{cost}.label_cost(classes)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


MEASURED = """
import sys
import numpy as np
from margrave import _core
from margrave.examples import Examples
from margrave.learners import EG, Objective
from margrave.losses import Log
from margrave.structures import Chain, Labels

labels, tokens, single = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "compact"
rng = np.random.default_rng(0)
lengths = np.full(tokens // 20, 20)
classes = [str(k) for k in range(labels)]
Y = [rng.choice(classes, n).tolist() for n in lengths]
bound = Chain().bind(Labels(np.array(classes)), Examples.of_sizes(lengths, Y), Log().costs)
begin = np.concatenate([[0], np.cumsum(lengths)])
rows = _core.Tokens(begin, np.arange(tokens + 1), rng.integers(0, 50, tokens).astype(np.int32), None)
grams = np.arange(bound.gram_parts)
table = _core.table(
    rows, _core.Pairs(50, labels), grams, len(grams), 1, True, 1.0, False, False, None, None
)
problem, learner = _core.join(bound, table), EG(single=single)
print(learner.required_bytes(Log(), problem))

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

objective = Objective(problem, Log(), n_jobs=1)
before = resident()
state = learner.begin(objective)
learner.one_pass(state)
print(resident() - before)
"""


@pytest.mark.skipif(SANITIZED, reason=OWN_MEMORY)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not show the memory of a process")
@pytest.mark.parametrize(("labels", "tokens"), [(12, 200_000), (45, 40_000), (90, 16_000)])
def test_online_eg_takes_as_much_memory_as_it_says_and_less_if_compact(labels: int, tokens: int) -> None:
    said = {}
    for numbers in ("double", "compact"):
        command = [sys.executable, "-c", MEASURED, str(labels), str(tokens), numbers]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        said[numbers], taken = map(int, output.split())
        assert said[numbers] > 1e7
        # Room for heavy parts is not written before it is needed. The rest is scratch of the pass, and small arrays.
        assert 0.8 * said[numbers] - 1e6 < taken < said[numbers] + 8e6
    assert said["compact"] < {12: 0.56, 45: 0.3, 90: 0.27}[labels] * said["double"]
