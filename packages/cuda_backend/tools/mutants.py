"""Whether the tests notice a barrier that is missing: each is taken out of each kernel, alone, and a test must fail.

    python tools/mutants.py [--jobs N] [-k TEXT] [--list]

The kernels are built for the host. A mutant is one .cu file compiled again with one ``__syncthreads`` or
``__syncwarp`` or one call that orders asynchronous copies and products left out, of its own or of a header it
includes, or with one warp intrinsic giving each lane its own value; the library is linked from it and the other
objects, and the tests of the kernel's family run until the first fails. A mutant that no test kills must stand in
``tests/redundant_barriers.toml`` with the proof that the barrier is redundant; one that stands there and is killed,
or is gone, is an error too. Verdicts are kept in ``build/mutants`` by a hash of all that decides them, so that a
second run only does what has changed.
"""

import argparse
import hashlib
import importlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]
SOURCES = PACKAGE / "src" / "treadle" / "cuda"
KERNELS = SOURCES / "kernels"
BUILD = PACKAGE / "build" / "mutants"
TESTS = PACKAGE / "tests"
REDUNDANT = TESTS / "redundant_barriers.toml"
SECONDS = 600
"""Of a processor, however busy the machine is: a mutant may hang; then it is killed."""

sys.path.insert(0, str(PACKAGE / "build_backend"))

treadle_cuda_build = importlib.import_module("treadle_cuda_build.compile")
HOST_OPTIONS, array_headers = treadle_cuda_build.HOST_OPTIONS, treadle_cuda_build.array_headers
require_compiler = treadle_cuda_build.require_compiler

BARRIER = re.compile(r"__(?:syncthreads|syncwarp)\w*\s*\([^()]*\)")
ORDER = re.compile(
    r"(?<!void )(?<!::)\b(?:(?:commit|publish)_copies|(?:begin|commit)_products|"
    r"wait_for_(?:copies|products)<[^<>;]*>)\(\)"
)
"""What orders asynchronous copies and products."""
EXCHANGE = re.compile(r"__(?:shfl_(?:up_|down_|xor_)?|ballot_|any_|all_)sync\s*\(")
FUNCTION = re.compile(r"(\w+)\((?:[^(){};]|\([^(){};]*\))*\)\s*(?:const\s*)?\n\s*\{")
INCLUDE = re.compile(r'#include "([\w.]+)"')


@dataclass(frozen=True)
class Mutant:
    """One change of one place of one file, as one .cu file sees it."""

    unit: str
    file: str
    function: str
    number: int
    begin: int
    end: int
    replacement: str

    @property
    def name(self) -> str:
        """Of the place: it stays when lines above it change."""
        return f"{self.unit}:{self.file}:{self.function}:{self.number}"


def without_comments(text: str) -> str:
    """The same text, with blanks for comments, so that places stay."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def included(unit: Path) -> list[Path]:
    """The file and all headers of kernels/ that it includes, directly or not."""
    found, rest = [unit], [unit]
    while rest:
        for name in INCLUDE.findall(rest.pop().read_text()):
            path = KERNELS / name
            if path.exists() and path not in found:
                found.append(path)
                rest.append(path)
    return found


def second_argument(text: str, begin: int) -> tuple[int, str]:
    """Where a call ends whose arguments begin at a place, and its second argument."""
    depth, commas, place = 0, [begin], begin
    while depth >= 0:
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if text[place] == "," and depth == 0:
            commas.append(place + 1)
        place += 1
    commas.append(place)
    return place, text[commas[1] : commas[2] - 1].strip()


def changes(file: Path) -> list[tuple[str, int, int, int, str]]:
    """Function, number within it, begin, end and replacement of every change to a file."""
    text = without_comments(file.read_text())
    functions = [(found.start(), found[1]) for found in FUNCTION.finditer(text)]
    places = [(found.start(), found.end(), "") for order in (BARRIER, ORDER) for found in order.finditer(text)]
    for found in EXCHANGE.finditer(text):
        end, value = second_argument(text, found.end())
        places.append((found.start(), end, f"({value})"))
    counts: dict[str, int] = {}
    result = []
    for begin, end, replacement in sorted(places):
        function = [name for start, name in functions if start < begin][-1]
        counts[function] = counts.get(function, 0) + 1
        result.append((function, counts[function], begin, end, replacement))
    return result


def used_by(unit: Path) -> set[str]:
    """The names that a .cu file uses, itself or by the functions of headers that it uses."""
    bodies: dict[str, set[str]] = {}
    for header in included(unit)[1:]:
        text = without_comments(header.read_text())
        for found in FUNCTION.finditer(text):
            body = text[found.end() : text.find("\n}", found.end())]
            bodies.setdefault(found[1], set()).update(re.findall(r"\w+", body))
    names = set(re.findall(r"\w+", without_comments(unit.read_text())))
    fresh = names
    while fresh:
        fresh = {name for each in fresh & bodies.keys() for name in bodies[each]} - names
        names |= fresh
    return names


def mutants() -> list[Mutant]:
    """All of them."""
    found = []
    for unit in sorted(KERNELS.glob("*.cu")):
        used = used_by(unit)
        for file in included(unit):
            for function, number, begin, end, replacement in changes(file):
                if file == unit or function in used:
                    found.append(Mutant(unit.name, file.name, function, number, begin, end, replacement))
    return found


def tests_of(unit: str) -> list[str]:
    """The files of tests that a kernel file's mutants must not survive, the likeliest first."""
    parts = Path(unit).stem.split("_")
    family = [TESTS / f"test_{'_'.join(parts[:count])}.py" for count in range(len(parts), 0, -1)]
    named = [path for path in sorted(TESTS.glob("test_*.py")) if Path(unit).stem in path.read_text()]
    apart: tuple[str, ...] = (
        "test_build.py",
        "test_emulator.py",
        "test_emulator_wgmma.py",
        "test_gpu_check.py",
        "test_mutants.py",
        "test_interchange.py",
    )
    apart += ("test_runtime.py", "test_failures.py", "test_streams.py")  # no family of kernels
    chosen = [TESTS / "test_schedules.py", *family, *named, TESTS / "test_reduce.py", TESTS / "test_fused.py"]
    return [str(path) for path in dict.fromkeys(chosen) if path.exists() and path.name not in apart]


def build() -> tuple[Path, list[Path]]:
    """The library of the unchanged kernels: the binding's object, and those that are linked with it."""
    environment = {**os.environ, "TREADLE_CUDA_EMULATION_ONLY": "1"}
    command = ["setup.py", "-q", "build_ext", "--build-lib", str(BUILD / "lib"), "--build-temp", str(BUILD / "temp")]
    subprocess.run([sys.executable, *command], cwd=PACKAGE, env=environment, check=True)
    objects = PACKAGE / "build" / "kernels" / "emulated"
    names = [f"kernels_{path.stem}.o" for path in KERNELS.glob("*.cu")]
    names += [f"emulation_{path.stem}.o" for path in (SOURCES / "emulation").glob("*.cpp")]
    return BUILD / "temp" / "src" / "treadle" / "cuda" / "_emulated.o", [objects / name for name in names]


def digest(mutant: Mutant | None) -> str:
    """Of all that decides a verdict."""
    paths = [*SOURCES.rglob("*.[ch]*"), *SOURCES.glob("*.p*"), *TESTS.glob("test_*.py"), Path(__file__)]
    if mutant is not None:
        other = {path.name for path in KERNELS.glob("*.cu")} - {mutant.unit}
        paths = [path for path in paths if path.name not in other]
    found = hashlib.sha256(repr(mutant).encode())
    for path in sorted(set(paths) | ({KERNELS / mutant.unit} if mutant else set(KERNELS.glob("*.cu")))):
        if path.suffix not in (".so", ".cpp") or path.parent.name == "emulation":
            found.update(path.read_bytes())
    return found.hexdigest()[:24]


def lay_out(folder: Path, mutant: Mutant | None) -> None:
    """The package as links, and the kernels with the change."""
    shutil.rmtree(folder, ignore_errors=True)
    package, kernels = folder / "treadle" / "cuda", folder / "kernels"
    package.mkdir(parents=True)
    kernels.mkdir()
    for path in SOURCES.glob("*.py"):
        (package / path.name).symlink_to(path)
    for path in KERNELS.iterdir():
        if mutant is not None and path.name == mutant.file:
            text = path.read_text()
            changed = text[: mutant.begin] + mutant.replacement + text[mutant.end :]
            (kernels / path.name).write_text(changed)
        else:
            shutil.copy(path, kernels / path.name)  # a link might be followed, to headers that are not changed


def link(folder: Path, mutant: Mutant | None, binding: Path, objects: list[Path]) -> None:
    """Compile the changed unit, and link the library with it."""
    compiler = shlex.split(require_compiler())
    chosen = list(objects)
    if mutant is not None:
        target = folder / "unit.o"
        places = ["-I", str(SOURCES / "emulation"), "-I", str(folder / "kernels"), "-I", array_headers()]
        options = [*HOST_OPTIONS, "-O1", "-g0", "-w", *places, "-x", "c++", "-c"]
        subprocess.run([*compiler, *options, str(folder / "kernels" / mutant.unit), "-o", str(target)], check=True)
        # first: of a template that several objects have, the linker takes the first
        chosen = [target, *(path for path in objects if path.stem != f"kernels_{Path(mutant.unit).stem}")]
    library = next((BUILD / "lib" / "treadle" / "cuda").glob("_emulated.*.so")).name
    target = folder / "treadle" / "cuda" / library
    subprocess.run([*compiler, "-shared", str(binding), *map(str, chosen), "-o", str(target)], check=True)


def survives(folder: Path, suites: list[str]) -> tuple[bool, str]:
    """Whether all tests pass, and what pytest said last."""
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    environment |= {"HYPOTHESIS_PROFILE": "quick", "TREADLE_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *suites]
    limited = ["/bin/sh", "-c", f'ulimit -S -t {SECONDS}; exec "$@"', "sh", *command]
    done = subprocess.run(limited, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return False, "took too long"
    if done.returncode not in (0, 1) and done.returncode > 0:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    lines.append("all passed" if done.returncode == 0 else f"it ended with {done.returncode}")
    return done.returncode == 0, lines[0]


def judge(mutant: Mutant, binding: Path, objects: list[Path]) -> tuple[Mutant, bool, str]:
    """The verdict on one mutant, from the last run where nothing has changed."""
    key = digest(mutant)
    verdict = BUILD / "verdicts" / key
    if not verdict.exists():
        folder = BUILD / "work" / key
        lay_out(folder, mutant)
        link(folder, mutant, binding, objects)
        alive, text = survives(folder, tests_of(mutant.unit))
        verdict.parent.mkdir(parents=True, exist_ok=True)
        verdict.write_text(f"{'survived' if alive else 'killed'}\n{text}")
        shutil.rmtree(folder)
    state, _, text = verdict.read_text().partition("\n")
    return mutant, state == "survived", text


def check_unchanged(binding: Path, objects: list[Path]) -> None:
    """The tests pass as things are, or a failure would prove nothing."""
    passed = BUILD / "verdicts" / f"unchanged-{digest(None)}"
    if passed.exists():
        return
    folder = BUILD / "work" / "unchanged"
    lay_out(folder, None)
    link(folder, None, binding, objects)
    suites = list(dict.fromkeys(suite for unit in KERNELS.glob("*.cu") for suite in tests_of(unit.name)))
    alive, text = survives(folder, suites)
    if not alive:
        raise SystemExit(f"the tests fail without any change: {text}")
    passed.parent.mkdir(parents=True, exist_ok=True)
    passed.touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-k", default="", help="only mutants whose name contains this")
    parser.add_argument("--list", action="store_true", help="name the mutants, and do nothing")
    options = parser.parse_args()
    chosen = [mutant for mutant in mutants() if options.k in mutant.name]
    if options.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    begin = time.monotonic()
    binding, objects = build()
    check_unchanged(binding, objects)
    proofs = tomllib.loads(REDUNDANT.read_text())
    gone = proofs.keys() - {mutant.name for mutant in mutants()}
    wrong = [f"{name} is listed as redundant, and there is no such barrier" for name in sorted(gone)]
    survivors = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, alive, text in pool.map(lambda each: judge(each, binding, objects), chosen):
            survivors += alive
            print(f"{'survived' if alive else 'killed  '} {mutant.name}  {text}", flush=True)
            if alive and mutant.name not in proofs:
                wrong.append(f"no test notices that {mutant.name} is gone, and no proof says that it is redundant")
            if not alive and mutant.name in proofs:
                wrong.append(f"{mutant.name} is listed as redundant, and a test needs it: {text}")
    print(f"{len(chosen)} mutants, {survivors} survived, {time.monotonic() - begin:.0f} s")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
