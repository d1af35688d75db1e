"""Everything that needs a GPU, in one command of less than eight minutes.

    python packages/cuda_backend/tools/gpu_check.py [--out FOLDER] [--wheels FOLDER] [--installed] [--quick]
                                                    [--device cuda_emulated]

Needs a GPU with its driver, nvcc (on PATH, CUDA_HOME, /usr/local/cuda or from wheels), g++, and of Python NumPy,
Cython, setuptools, pytest and hypothesis; PyTorch is the peer where it is there. In this order it

1. builds the packages for this GPU alone, into build/gpu_check (``--installed``: takes those that are installed;
   ``--wheels``: takes what was built elsewhere for the same Python, and builds the rest);
2. runs the tests of the kernels and the conformance tests on the device, each file in a process of its own, since a
   fault of a kernel ends all work of its process;
3. times each kernel family against PyTorch, the copy bandwidth and the matrix rate, all measured in the same run;
4. runs a short list under compute-sanitizer, memcheck and racecheck, where that is there.

It writes FOLDER/gpu_check.json after every stage, beside a log of each, and prints a table last. A stage that fails or
runs out of its time does not keep the others from running; the exit status tells. ``--device cuda_emulated`` runs the
same on the host, to try this script out: its times mean nothing.
"""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
TOTAL = 470
"""Seconds for all."""
WORK = ROOT / "build" / "gpu_check"
PACKAGES = {
    "ndarray": "treadle_ndarray",
    "cuda_backend": "treadle_cuda",
    "autograd": "treadle_autograd",
    "nn": "treadle_nn",
}
"""The folders and their wheels' names; the first is what the others are built with."""
SHARES = {"build": 260, "tests": 120, "timings": 100, "sanitizer": 60}
"""The most seconds that a stage may take, in the order of the stages."""
GRACE = 10.0
"""Seconds in which what is interrupted may tell what it has found."""
APART = ("build", "emulator", "emulator_wgmma", "failures", "gpu_check", "mutants", "schedules")
"""Tests of the kernels' package that are of the emulation or of tools."""


class Check:
    """The stages, with what they found so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device: str = options.device
        self.emulated = self.device != "cuda"
        self.quick: bool = options.quick
        self.installed: bool = options.installed
        self.out: Path = options.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.wheels: Path | None = options.wheels and options.wheels.resolve()
        self.begin = time.monotonic()
        self.environment = {**os.environ, "HYPOTHESIS_PROFILE": "quick", "TREADLE_NUM_THREADS": "4"}
        self.result: dict[str, Any] = {"device": self.device, "quick": self.quick, "machine": machine(), "stages": {}}
        if self.emulated:
            self.result["note"] = "emulated on the host: the times mean nothing"
            self.environment["TREADLE_CUDA_EMULATION_ONLY"] = "1"

    def seconds(self, stage: str) -> float:
        """How long a stage may take."""
        return max(1.0, min(SHARES[stage], TOTAL - (time.monotonic() - self.begin)))

    def run(self, stage: str, *command: str, limit: float | None = None) -> tuple[int, str]:
        """A command's exit status and output, which is added to the stage's log. 124: it ran out of time."""
        limit = self.seconds(stage) if limit is None else limit
        try:
            process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return 127, str(error)
        status, text = finished(process, limit)
        with (self.out / f"{stage}.log").open("a") as file:
            file.write(f"$ {' '.join(command)}\n{text}\n")
        return status, text

    def stage(self, name: str) -> None:
        """Run a stage and note what it found."""
        begin = time.monotonic()
        (self.out / f"{name}.log").unlink(missing_ok=True)
        print(f"{name} ...", flush=True)
        try:
            found = getattr(self, name)()
        except Exception as error:  # of this script: the other stages tell what they find all the same
            found = {"verdict": "failed", "text": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        found["seconds"] = round(time.monotonic() - begin, 1)
        self.result["stages"][name] = found
        (self.out / "gpu_check.json").write_text(json.dumps(self.result, indent=1))
        print(f"{name}: {found['verdict']} ({found['seconds']} s)", flush=True)

    # the stages ----------------------------------------------------------------------------------------------------
    def build(self) -> dict[str, Any]:
        if self.installed:
            return {"verdict": "ok", "text": "the installed packages are taken"}
        site = WORK / "site"
        shutil.rmtree(site, ignore_errors=True)
        self.environment["PYTHONPATH"] = str(site)
        self.environment.setdefault("TREADLE_CUDA_ARCHS", architecture())
        first, *others = PACKAGES
        failed = [self.build_package(first)]
        with ThreadPoolExecutor(len(others)) as pool:
            failed += pool.map(self.build_package, others)
        needed = [text for text in failed[:2] if text]
        return {
            "verdict": "failed" if needed else "ok",
            "failed": [text for text in failed if text],
            "archs": self.environment.get("TREADLE_CUDA_ARCHS"),
        }

    def build_package(self, package: str) -> str:
        """Puts a package into the site; gives what went wrong. Not by `pip install --target`, which takes the treadle
        folder away that the package before has filled."""
        wheels = list(self.wheels.glob(f"{PACKAGES[package]}-*.whl")) if self.wheels else []
        status, text = 0, ""
        if not wheels:
            folder = WORK / "wheels" / package
            shutil.rmtree(folder, ignore_errors=True)
            options = ["--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder)]
            command = (sys.executable, "-m", "pip", "wheel", "-q", *options, f"./packages/{package}")
            status, text = self.run("build", *command)
            wheels = list(folder.glob("*.whl"))
        for path in wheels:
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(WORK / "site")
        if status == 0 and wheels:
            return ""
        return f"{package}: {'out of time' if status == 124 else last_line(text)}"

    def tests(self) -> dict[str, Any]:
        own = sorted((PACKAGE / "tests").glob("test_*.py"))
        suites = [path for path in own if path.stem.removeprefix("test_") not in APART]
        suites += sorted((ROOT / "tests" / "conformance").glob("test_*.py"))
        if self.quick:
            suites = [PACKAGE / "tests" / "test_random.py", PACKAGE / "tests" / "test_sort.py"]
        elif not importable("mpmath"):
            suites = [path for path in suites if path.stem != "test_accuracy"]
        end = time.monotonic() + self.seconds("tests") - GRACE
        with ThreadPoolExecutor(max(1, min(6, (os.cpu_count() or 1) // 2))) as pool:
            results = list(pool.map(lambda path: self.test_file(path, end), suites))
        wrong = {path.stem: summary for path, summary, _ in results if not summary.startswith(("ok", "no tests"))}
        return {
            "verdict": "failed" if wrong else "ok",
            "summary": f"{len(suites) - len(wrong)} of {len(suites)} files passed",
            "files": {path.stem: summary for path, summary, _ in results},
            "failures": [f"{name}: {summary}" for name, summary in wrong.items()],
            "failed_tests": [test for _, _, tests in results for test in tests],
        }

    def test_file(self, path: Path, end: float) -> tuple[Path, str, list[str]]:
        """What came of a file's tests on the device, in words, and those that failed."""
        left = end - time.monotonic()
        if left < 1.0:
            return path, "left out: no time", []
        chosen = "cuda_emulated" if self.emulated else "not cuda_emulated and not cpu and not numpy"
        # Warnings are no errors here: versions of other packages are what the machine has.
        options = ["-q", "-p", "no:cacheprovider", "-W", "default", "-k", chosen, "--maxfail=25", str(path)]
        status, text = self.run("tests", sys.executable, "-m", "pytest", *options, limit=left)
        failures = re.findall(r"^(?:FAILED|ERROR) (.*)$", text, re.MULTILINE)
        words = {0: "ok", 5: "no tests", 124: "out of time"}.get(status, "failed")
        return path, f"{words}: {last_line(text)}", failures

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


def finished(process: "subprocess.Popen[str]", limit: float) -> tuple[int, str]:
    """The exit status and output of a process that has so many seconds; of one that was stopped, 124."""
    try:
        text, _ = process.communicate(timeout=limit)
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
    try:
        text, _ = process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
    return 124, text


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
        details = found.get("summary") or found.get("text") or ""
        lines.append(f"  {name:10} {found['verdict']:9} {found['seconds']:6.1f} s  {details}")
        failed = [*found.get("failures", []), *found.get("failed_tests", []), *found.get("failed", [])]
        lines += [f"             {text}" for text in failed[:20]]
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
    parser.add_argument("--out", type=Path, default=WORK / "found", help="where JSON and logs go: a few files")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels to take instead of building")
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
