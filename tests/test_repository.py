"""Rules of the repository: layers, namespace, versions, file sizes, changelog."""

import ast
import importlib.util
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "ndarray": {"ndarray"},
    "autograd": {"autograd", "ndarray"},
    "nn": {"nn", "optim", "data", "autograd", "ndarray"},
    "cuda_backend": {"cuda", "ndarray"},
}
"""The parts of the namespace that each package may import: nn -> autograd -> ndarray <- cuda."""

PACKAGES = sorted(MAY_IMPORT)
SOURCES = (".py", ".pyi", ".pyx", ".pxd", ".pxi", ".h", ".c", ".cpp", ".cu", ".cuh")
LONGEST = 450
"""Past about 400 lines a file has two jobs."""

each_package = pytest.mark.parametrize("package", PACKAGES)


def sources(*folders: str, suffixes: tuple[str, ...]) -> list[Path]:
    """Files with these suffixes, without what builds write."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    hidden = ("build", "dist", "__pycache__", ".nox", ".venv")
    kept = (path for path in found if not any(part in hidden or part.endswith(".egg-info") for part in path.parts))
    return sorted(path for path in kept if not _from_cython(path))


def _from_cython(path: Path) -> bool:
    return path.suffix in (".c", ".cpp") and any(path.with_suffix(each).exists() for each in (".pyx", ".py"))


def project(package: str) -> dict[str, Any]:
    """A package's pyproject."""
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())


def imported(source: Path) -> set[str]:
    """The parts of treadle that a source names in its imports: 'ndarray', 'autograd', ..."""
    if source.suffix in (".pyx", ".pxd", ".pxi"):
        lines = (line.split() for line in source.read_text().splitlines())
        names = {words[1] for words in lines if len(words) > 1 and words[0] in ("from", "import", "cimport")}
    else:
        tree = list(ast.walk(ast.parse(source.read_text())))
        names = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
        froms = [node for node in tree if isinstance(node, ast.ImportFrom)]
        names |= {node.module for node in froms if node.module}
        names |= {f"treadle.{alias.name}" for node in froms if node.module == "treadle" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("treadle.")}


@each_package
def test_imports_go_down_only(package: str) -> None:
    files = sources(f"packages/{package}/src", suffixes=(".py", ".pyi", ".pyx", ".pxd", ".pxi"))
    assert files
    for source in files:
        strangers = imported(source) - MAY_IMPORT[package]
        assert not strangers, f"{source.relative_to(ROOT)} imports treadle.{strangers.pop()}"


@each_package
def test_treadle_is_a_namespace(package: str) -> None:
    """One stray __init__.py makes the siblings unimportable."""
    assert not (ROOT / "packages" / package / "src" / "treadle" / "__init__.py").exists()


@each_package
def test_versions_and_sibling_pins_agree(package: str) -> None:
    versions = tomllib.loads((ROOT / "versions.toml").read_text())["packages"]
    described = project(package)
    name = described["project"]["name"]
    assert described["project"]["version"] == versions[name]
    requirements = [*described["project"].get("dependencies", []), *described["build-system"]["requires"]]
    for extra in described["project"].get("optional-dependencies", {}).values():
        requirements += extra
    for requirement in requirements:
        if requirement.startswith("treadle"):
            sibling, _, version = requirement.partition("==")
            assert version == versions[sibling], f"{name} requires {requirement}, wanted =={versions[sibling]}"


@each_package
def test_the_version_at_run_time_is_that_of_the_package(package: str) -> None:
    version = tomllib.loads((ROOT / "versions.toml").read_text())["packages"][project(package)["project"]["name"]]
    folders = sorted((ROOT / "packages" / package / "src" / "treadle").glob("*/__init__.py"))
    found = [re.findall(r'^__version__ = "(.*)"$', path.read_text(), re.MULTILINE) for path in folders]
    assert [version] in found, f"no package in {package} has a __version__"
    assert all(versions in ([], [version]) for versions in found)


@each_package
def test_packages_are_described_alike(package: str) -> None:
    described = project(package)["project"]
    assert described["license"].split()[0] == "MIT"  # packages that carry data name its licences after it
    assert described["requires-python"] == ">=3.11"
    assert (ROOT / "packages" / package / "README.md").exists()
    assert (ROOT / "packages" / package / "tests").is_dir()


@each_package
def test_packages_are_typed(package: str) -> None:
    folders = {path.parent for path in (ROOT / "packages" / package / "src" / "treadle").glob("*/__init__.py")}
    assert folders
    for folder in folders:
        assert (folder / "py.typed").exists(), f"{folder.relative_to(ROOT)} has no py.typed"


def test_files_are_short() -> None:
    folders = ("packages", "tests", "benchmarks", "examples")
    for source in sources(*folders, suffixes=SOURCES):
        lines = len(source.read_text().splitlines())
        assert lines <= LONGEST, f"{source.relative_to(ROOT)} has {lines} lines"


def test_the_changelog_has_every_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    for version in set(tomllib.loads((ROOT / "versions.toml").read_text())["packages"].values()):
        assert f"## {version}" in changes


def test_every_session_is_described_in_the_contributors_guide() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert functions
    for function in functions:
        assert f"`{function.name}`" in guide, f"CONTRIBUTING.md says nothing of the session {function.name}"


def test_pytorch_is_here_where_it_is_asked_for() -> None:
    """Tests that compare with PyTorch skip themselves without it; that must not go unnoticed."""
    if os.environ.get("TREADLE_TEST_TORCH", "0") == "0":
        pytest.skip("TREADLE_TEST_TORCH does not ask for it")
    assert importlib.util.find_spec("torch") is not None
