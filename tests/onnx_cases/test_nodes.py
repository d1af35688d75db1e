"""The node cases of the package onnx pass, but for those that are known not to, each with its reason."""

import importlib
import json
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
nodes = importlib.import_module("onnx_cases.nodes")

EXPECTED = Path(__file__).with_name("expected_failures.json")


def test_node_cases() -> None:
    expected = json.loads(EXPECTED.read_text())
    if onnx.__version__ != expected["onnx"]:
        pytest.skip(f"the expected failures are those of onnx {expected['onnx']}, not {onnx.__version__}")
    cases = nodes.load()
    assert len(cases) > 1800
    found = nodes.failures(cases)
    reasons = {name: reason for reason, names in found.items() for name in names}
    known = {name: reason for reason, names in expected["failures"].items() for name in names}
    broken = {name: why for name, why in reasons.items() if known.get(name) != why}
    assert not broken, f"no longer as they were: {broken}"
    assert not set(known) - set(reasons), (
        f"these pass now; run python -m onnx_cases --write: {set(known) - set(reasons)}"
    )
