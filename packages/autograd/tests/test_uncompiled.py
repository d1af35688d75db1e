"""The compiled modules are Python: the same source passes the same tests uncompiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle.autograd as ag

HERE = Path(__file__).parent
SWITCH = "TREADLE_TEST_UNCOMPILED"

PROGRAM = """
import sys
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
import treadle.ndarray

class Sources(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("treadle.autograd."):
            for folder in path:
                source = Path(folder, name.rpartition(".")[2] + ".py")
                if source.exists():
                    return spec_from_file_location(name, source)
        return None

sys.meta_path.insert(0, Sources())
import treadle.autograd._engine, treadle.autograd._node, treadle.autograd._tensor, treadle.autograd._elementwise
for name in ("_engine", "_node", "_tensor", "_elementwise", "_arrays", "_frames", "_pool", "_tables"):
    assert sys.modules[f"treadle.autograd.{name}"].__file__.endswith(".py"), name
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def test_compiled_modules_are_the_ones_tested_here() -> None:
    if os.environ.get(SWITCH):
        pytest.skip("this is the uncompiled run")
    assert not str(sys.modules[ag.Tensor.__module__].__file__).endswith(".py")


def test_everything_passes_uncompiled() -> None:
    if os.environ.get(SWITCH):
        pytest.skip("this is the uncompiled run")
    files = [
        str(HERE / name)
        for name in (
            "test_tensor.py",
            "test_modules.py",
            "test_mode.py",
            "test_engine.py",
            "test_sums_in_place.py",
            "test_saved_values.py",
            "test_copying.py",
            "test_own_ops.py",
            "test_singular.py",
            "test_ops.py",
        )
    ]
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-k", "not (network or against_torch)", *files]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, SWITCH: "1", "HYPOTHESIS_PROFILE": "quick"},
        cwd=HERE,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
