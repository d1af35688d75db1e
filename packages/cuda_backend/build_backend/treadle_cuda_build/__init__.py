"""The build backend of treadle-cuda: setuptools, plus nvcc from wheels where the machine has none.

setuptools' hooks serve unchanged, but for the build requirements: where no nvcc is found, the wheels that contain one
are added to them, and pip installs these into the isolated build environment only.
"""

from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from treadle_cuda_build.toolkit import NVCC_WHEELS, emulation_only, find_toolkit

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


def _with_nvcc(requires: list[str]) -> list[str]:
    return requires if emulation_only() or find_toolkit() is not None else [*requires, *NVCC_WHEELS]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return _with_nvcc(build_meta.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return _with_nvcc(build_meta.get_requires_for_build_editable(config_settings))
