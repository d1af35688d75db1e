"""The tools that a machine with a GPU needs run to their end here, on the emulation."""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import treadle.cuda

TOOLS = Path(__file__).parents[1] / "tools"
pytestmark = pytest.mark.skipif(not TOOLS.exists(), reason="the tools are in the repository only")


def namespace(out: Path, *, installed: bool = True, wheels: Path | None = None) -> argparse.Namespace:
    return argparse.Namespace(device="cuda_emulated", quick=True, installed=installed, wheels=wheels, out=out)


def test_the_check_runs_to_its_end(tmp_path: Path) -> None:
    command = [sys.executable, str(TOOLS / "gpu_check.py"), "--device", "cuda_emulated", "--quick", "--installed"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "gpu_check.json").read_text())
    verdicts = {name: stage["verdict"] for name, stage in result["stages"].items()}
    assert verdicts == {"build": "ok", "tests": "ok", "timings": "ok", "sanitizer": "left out"}
    assert "mean nothing" in result["note"]
    timings = result["stages"]["timings"]
    kernels = Path(treadle.cuda.__file__).parent.joinpath("kernels").glob("*.cu")
    launching = {path.stem for path in kernels if re.search(r"TD_LAUNCH|\btd::map<", path.read_text())}
    assert launching <= {row["family"] for row in timings["rows"]} and timings["left_out"] == []
    assert "mean nothing" in done.stdout and "MISSED" not in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith(("training", "random", "left out"))


def test_pytorchs_side_of_the_timings_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    command = [sys.executable, str(TOOLS / "gpu_timings.py"), "--device", "cuda_emulated", "--quick", "--torch"]
    subprocess.run([*command, "--out", str(tmp_path / "timings.json")], check=True, capture_output=True, text=True)
    result = json.loads((tmp_path / "timings.json").read_text())
    assert result["left_out"] == []
    assert [row["name"] for row in result["rows"] if row["speed_of_torch"] is None] == ["lstm step"]


def test_a_stage_that_breaks_keeps_none_of_the_others_from_running(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = load("gpu_check")
    ok = {"verdict": "ok"}
    monkeypatch.setattr(tool.Check, "build", lambda self: dict(ok))
    monkeypatch.setattr(tool.Check, "tests", lambda self: 1 // 0)
    monkeypatch.setattr(tool.Check, "timings", lambda self: {**ok, "rows": []})
    monkeypatch.setattr(tool.Check, "sanitizer", lambda self: dict(ok))
    monkeypatch.setattr("sys.argv", ["gpu_check.py", "--device", "cuda_emulated", "--out", str(tmp_path)])
    assert tool.main() == 1
    stages = json.loads((tmp_path / "gpu_check.json").read_text())["stages"]
    assert [stage["verdict"] for stage in stages.values()] == ["ok", "failed", "ok", "ok"]
    assert "ZeroDivisionError" in stages["tests"]["text"]


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
    monkeypatch.setattr(tool, "WORK", tmp_path / "work")
    monkeypatch.setattr(tool, "PACKAGES", {"first": "first", "second": "second"})
    check = tool.Check(namespace(tmp_path / "out", installed=False))
    found = check.build()
    assert found["verdict"] == "ok" and found["failed"] == []
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["build.log"], "a few files only"
    code = "import shared.first, shared.second; print(shared.first.name, shared.second.name)"
    assert check.run("tests", sys.executable, "-c", code)[1].endswith("first second\n")
    wheels = tmp_path / "elsewhere"
    wheels.mkdir()
    for path in (tmp_path / "work" / "wheels").rglob("*.whl"):
        path.rename(wheels / path.name)
    shutil.rmtree(tmp_path / "packages")
    check = tool.Check(namespace(tmp_path / "out", installed=False, wheels=wheels))
    assert check.build()["verdict"] == "ok"
    assert check.run("tests", sys.executable, "-c", code)[1].endswith("first second\n")
    (wheels / next(path.name for path in wheels.iterdir() if path.name.startswith("second"))).unlink()
    broken = tool.Check(namespace(tmp_path / "out", installed=False, wheels=wheels)).build()
    assert broken["verdict"] == "failed" and broken["failed"][0].startswith("second: ")


def test_without_a_gpu_the_check_says_so(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check = load("gpu_check")
    monkeypatch.setattr(check, "output", lambda command: None)
    monkeypatch.setattr("sys.argv", ["gpu_check.py", "--out", str(tmp_path)])
    assert check.main() == 2


def test_a_stage_that_runs_out_of_time_fails_alone(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = load("gpu_check")
    check = tool.Check(namespace(tmp_path))
    waiting = "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    waiting += "try: time.sleep(60)\nexcept KeyboardInterrupt: print('interrupted')"
    status, text = check.run("tests", sys.executable, "-c", waiting, limit=2.0)
    assert status == 124 and text == "interrupted\n", "what it found is told"
    monkeypatch.setattr(tool, "GRACE", 0.1)
    deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)"
    assert check.run("tests", sys.executable, "-c", deaf, limit=2.0) == (124, "")
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
