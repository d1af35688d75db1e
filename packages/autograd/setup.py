"""Compiles the node, the op call and the engine; everything else is plain Python. The rest stands in pyproject.toml."""

import os
import shlex
import shutil
import sys
import sysconfig

from Cython.Build import cythonize
from setuptools import Extension, setup

COMPILED = (
    "_frames.pyx", "_arrays.pyx", "_tables.pyx", "_pool.pyx", "_recording.pyx", "_node.py", "_methods.py", "_tensor.py",
    "_elementwise.py", "_affine.py", "_engine.py",
)  # fmt: skip


def require_compiler() -> None:
    """Stop with a readable message where there is no C compiler."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(command[0]) is None:
        sys.exit(
            f"treadle-autograd: no C compiler: {command[0]!r} is not found. Install one (Debian, Ubuntu: "
            "apt-get install gcc python3-dev; Fedora: dnf install gcc python3-devel) or name it in the variable CC."
        )


def extensions() -> list[Extension]:
    modules = [
        Extension(
            f"treadle.autograd.{source.partition('.')[0]}",
            [f"src/treadle/autograd/{source}"],
            depends=["src/treadle/autograd/recycling.h"],
            extra_compile_args=["-O3"],
        )
        for source in COMPILED
    ]
    directives = {"language_level": "3", "auto_pickle": False, "annotation_typing": False}
    return cythonize(modules, include_path=["src"], compiler_directives=directives)


if {"build_ext", "bdist_wheel", "editable_wheel", "build", "develop", "install"} & set(sys.argv):
    require_compiler()
setup(ext_modules=extensions())
