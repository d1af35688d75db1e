"""Prints the largest error that test_accuracy.py found of each function."""

import pytest

LARGEST: pytest.StashKey[dict[tuple[str, str], tuple[float, str]]] = pytest.StashKey()


@pytest.fixture
def largest_errors(pytestconfig: pytest.Config) -> dict[tuple[str, str], tuple[float, str]]:
    """By function and dtype: the largest error in units in the last place, and where."""
    return pytestconfig.stash.setdefault(LARGEST, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    errors = config.stash.get(LARGEST, {})
    if not errors:
        return
    terminalreporter.section("largest error of elementwise functions, in units in the last place")
    for name in sorted({name for name, _ in errors}):
        found = [(dtype, *errors[name, dtype]) for dtype in ("float32", "float64") if (name, dtype) in errors]
        cells = (f"{dtype} {error:6.3f} at {where:<32}" for dtype, error, where in found)
        terminalreporter.write_line(f"{name:10} {'   '.join(cells)}")
