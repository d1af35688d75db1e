"""The extension modules; everything else about the package is in pyproject.toml.

Environment: TREADLE_DEBUG=1 builds with bounds checks and hardly optimised; CFLAGS and LDFLAGS are added as usual.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/treadle/ndarray")
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")  # the flags then say how to optimise
DEBUG = os.environ.get("TREADLE_DEBUG", "0") not in ("", "0")
CHECKED = ["-Og", "-g", "-UNDEBUG", "-DTREADLE_DEBUG=1"]
OPTIMIZATION = CHECKED if DEBUG else [] if SANITIZED else ["-O3", "-g0"]
C_SOURCES = {
    "_memory": ["allocator", "heap"],
    "_threads": ["threadpool"],
    "_elementwise": ["slots", "slots_baseline", "slots_avx2", "slots_avx512", "tiles"],
    "_panels": ["isa", "matmul_select", "matmul_baseline", "matmul_avx2", "matmul_avx512", "matmul_workspace"],
    "_runtime": ["isa"],
    "_layers": ["layers", "layers_baseline", "layers_avx2", "layers_avx512"],
    "_sorting": ["sort", "sort_baseline", "sort_avx2", "sort_avx512"],
}  # fmt: skip
# A function has the same bits in every loop: only td_fma fuses. Threaded jumps would copy the code behind a choice for
# each of its outcomes, and vector code would then compute all the copies.
SCALAR_MATH = ["-ffp-contract=off", "-fno-thread-jumps"]
MODULES = (
    "_types", "_memory", "_layout", "_threads", "_shapes", "_strided", "_elementwise", "_reduce", "_lines", "_panels",
    "_matmul", "_indexing", "_random", "_convolution", "_operands", "_dispatch", "_families", "_selection", "_fused",
    "_updates", "_edge", "_operators", "_array", "_runtime", "_dlpack", "_windows", "_sorting", "_fresh", "_parts",
    "_native", "_layers", "_attention", "_linear", "_recurrent",
)  # fmt: skip


class BuildExtensions(build_ext):
    """Says what is missing before a compiler's error does, and builds the modules side by side."""

    def build_extensions(self) -> None:
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
        if shutil.which(compiler) is None:
            raise SystemExit(
                f"treadle-ndarray needs a C compiler to build, and {compiler!r} was not found. Install one (Debian: "
                "apt-get install g++ python3-dev; Fedora: dnf install gcc-c++ python3-devel) or set CC."
            )
        self.parallel = os.cpu_count()
        super().build_extensions()


def extension(name: str) -> Extension:
    return Extension(
        f"treadle.ndarray.{name}",
        [
            str(PACKAGE / f"{name}.pyx"),
            *(str(PACKAGE / "kernels" / f"{source}.c") for source in C_SOURCES.get(name, ())),
        ],
        include_dirs=[str(PACKAGE), str(PACKAGE / "include")],
        depends=[str(each) for folder in ("kernels", "include/treadle") for each in (PACKAGE / folder).glob("*.h")],
        extra_compile_args=[
            "-std=gnu11",
            *OPTIMIZATION,
            "-fno-math-errno",
            "-fno-trapping-math",
            "-pthread",
            *(SCALAR_MATH if name in ("_elementwise", "_layers") else []),
        ],
        extra_link_args=["-pthread"],
    )


setup(
    ext_modules=cythonize(
        [extension(name) for name in MODULES],
        include_path=["src"],
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "wraparound": False,
            "initializedcheck": DEBUG,
            "cdivision": not DEBUG,
            "embedsignature": True,
            "allow_none_for_extension_args": False,  # None where an array is expected would be read as one
        },
    ),
    cmdclass={"build_ext": BuildExtensions},
)
