"""The extension modules; everything else about the package is in pyproject.toml.

Environment: TREADLE_DEBUG=1 builds with bounds checks and without optimisation; CFLAGS and LDFLAGS are added as usual.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/treadle/ndarray")
DEBUG = bool(os.environ.get("TREADLE_DEBUG"))
C_SOURCES = {
    "_memory": ["allocator"],
    "_elementwise": ["slots", "slots_baseline", "slots_avx2", "slots_avx512"],
    "_matmul": [
        "isa", "matmul_select", "matmul_baseline", "matmul_avx2", "matmul_avx512", "matmul_workspace", "threadpool",
    ],
    "_runtime": ["isa"],
    "_sorting": ["sort"],
}  # fmt: skip
MODULES = (
    "_types", "_memory", "_layout", "_shapes", "_strided", "_elementwise", "_reduce", "_matmul", "_indexing", "_random",
    "_operands", "_dispatch", "_families", "_updates", "_operators", "_array", "_runtime", "_dlpack", "_windows",
    "_sorting", "_parts",
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
            *(["-O0"] if DEBUG else ["-O3", "-g0"]),
            "-fno-math-errno",
            "-fno-trapping-math",
            "-pthread",
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
        },
    ),
    cmdclass={"build_ext": BuildExtensions},
)
