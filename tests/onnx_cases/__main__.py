"""How many of the node cases pass, and why the others do not: ``python -m onnx_cases --write``.

It also writes the list of the expected failures, which the tests compare with.
"""

import json
import sys
from pathlib import Path

import onnx

from onnx_cases import nodes

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "onnx.md"
EXPECTED = Path(__file__).with_name("expected_failures.json")
HEAD = """# The node cases of ONNX

Printed by `python -m onnx_cases` in the session `onnx`: the {count:,} models that onnx {version} generates for its
ops, with inputs and outputs, run by `from_onnx`. A case passes where every output has the dtype and the shape that are
given, and numbers within the case's own tolerance. Ops that treadle does not have itself, but that the standard defines
by others, run by that definition. Elements of 8 bits and fewer, which NumPy has no types for either, are held in int8,
uint8 or float32, and are compared there.

**{passed:,} of {count:,} pass.** The others:

| reason | cases | such as |
|---|---|---|
"""


def main() -> None:
    """Run all cases and print, or write, the table."""
    cases = nodes.load()
    failed = nodes.failures(cases)
    count = sum(map(len, failed.values()))
    table = HEAD.format(count=len(cases), version=onnx.__version__, passed=len(cases) - count)
    for reason, names in sorted(failed.items(), key=lambda row: -len(row[1])):
        table += f"| {reason} | {len(names)} | {', '.join(f'`{each}`' for each in names[:2])} |\n"
    print(table)
    if "--write" in sys.argv:
        RESULTS.write_text(table)
        EXPECTED.write_text(json.dumps({"onnx": onnx.__version__, "failures": failed}, indent=1) + "\n")


main()
