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
    assert toolkit.architectures(specific=True) == [
        "-gencode=arch=compute_75,code=sm_75",
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_90,code=compute_90",
    ]
    assert toolkit.architectures(specific=False) == [
        "-gencode=arch=compute_75,code=sm_75",
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=sm_90",
        "-gencode=arch=compute_90,code=compute_90",
    ]
    monkeypatch.setenv("TREADLE_CUDA_ARCHS", "90a")
    assert toolkit.architectures(specific=True) == ["-gencode=arch=compute_90a,code=sm_90a"]
    assert toolkit.architectures(specific=False) == ["-gencode=arch=compute_90,code=sm_90"]
    monkeypatch.setenv("TREADLE_CUDA_ARCHS", "hopper")
    with pytest.raises(SystemExit, match="hopper"):
        toolkit.architectures(specific=True)


def test_a_source_with_code_for_90a_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The host code of matmul_wgmma.cu must know whether its kernels are there."""
    specific, plain = tmp_path / "specific.cu", tmp_path / "plain.cu"
    specific.write_text("#ifdef __CUDA_ARCH_FEAT_SM90_ALL")
    plain.write_text("")
    monkeypatch.delenv("TREADLE_CUDA_ARCHS", raising=False)
    assert "-DTREADLE_CUDA_SM_90A" in compile.architecture_options(specific)
    assert "-DTREADLE_CUDA_SM_90A" not in compile.architecture_options(plain)
    monkeypatch.setenv("TREADLE_CUDA_ARCHS", "80,90")
    assert "-DTREADLE_CUDA_SM_90A" not in compile.architecture_options(specific)
    wgmma = SOURCES.parent / "src" / "treadle" / "cuda" / "kernels" / "matmul_wgmma.cu"
    assert compile.is_specific(wgmma) and "TREADLE_CUDA_SM_90A" in wgmma.read_text()


def test_warnings_are_errors_only_in_strict_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_STRICT_BUILD", raising=False)
    assert "-Werror" not in [*compile.host_warnings(), *compile.nvcc_options()]
    monkeypatch.setenv("TREADLE_STRICT_BUILD", "1")
    assert "-Werror" in compile.host_warnings() and "-Werror" in compile.nvcc_options()


def test_products_and_sums_are_fused_only_where_products_are_the_work() -> None:
    fused = {path.stem for path in compile.sources(SOURCES.parent / compile.KERNELS) if not compile.rounding(path)}
    assert {"matmul", "matmul_mma", "conv", "attention_gradient"} <= fused
    assert not {"unary", "binary", "reduce", "random", "optimizer", "copy"} & fused
    assert compile.rounding(Path("kernels/unary.cu")) == ["-fmad=false"]


def commands(tmp_path: Path, *names: str) -> list[list[str]]:
    """A command each that copies a source to its object, and notes that it ran and what it read."""
    script = tmp_path / "compiler"
    script.write_text(
        "#!/bin/sh\n# compiler -c SOURCE -o OBJECT -MMD -MF RULE\n"
        f'echo "$2" >> {tmp_path}/ran\ncp "$2" "$4"\necho "$4: $2 {tmp_path}/shared.h" > "$7"\n'
        'grep -q wrong "$2" && echo "it is wrong" && exit 1\nexit 0\n'
    )
    script.chmod(0o755)
    (tmp_path / "shared.h").write_text("shared")
    for name in names:
        (tmp_path / name).write_text(name)
    return [[str(script), "-c", str(tmp_path / name), "-o", str(tmp_path / "out" / f"{name}.o")] for name in names]


def test_only_what_has_changed_is_compiled_again(tmp_path: Path) -> None:
    both = commands(tmp_path, "a.cu", "b.cu")

    def ran() -> int:
        log = tmp_path / "ran"
        log.unlink(missing_ok=True)
        for command in both:
            compile.compile_object(command)
        return len(log.read_text().splitlines()) if log.exists() else 0

    assert [ran(), ran()] == [2, 0]
    (tmp_path / "b.cu").write_text("changed")
    assert [ran(), ran()] == [1, 0]
    (tmp_path / "shared.h").write_text("changed")
    assert [ran(), ran()] == [2, 0]
    both[0].insert(1, "-c")
    both[0].pop(2)
    both[1] = [both[1][0], "-c", both[1][2], "-o", str(tmp_path / "out" / "other.o")]
    assert [ran(), ran()] == [1, 0], "another command"


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    (command,) = commands(tmp_path, "a.cu")
    (tmp_path / "a.cu").write_text("wrong")
    with pytest.raises(SystemExit, match=r"(?s)it is wrong.*failed on .*a\.cu"):
        compile.compile_object(command)
    (tmp_path / "a.cu").write_text("right")
    assert compile.compile_object(command).read_text() == "right"
