"""The tools that a machine with a GPU needs run to their end here, on the emulation."""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import treadle.cuda

TOOLS = Path(__file__).parents[1] / "tools"
pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="the tools are in the repository only")


def test_the_check_runs_to_its_end(tmp_path: Path) -> None:
    command = [sys.executable, str(TOOLS / "gpu_check.py"), "--device", "cuda_emulated", "--quick", "--installed"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "gpu_check.json").read_text())
    verdicts = {name: stage["verdict"] for name, stage in result["stages"].items()}
    assert verdicts == {"build": "ok", "tests": "ok", "sanitizer": "left out", "timings": "ok"}
    assert "mean nothing" in result["note"]
    timings = result["stages"]["timings"]
    kernels = Path(treadle.cuda.__file__).parent.joinpath("kernels").glob("*.cu")
    launching = {path.stem for path in kernels if re.search(r"TD_LAUNCH|\btd::map<", path.read_text())}
    assert launching <= {row["family"] for row in timings["rows"]} and timings["left_out"] == []
    assert "mean nothing" in done.stdout and "MISSED" not in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith(("training", "random", "left out"))


def test_the_packages_are_built_side_by_side(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two of one namespace, as the real ones are; neither takes the other's folder away."""
    pytest.importorskip("setuptools")
    tool = load("gpu_check")
    for name in ("first", "second"):
        package = tmp_path / "packages" / name
        (package / "shared" / name).mkdir(parents=True)
        (package / "shared" / name / "__init__.py").write_text(f"name = {name!r}")
        (package / "pyproject.toml").write_text(
            '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
            f'[project]\nname = "{name}"\nversion = "1"\n'
            '[tool.setuptools.packages.find]\ninclude = ["shared*"]\n'
        )
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PACKAGES", ("first", "second"))
    check = tool.Check(argparse.Namespace(device="cuda_emulated", quick=True, installed=False, out=tmp_path / "out"))
    found = check.build()
    assert found["verdict"] == "ok" and found["failed"] == []
    code = "import shared.first, shared.second; print(shared.first.name, shared.second.name)"
    assert check.run("tests", sys.executable, "-c", code)[1].endswith("first second\n")


def test_without_a_gpu_the_check_says_so(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check = load("gpu_check")
    monkeypatch.setattr(check, "output", lambda command: None)
    monkeypatch.setattr("sys.argv", ["gpu_check.py", "--out", str(tmp_path)])
    assert check.main() == 2


def test_a_stage_that_runs_out_of_time_fails_alone(load: Callable[[str], ModuleType], tmp_path: Path) -> None:
    tool = load("gpu_check")
    options = argparse.Namespace(device="cuda_emulated", quick=True, installed=True, out=tmp_path)
    check = tool.Check(options)
    status, _ = check.run("tests", sys.executable, "-c", "import time; time.sleep(60)", limit=0.2)
    assert status == 124
    assert check.run("tests", "/nonexistent/tool")[0] == 127
    assert check.run("tests", sys.executable, "-c", "print(6 * 7)")[1].endswith("42\n")


PRINTED = """\
ptxas info    : Compiling entry function '_ZN2td46_GLOBAL__N__c_9_matmul_cu_2413matmul_kernelIfEEvNS_1AE' for 'sm_90a'
ptxas info    : Function properties for _ZN2td46
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 124 registers, used 1 barriers, 17408 bytes smem, 1152 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN2td10map_kernelIiEEvi' for 'sm_75'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 44 registers, used 0 barriers, 1152 bytes cmem[0]
"""


def test_registers_are_read_and_spills_refused(
    load: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    registers = load("registers")
    (tmp_path / "kernels_matmul.log").write_text(PRINTED)
    monkeypatch.setattr(registers, "LOGS", tmp_path)
    monkeypatch.setattr("sys.argv", ["registers.py"])
    assert registers.main() == 1
    printed = capsys.readouterr().out
    assert "matmul_kernel" in printed and "map_kernel" in printed and "spills 12 bytes on sm_90a" in printed
    unspilt = re.sub(" [48] bytes spill", " 0 bytes spill", PRINTED)
    (tmp_path / "kernels_matmul.log").write_text(unspilt)
    assert registers.main() == 0
    (tmp_path / "kernels_matmul.log").unlink()
    assert registers.main() == 1, "no logs are no proof"
