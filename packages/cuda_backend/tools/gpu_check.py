"""Everything that needs a GPU, in one command of less than eight minutes.

    python packages/cuda_backend/tools/gpu_check.py [--out FOLDER] [--installed] [--quick] [--device cuda_emulated]

Needs a GPU with its driver, nvcc (on PATH, CUDA_HOME, /usr/local/cuda or from wheels), g++, and of Python NumPy,
Cython, setuptools, pytest and hypothesis; PyTorch is the peer where it is there. In this order it

1. builds the packages for this GPU alone, into FOLDER/site (``--installed``: takes those that are installed);
2. runs the tests of the kernels and the conformance tests on the device;
3. runs a short list under compute-sanitizer, memcheck and racecheck, where that is there;
4. times each kernel family against PyTorch, the copy bandwidth and the matrix rate, all measured in the same run.

It writes FOLDER/gpu_check.json after every stage and prints a table last. A stage that fails or runs out of its time
does not keep the others from running; the exit status tells. ``--device cuda_emulated`` runs the same on the host, to
try this script out: its times mean nothing.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
TOTAL = 470
"""Seconds for all."""
PACKAGES = ("ndarray", "cuda_backend", "autograd", "nn")
SHARES = {"build": 210, "tests": 130, "sanitizer": 60, "timings": 100}
"""The most seconds that a stage may take; what one leaves, none of the others needs."""


class Check:
    """The stages, with what they found so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device: str = options.device
        self.emulated = self.device != "cuda"
        self.quick: bool = options.quick
        self.installed: bool = options.installed
        self.out: Path = options.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.begin = time.monotonic()
        self.environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "TREADLE_NUM_THREADS": "4"}
        self.result: dict[str, Any] = {"device": self.device, "quick": self.quick, "machine": machine(), "stages": {}}
        if self.emulated:
            self.result["note"] = "emulated on the host: the times mean nothing"
            self.environment["TREADLE_CUDA_EMULATION_ONLY"] = "1"

    def seconds(self, stage: str) -> float:
        """How long a stage may take."""
        return max(1.0, min(SHARES[stage], TOTAL - (time.monotonic() - self.begin)))

    def run(self, stage: str, *command: str, limit: float | None = None, **variables: str) -> tuple[int, str]:
        """A command's exit status and output, which also goes to a file. 124: it ran out of time."""
        log = self.out / f"{stage}.log"
        environment = {**self.environment, **variables}
        try:
            with log.open("a") as file:
                file.write(f"$ {' '.join(command)}\n")
                file.flush()
                done = subprocess.run(
                    command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT,
                    timeout=limit or self.seconds(stage),
                )  # fmt: skip
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = 124
        except OSError as error:
            return 127, str(error)
        return status, log.read_text()

    def stage(self, name: str) -> None:
        """Run a stage and note what it found."""
        begin = time.monotonic()
        (self.out / f"{name}.log").unlink(missing_ok=True)
        print(f"{name} ...", flush=True)
        found = getattr(self, name)()
        found["seconds"] = round(time.monotonic() - begin, 1)
        self.result["stages"][name] = found
        (self.out / "gpu_check.json").write_text(json.dumps(self.result, indent=1))
        print(f"{name}: {found['verdict']} ({found['seconds']} s)", flush=True)

    # the stages ----------------------------------------------------------------------------------------------------
    def build(self) -> dict[str, Any]:
        if self.installed:
            return {"verdict": "ok", "text": "the installed packages are taken"}
        site = self.out / "site"
        shutil.rmtree(site, ignore_errors=True)
        self.environment["PYTHONPATH"] = str(site)
        self.environment.setdefault("TREADLE_CUDA_ARCHS", architecture())
        failed = []
        for package in PACKAGES:
            # Not `pip install --target`, which takes the treadle folder away that the package before has filled.
            wheels = self.out / "wheels" / package
            shutil.rmtree(wheels, ignore_errors=True)
            options = ["--no-deps", "--no-index", "--no-build-isolation", "-w", str(wheels)]
            command = (sys.executable, "-m", "pip", "wheel", "-q", *options, f"./packages/{package}")
            status, text = self.run("build", *command)
            for path in wheels.glob("*.whl"):
                zipfile.ZipFile(path).extractall(site)
            if status:
                failed.append(f"{package}: {last_line(text)}")
        needed = [text for text in failed if text.startswith(("ndarray", "cuda"))]
        return {
            "verdict": "failed" if needed else "ok",
            "failed": failed,
            "archs": self.environment.get("TREADLE_CUDA_ARCHS"),
        }

    def tests(self) -> dict[str, Any]:
        if self.quick:
            suites = [str(PACKAGE / "tests" / name) for name in ("test_optimizer.py", "test_random.py")]
            suites = [suite for suite in suites if Path(suite).exists()]
        else:
            missing = [] if importable("mpmath") else ["--ignore=tests/conformance/test_accuracy.py"]
            apart = ["test_build.py", "test_emulator.py", "test_emulator_wgmma.py", "test_failures.py"]
            apart += ["test_gpu_check.py", "test_mutants.py"]
            suites = [str(PACKAGE / "tests"), "tests/conformance", *missing]
            suites += [f"--ignore={PACKAGE / 'tests' / name}" for name in apart]
        chosen = "cuda_emulated" if self.emulated else "not cuda_emulated and not cpu and not numpy"
        options = ["-q", "-p", "no:cacheprovider", "-k", chosen, "--maxfail=50", *suites]
        status, text = self.run("tests", sys.executable, "-m", "pytest", *options)
        failures = re.findall(r"^(?:FAILED|ERROR) (.*)$", text, re.MULTILINE)
        summary = {124: "out of time"}.get(status, last_line(text))
        return {"verdict": "ok" if status == 0 else "failed", "summary": summary, "failures": failures}

    def sanitizer(self) -> dict[str, Any]:
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if self.emulated or not Path(tool).exists():
            why = "emulated: `nox -s sanitize` does it" if self.emulated else "compute-sanitizer is not there"
            return {"verdict": "left out", "text": why}
        program = [sys.executable, str(PACKAGE / "tools" / "gpu_families.py"), "--device", self.device]
        found: dict[str, Any] = {}
        for kind in ("memcheck", "racecheck"):
            options = ["--tool", kind, "--error-exitcode", "9"]
            status, text = self.run("sanitizer", tool, *options, *program, limit=self.seconds("sanitizer") / 2)
            found[kind] = "ok" if status == 0 else "out of time" if status == 124 else last_line(text)
        return {"verdict": "ok" if set(found.values()) == {"ok"} else "failed", **found}

    def timings(self) -> dict[str, Any]:
        target = self.out / "timings.json"
        target.unlink(missing_ok=True)
        seconds = self.seconds("timings")
        command = [sys.executable, str(PACKAGE / "tools" / "gpu_timings.py"), "--device", self.device]
        command += ["--seconds", str(seconds * 0.8), "--out", str(target), *(["--quick"] if self.quick else [])]
        status, text = self.run("timings", *command)
        found = json.loads(target.read_text()) if target.exists() else {"rows": [], "left_out": [last_line(text)]}
        return {"verdict": "ok" if status == 0 and found["rows"] else "failed", **found}


def machine() -> dict[str, Any]:
    """What was measured on."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"]
    return {"gpu": output(query), "python": platform.python_version(), "system": platform.machine()}


def output(command: list[str]) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def architecture() -> str:
    """This GPU's, for a build that does not take longer than it must; 90 becomes 90a, with the instructions of that."""
    found = output(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
    number = found.splitlines()[0].replace(".", "").strip() if found else "90"
    return {"90": "90a", "100": "100a"}.get(number, number)


def importable(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing was printed")[:300]


def number(value: float | None, form: str = "8.3f") -> str:
    width = int(form.split(".")[0])
    return f"{value:{form}}" if value is not None else f"{'-':>{width}}"


def table(result: dict[str, Any]) -> str:
    """The short table: stages, then a line for each row of the timings."""
    lines = [f"treadle-cuda on {result['machine']['gpu'] or 'no GPU'}, device {result['device']}"]
    lines += [f"NOTE: {result['note']}"] if "note" in result else []
    for name, found in result["stages"].items():
        details = {"tests": "summary", "sanitizer": "text", "build": "text"}.get(name, "")
        lines.append(f"  {name:10} {found['verdict']:9} {found['seconds']:6.1f} s  {found.get(details, '')}")
        lines += [f"             {text}" for text in (found.get("failures") or found.get("failed") or [])[:10]]
    timings = result["stages"].get("timings", {})
    if timings.get("rows"):
        lines.append(f"copy bandwidth {timings['copy_gigabytes_per_second']:.1f} GB/s, PyTorch {timings['torch']}")
        lines.append(
            f"{'family':11} {'what':20} {'ms':>9} {'torch ms':>9} {'x torch':>8} {'of copy':>8} {'TFLOP/s':>8}  goal"
        )
    for row in timings.get("rows", []):
        speeds = f"{number(row['milliseconds'], '9.3f')} {number(row['torch_milliseconds'], '9.3f')}"
        rates = f"{number(row['speed_of_torch'])} {number(row['of_copy_bandwidth'])} {number(row['teraflops'])}"
        verdict = {True: "reached", False: "MISSED", None: "not compared"}[row["reached"]]
        verdict = "" if "note" in result else f"{row['goal']} x {row['against']}: {verdict}"
        lines.append(f"{row['family']:11} {row['name']:20} {speeds} {rates}  {verdict}")
    return "\n".join([*lines, *(f"left out: {text}" for text in timings.get("left_out", []))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cuda_emulated"])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gpu_check")
    parser.add_argument("--installed", action="store_true", help="test the installed packages")
    parser.add_argument("--quick", action="store_true", help="few tests, tiny arrays")
    check = Check(parser.parse_args())
    if not check.emulated and check.result["machine"]["gpu"] is None:
        print("no GPU: nvidia-smi lists none. --device cuda_emulated tries this script out on the host.")
        return 2
    for stage in SHARES:
        check.stage(stage)
        if stage == "build" and check.result["stages"]["build"]["verdict"] == "failed":
            break
    print(table(check.result))
    return int(any(found["verdict"] == "failed" for found in check.result["stages"].values()))


if __name__ == "__main__":
    sys.exit(main())
