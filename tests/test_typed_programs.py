"""The programs that mypy --strict checks in the ``types`` session also run."""

import runpy
from pathlib import Path

import pytest

PROGRAMS = sorted((Path(__file__).parent / "typed_programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_runs(program: Path) -> None:
    runpy.run_path(str(program))
