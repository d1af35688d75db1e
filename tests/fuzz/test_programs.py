"""Random programs against NumPy, and the fuzzer itself: that it finds a fault and makes it small.

``TREADLE_FUZZ_PROGRAMS`` and ``TREADLE_FUZZ_SEED`` say how many programs on the cpu, and from which number on; the seed
is part of the test's name. ``nox -s fuzz`` runs many more.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from fuzz import support
from fuzz.draw import DTYPES
from fuzz.machine import Divergence, Machine, Refused, Statement, differs, source
from fuzz.programs import run
from strategies import DEVICES

PROGRAMS = int(os.environ.get("TREADLE_FUZZ_PROGRAMS", "300"))
SEED = int(os.environ.get("TREADLE_FUZZ_SEED", "20261130"))
COUNTS = {"cpu": PROGRAMS, "numpy": PROGRAMS // 5, "cuda_emulated": PROGRAMS // 15, "cuda": PROGRAMS // 5}


@pytest.mark.parametrize("seed", [SEED])
@pytest.mark.parametrize("device", DEVICES)
def test_programs(device: str, seed: int) -> None:
    for number in range(seed, seed + COUNTS[device]):
        failure = run(number, device)
        assert failure is None, str(failure)


def test_every_maker_takes_part() -> None:
    """A maker whose statements are always refused would test nothing."""
    ops: set[str] = set()
    record = Machine.run

    def noted(self: Machine, statement: Statement) -> None:
        record(self, statement)
        ops.add(statement.op)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Machine, "run", noted)
        for number in range(400):
            run(number, "cpu")
    names = {"slice", "view", "reshape", "broadcast_to", "diagonal", "windows", "assign", "assign shifted", "matmul"}
    names |= {"assign scalar", "assign mask", "assign indices", "put_along_axis", "in-place add", "where", "clip"}
    names |= {"sum", "mean", "prod", "max", "any", "argmax", "cumsum", "cumprod", "var", "softmax", "sort", "argsort"}
    names |= {"unique_values", "nonzero", "take", "gather", "select", "concat", "stack", "roll", "pad", "tril"}
    assert not names - ops
    assert len(ops) > 100


# --- the fuzzer finds faults ------------------------------------------------------------------------------------------
def _wrong_tail(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a vector loop that forgets its rest: the last element of rows of more than 16 is off by one."""

    def faulty(*arguments: Any, **keywords: Any) -> Any:
        out = function(*arguments, **keywords)
        if out.ndim and out.shape[-1] > 16 and out.dtype.kind in "iuf" and out.size:
            out[..., -1] = out[..., -1] + nd.asarray(1).astype(out.dtype)
        return out

    return faulty


def _copies(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **keywords: nd.copy(function(*arguments, **keywords))


def _raises(function: Callable[..., Any]) -> Callable[..., Any]:
    def faulty(x: Any, **keywords: Any) -> Any:
        if x.ndim > 2:
            raise nd.ShapeError("flip: made up")
        return function(x, **keywords)

    return faulty


@pytest.mark.parametrize(
    ("name", "fault", "kind", "most"),
    [
        ("add", _wrong_tail, "values", 4),
        ("cumsum", _wrong_tail, "values", 2),
        ("permute_dims", _copies, "memory", 2),
        ("flip", _raises, "ShapeError", 2),
    ],
)
def test_faults_are_found_and_made_small(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: Any, kind: str, most: int
) -> None:
    monkeypatch.setattr(nd, name, fault(getattr(nd, name)))
    failure = next(found for number in range(3000) if (found := run(number, "cpu")) is not None)
    assert failure.divergence.kind == kind
    assert len(failure.statements) <= most
    assert f"nd.{name}(" in str(failure)
    with pytest.raises(Divergence):
        machine = Machine("cpu")
        for statement in failure.statements:
            machine.run(statement)


def test_a_wrong_order_of_overlapping_copies_is_found() -> None:
    machine = Machine("cpu")
    machine.run(Statement("make", "v1", "v1 = nd.arange(6)", "v1 = np.arange(6)"))
    smeared = "for i in range(1, 6): v1[i] = v1[i - 1].copy()"
    with pytest.raises(Divergence, match="values"):
        machine.run(Statement("assign", "v1", smeared, "v1[1:] = v1[:-1]", ("v1",), makes=False))


def test_printed_programs_run(tmp_path: Path) -> None:
    machine = Machine("cpu")
    machine.run(Statement("make", "v1", "v1 = nd.asarray(pattern((3,), 'int8', 4))", "v1 = pattern((3,), 'int8', 4)"))
    machine.run(Statement("cast", "v2", "v2 = nd.astype(v1, nd.float32)", "v2 = support.convert(v1, 'float32')"))
    (tmp_path / "program.py").write_text(source(machine.statements, "cpu"))
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    ours, theirs = done.stdout.splitlines()
    assert ours.startswith("array([") and theirs.startswith("array([")


def test_what_numpy_refuses_is_no_statement() -> None:
    machine = Machine("cpu")
    with pytest.raises(Refused):
        machine.run(Statement("make", "v1", "v1 = nd.ones(3)", "v1 = np.ones(-3)"))
    assert not machine.ours and not machine.statements


# --- the judge --------------------------------------------------------------------------------------------------------
def test_differences() -> None:
    x = np.array([1.0, np.nan, 0.0])
    assert not differs(x, x.copy(), 0, 0.0)
    assert differs(x, np.array([1.0, np.nan, -0.0]), 0, 0.0)
    assert differs(np.array([1.0]), np.array([np.nan]), 4, 1.0)
    assert not differs(np.nextafter(x, 9), x, 1, 0.0)
    assert differs(np.array([1.0 + 1e-9]), np.array([1.0]), 2, 0.0)
    assert differs(np.array([1 + 1j]), np.array([1 + 2j]), 2, 0.5)
    assert differs(np.array([3]), np.array([4]), 9, 9.0)


def test_dtypes() -> None:
    assert {"bool", "int8", "uint64", "float32", "float64"} <= set(DTYPES)
    for dtype in DTYPES:
        assert support.pattern((3, 37), dtype, 5).dtype == dtype


def test_conversion_of_reals() -> None:
    """The oracle of casts, from its definition."""
    reals = np.array([-1e30, -129.0, -128.9, -1.5, -0.5, 0.0, 1.9, 127.9, 128.0, 1e30, np.inf, -np.inf, np.nan])
    assert support.convert(reals, "int8").tolist() == [-128, -128, -128, -1, 0, 0, 1, 127, 127, 127, 127, -128, 0]
    assert support.convert(reals, "uint64").tolist()[-4:] == [2**64 - 1, 2**64 - 1, 0, 0]
    assert support.convert(np.array([2.0**63, -(2.0**63)]), "int64").tolist() == [2**63 - 1, -(2**63)]
