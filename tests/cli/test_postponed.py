"""Imports that the command line postpones."""

import subprocess
import sys
from pathlib import Path

import pytest

DATA = "a B\nb B\n\nc I\na B\n\n"


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_training_a_tagger_does_not_need_the_statistics_of_scipy(tmp_path: Path) -> None:
    data = tmp_path / "data.conll"
    data.write_text(DATA)
    code = (
        "import sys; from margrave.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'sklearn.base' in sys.modules\n"
        "print([name for name in sys.modules if name.startswith('scipy.stats.')])\n"
    )
    written = run(code, "train", str(data), "-o", str(tmp_path / "tags.model"), "--json")
    assert written.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "use",
    [
        "import scipy.stats; print(scipy.stats.norm.cdf(0.0))",
        "import scipy; print(scipy.stats.norm.cdf(0.0))",
        "from scipy.stats import norm; print(norm.cdf(0.0))",
        "from scipy import stats; print(stats.norm.cdf(0.0))",
        "import scipy.stats.distributions as d; print(d.norm.cdf(0.0))",
        "import sklearn.utils.fixes as f; f._mode([1, 1, 2]); import scipy.stats; print(scipy.stats.norm.cdf(0.0))",
    ],
)
def test_what_is_postponed_is_there_when_it_is_used(use: str) -> None:
    code = f"from margrave.cli.postponed import postpone_imports\npostpone_imports()\nimport sklearn.base\n{use}"
    assert float(run(code)) == 0.5


def test_what_is_imported_already_stays() -> None:
    code = (
        "import sys, scipy.stats; from margrave.cli.postponed import postpone_imports\n"
        "before = sys.modules['scipy.stats']; postpone_imports(); print(sys.modules['scipy.stats'] is before)"
    )
    assert run(code).strip() == "True"
