"""The build backend: what it asks for, and what it says when something is missing."""

import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "build_backend"
sys.path.insert(0, str(SOURCES))
pytest.importorskip("setuptools")

import treadle_cuda_build  # noqa: E402
from treadle_cuda_build import compile, toolkit  # noqa: E402


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolkit, "_candidates", lambda: [tmp_path / "nvcc"])
    monkeypatch.delenv("TREADLE_CUDA_EMULATION_ONLY", raising=False)


def fake_nvcc(tmp_path: Path, release: str) -> Path:
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.1'\n")
    nvcc.chmod(0o755)
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libcudart_static.a").touch()
    return nvcc


@pytest.mark.usefixtures("no_nvcc")
def test_nvcc_is_asked_for_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for hook in (treadle_cuda_build.get_requires_for_build_wheel, treadle_cuda_build.get_requires_for_build_editable):
        assert set(toolkit.NVCC_WHEELS) <= set(hook())
    monkeypatch.setenv("TREADLE_CUDA_EMULATION_ONLY", "1")
    assert not set(toolkit.NVCC_WHEELS) & set(treadle_cuda_build.get_requires_for_build_wheel())
    monkeypatch.delenv("TREADLE_CUDA_EMULATION_ONLY")
    nvcc = fake_nvcc(tmp_path, "13.0")
    monkeypatch.setattr(toolkit, "_candidates", lambda: [nvcc])
    assert not set(toolkit.NVCC_WHEELS) & set(treadle_cuda_build.get_requires_for_build_wheel())


@pytest.mark.usefixtures("no_nvcc")
def test_a_missing_nvcc_is_explained() -> None:
    with pytest.raises(SystemExit, match=r"needs nvcc .*CUDA_HOME.*TREADLE_CUDA_EMULATION_ONLY=1"):
        toolkit.require_toolkit()


def test_an_old_nvcc_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nvcc = fake_nvcc(tmp_path, "11.4")
    monkeypatch.setattr(toolkit, "_candidates", lambda: [nvcc])
    with pytest.raises(SystemExit, match=r"needs nvcc 12\.0 or newer; .* is release 11\.4"):
        toolkit.require_toolkit()


def test_nvcc_from_wheels_is_found_on_the_import_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "overlay" / "nvidia" / "cu13"
    root.mkdir(parents=True)
    nvcc = fake_nvcc(root, "13.0")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "overlay")])
    assert nvcc in toolkit._candidates()


def test_a_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/g++")
    with pytest.raises(SystemExit, match=r"needs a C\+\+ compiler .*'/nonexistent/g\+\+' was not found"):
        toolkit.require_compiler()


def test_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_CUDA_ARCHS", raising=False)
    assert toolkit.architectures() == [
        "-gencode=arch=compute_75,code=sm_75",
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_90,code=compute_90",
    ]
    monkeypatch.setenv("TREADLE_CUDA_ARCHS", "90a")
    assert toolkit.architectures() == ["-gencode=arch=compute_90a,code=sm_90a"]
    monkeypatch.setenv("TREADLE_CUDA_ARCHS", "hopper")
    with pytest.raises(SystemExit, match="hopper"):
        toolkit.architectures()


def test_warnings_are_errors_only_in_strict_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_STRICT_BUILD", raising=False)
    assert "-Werror" not in [*compile.host_warnings(), *compile.nvcc_options()]
    monkeypatch.setenv("TREADLE_STRICT_BUILD", "1")
    assert "-Werror" in compile.host_warnings() and "-Werror" in compile.nvcc_options()
