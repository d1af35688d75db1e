"""The extension modules: how .cu files become objects, incrementally and side by side, and how these are linked."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension
from setuptools.command.build_ext import build_ext

from treadle_cuda_build.toolkit import architectures, emulation_only, require_compiler, require_toolkit, strict

__all__ = ["BuildKernels", "extensions"]

PACKAGE = Path("src/treadle/cuda")
KERNELS = PACKAGE / "kernels"
EMULATION = PACKAGE / "emulation"
OBJECTS = Path("build/kernels")  # they know nothing of Python: kept from build to build, whatever the frontend

# The bodies in the shared op lists are stamped out for unsigned types too, where x < 0 is never true.
HOST_WARNINGS = ["-Wall", "-Wextra", "-Wno-type-limits", "-Wno-unknown-pragmas"]
HOST_OPTIONS = ["-std=c++17", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
PRODUCTS = ("attention", "conv", "matmul")  # files whose kernels may fuse a product and a sum
NVCC_OPTIONS = ["-std=c++17", "-O3", "-diag-suppress", "186", "-Xptxas", "-v,--warn-on-spills"]


def array_headers() -> str:
    """The include directory of treadle.ndarray, with the scalar bodies of all ops."""
    from treadle.ndarray import get_include

    return str(get_include())


def host_warnings() -> list[str]:
    """Warnings, which a strict build takes for errors: a compiler that nobody has tried may know new ones."""
    return [*HOST_WARNINGS, "-Werror"] if strict() else HOST_WARNINGS


def nvcc_options() -> list[str]:
    """The same for nvcc, where spilled registers are warned of too."""
    return [*NVCC_OPTIONS, "-Werror", "all-warnings"] if strict() else NVCC_OPTIONS


def extensions() -> list[Extension]:
    """_emulated always; _cuda unless only the emulation is asked for."""
    names = ["_emulated"] if emulation_only() else ["_emulated", "_cuda"]
    return [
        Extension(
            f"treadle.cuda.{name}",
            [str(PACKAGE / f"{name}.pyx")],
            language="c++",
            include_dirs=[str(KERNELS), array_headers(), *([str(EMULATION)] if name == "_emulated" else [])],
            extra_compile_args=["-std=c++17", "-O2", "-g1"],
            depends=[str(path) for pattern in ("*.pxi", "*.pxd", "kernels/*api.h") for path in PACKAGE.glob(pattern)],
        )
        for name in names
    ]


class BuildKernels(build_ext):
    """Compiles the kernels of an extension before the extension itself, which is linked with them."""

    def build_extensions(self) -> None:
        require_compiler()
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        emulated = ext.name.endswith("_emulated")
        folder = OBJECTS / ("emulated" if emulated else "cuda")
        commands = self.emulation_commands(folder) if emulated else self.nvcc_commands(folder, ext)
        workers = int(os.environ.get("MAX_JOBS") or self.parallel or os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            ext.extra_objects = [str(path) for path in pool.map(compile_object, commands)]
        if any(newer(path, self.get_ext_fullpath(ext.name)) for path in ext.extra_objects):
            self.force = True  # setuptools compares the sources only
        super().build_extension(ext)

    def emulation_commands(self, folder: Path) -> list[list[str]]:
        flags = os.environ.get("CXXFLAGS", os.environ.get("CFLAGS", "")).split()
        command = [*require_compiler().split(), *HOST_OPTIONS, *host_warnings(), *flags]
        command += ["-I", str(EMULATION), "-I", str(KERNELS), "-I", array_headers(), "-x", "c++", "-c"]
        return [[*command, str(source), "-o", object_of(source, folder)] for source in sources(EMULATION, KERNELS)]

    def nvcc_commands(self, folder: Path, ext: Extension) -> list[list[str]]:
        toolkit = require_toolkit()
        ext.library_dirs = [str(toolkit.library)]
        ext.libraries = ["cudart_static", "rt", "pthread", "dl"]
        host = ",".join(["-fPIC", "-fvisibility=hidden", *host_warnings()])
        command = [str(toolkit.nvcc), *nvcc_options(), "-Xcompiler", host, "-I", array_headers()]
        return [
            [*command, *options_for(source), "-c", str(source), "-o", object_of(source, folder)]
            for source in sources(KERNELS)
        ]


def sources(*folders: Path) -> list[Path]:
    """The largest first, which keeps all workers busy to the end."""
    found = [path for folder in folders for pattern in ("*.cu", "*.cpp") for path in folder.glob(pattern)]
    return sorted(found, key=lambda path: -path.stat().st_size)


def is_specific(source: Path) -> bool:
    """Whether a source has code for one architecture alone, such as Hopper's 90a."""
    return "__CUDA_ARCH_FEAT_SM" in source.read_text()


def options_for(source: Path) -> list[str]:
    """What differs from source to source."""
    return [*rounding(source), *architecture_options(source)]


def rounding(source: Path) -> list[str]:
    """Products are rounded before they are added, as on the host, so that sums of products that cancel do so here too;
    only where products are the work are they fused."""
    return [] if source.stem.split("_")[0] in PRODUCTS else ["-fmad=false"]


def architecture_options(source: Path) -> list[str]:
    """What to compile a source for; the host code of a specific one is told whether it has kernels for 90a."""
    specific = is_specific(source)
    options = architectures(specific=specific)
    return [*options, "-DTREADLE_CUDA_SM_90A"] if specific and any("sm_90a" in each for each in options) else options


def object_of(source: Path, folder: Path) -> str:
    return str(folder / f"{source.parent.name}_{source.stem}.o")


def fingerprint(command: list[str], dependencies: Path) -> str:
    """Of the command and of every file that the compiler read, as it listed them in the form of a makefile's rule."""
    digest = hashlib.sha256("\0".join(command).encode())
    if not dependencies.exists():
        return ""
    for name in dependencies.read_text().partition(":")[2].replace("\\\n", " ").split():
        path = Path(name)
        digest.update(path.read_bytes() if path.exists() else b"gone")
    return digest.hexdigest()


def newer(path: str, other: str) -> bool:
    return not os.path.exists(other) or os.path.getmtime(path) > os.path.getmtime(other)


def compile_object(command: list[str]) -> Path:
    """Run a compiler unless its object is up to date. What it printed stays beside the object, as NAME.log."""
    target, source = Path(command[-1]), Path(command[-3])
    stamp, log, dependencies = (target.with_suffix(suffix) for suffix in (".stamp", ".log", ".d"))
    if target.exists() and stamp.exists() and stamp.read_text() == fingerprint(command, dependencies):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    options = ["-MMD", "-MF", str(dependencies)]
    done = subprocess.run([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log.write_text(done.stdout)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\nThe compiler failed on {source}.")
    stamp.write_text(fingerprint(command, dependencies))
    return target
