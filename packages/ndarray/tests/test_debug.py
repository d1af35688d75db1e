"""Debug builds: a run that leaves its view ends the process with a message; other builds do not look."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle.ndarray as nd

PROGRAM = r"""
#include "bounds.h"
int main(int count, char **arguments)
{
    double values[12];
    td_view view = {(char *)values, TD_f64, 2, {3, 4}, {32, 8}};
    const char *low, *high;
    (void)arguments;
    td_span(&view, &low, &high);
    if (high - low != 96 || low != (char *)values)
        return 3;
    view.data += 64 + 24;
    view.strides[0] = -32, view.strides[1] = -8;
    td_span(&view, &low, &high);
    if (high - low != 96 || low != (char *)values)
        return 4;
    td_check_run(low, high, 8, (char *)values, 8, 12, 0);
    td_check_run(low, high, 8, (char *)(values + 11), -8, 12, 0);
    td_check_run(low, high, 8, (char *)(values + 20), 8, 0, 0);
    if (count > 1)
        td_check_run(low, high, 8, (char *)(values + 1), 8, 12, 1);
    return TD_CHECKS;
}
"""


@pytest.fixture
def checker(tmp_path: Path) -> str:
    import shutil

    compiler = (os.environ.get("CC") or "cc").split()[-1]
    kernels = Path(nd.get_include()).parent / "kernels"
    if shutil.which(compiler) is None or not kernels.is_dir():
        pytest.skip("needs a C compiler and the sources of the kernels")
    (tmp_path / "check.c").write_text(PROGRAM)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DTREADLE_DEBUG=1", "-I", str(kernels)]
    command = [compiler, *flags, "-I", nd.get_include(), str(tmp_path / "check.c"), "-o", str(tmp_path / "check")]
    plain = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CFLAGS")}
    subprocess.run(command, check=True, env=plain)
    return str(tmp_path / "check")


def test_runs_are_judged_by_the_bytes_of_the_view(checker: str) -> None:
    assert subprocess.run([checker], check=False).returncode == 1


def test_a_run_that_leaves_its_view_ends_the_process(checker: str) -> None:
    done = subprocess.run([checker, "too far"], capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert "internal error" in done.stderr and "operand 1 leaves its view of 96 bytes" in done.stderr


def test_zero_means_off() -> None:
    """TREADLE_DEBUG=0 is how a build is told not to check."""
    setup = Path(__file__).parents[1] / "setup.py"
    line = next(line for line in setup.read_text().splitlines() if line.startswith("DEBUG = "))
    for value, expected in (("1", True), ("0", False), ("", False)):
        names: dict[str, object] = {"os": type("os", (), {"environ": {"TREADLE_DEBUG": value}})}
        exec(line, names)
        assert names["DEBUG"] is expected, value
    assert sys.version_info >= (3, 11)
