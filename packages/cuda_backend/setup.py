"""The extension modules; everything else about the package is in pyproject.toml.

Environment: TREADLE_CUDA_EMULATION_ONLY=1 builds without nvcc, TREADLE_CUDA_ARCHS=75,80,90a names the GPUs to compile
for, TREADLE_STRICT_BUILD=1 takes warnings for errors, MAX_JOBS limits the compilers that run at once, CXX and
CXXFLAGS are those of the host compiler.
"""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent / "build_backend"))  # for runs without the build frontend

from treadle_cuda_build.compile import BuildKernels, extensions

setup(
    ext_modules=cythonize(extensions(), include_path=["src"], compiler_directives={"language_level": 3}),
    cmdclass={"build_ext": BuildKernels},
)
