"""What is told before compiling: flash, RAM and multiply-accumulates, against the object file and a counting build."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import compiler

import treadle.autograd as ag
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, CSource, ExportReport, Target, capture, to_c, write_c
from treadle.autograd.export.quantizing import quantized
from treadle.autograd.export.sizes import flash_bytes

RANDOM = np.random.default_rng(3)


def _w(*shape: int) -> ag.Tensor:
    return ag.Tensor(RANDOM.normal(size=shape).astype("float32"), requires_grad=True)


MLP = [_w(48, 64), _w(48), _w(10, 48), _w(10)]
CNN = [_w(8, 1, 3, 3), _w(8), _w(16, 8, 3, 3), _w(10, 64)]
GATES = [_w(64, 8), _w(64, 16)]
ATTENTION = [_w(16, 48), _w(16, 16)]


def mlp(x: ag.Tensor) -> ag.Tensor:
    return ag.linear(ag.relu(ag.linear(x, MLP[0], MLP[1])), MLP[2], MLP[3])


def cnn(x: ag.Tensor) -> ag.Tensor:
    x = ag.max_pool(ag.relu(ag.conv(x, CNN[0], CNN[1], padding=1)), 2)
    x = ag.max_pool(ag.relu(ag.conv(x, CNN[2], padding=1)), 2)
    return ag.linear(ag.reshape(x, (1, 64)), CNN[3])


def lstm(x: ag.Tensor) -> ag.Tensor:
    h = c = ag.zeros((1, 16))
    for step in range(8):
        gates = ag.linear(x[:, step], GATES[0]) + ag.linear(h, GATES[1])
        i, f, new, o = ag.split(gates, 4, axis=1)
        c = ag.sigmoid(f) * c + ag.sigmoid(i) * ag.tanh(new)
        h = ag.sigmoid(o) * ag.tanh(c)
    return h


def attention(x: ag.Tensor) -> ag.Tensor:
    q, k, v = ag.split(x @ ATTENTION[0], 3, axis=1)
    return (ag.softmax(q @ ag.matrix_transpose(k) * 0.25) @ v) @ ATTENTION[1]


def inside(length: int) -> int:
    """The pairs of 3 taps and positions of a padded axis that lie inside of it."""
    return 3 * length - 2


MODELS: dict[str, tuple[Callable[[ag.Tensor], ag.Tensor], tuple[int, ...], int]] = {
    "mlp": (mlp, (1, 64), 64 * 48 + 48 * 10),
    "cnn": (cnn, (1, 1, 8, 8), 8 * inside(8) ** 2 + 16 * 8 * inside(4) ** 2 + 640),
    "lstm": (lstm, (1, 8, 8), 8 * 64 * 8 + 7 * 64 * 16),  # the first state is zeros: nothing to multiply
    "attention": (attention, (12, 16), 12 * 16 * 48 + 2 * 12 * 12 * 16 + 12 * 16 * 16),
}


def _sections(written: CSource, folder: Path) -> dict[str, int]:
    if shutil.which("size") is None:
        pytest.skip("binutils are not installed")
    (folder / f"{written.name}.c").write_text(written.source)
    (folder / f"{written.name}.h").write_text(written.header)
    command = [*compiler(), "-std=c99", "-Os", "-fno-merge-constants", "-c", f"{written.name}.c", "-o", "model.o"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["size", "-A", "model.o"], cwd=folder, check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(".")]
    return {row[0]: int(row[1]) for row in rows if not row[0].startswith((".eh_frame", ".note", ".comment"))}


def _assert_sizes(written: CSource, folder: Path) -> None:
    sizes = _sections(written, folder)
    constants = sum(size for name, size in sizes.items() if name.startswith((".rodata", ".data")))
    memory = sum(size for name, size in sizes.items() if name.startswith((".data", ".bss")))
    assert constants == pytest.approx(written.constant_bytes, rel=0.01, abs=64)  # the code's own literals
    assert memory == pytest.approx(written.arena_bytes + written.state_bytes, rel=0.01, abs=16)


def _counted(written: CSource, inputs: list[np.ndarray], folder: Path) -> int:
    """The multiply-accumulates that a run makes: every one has a counter beside it."""
    pattern = re.compile(r"^(\s*)((?:total|part)(?:\d+|\[t\])? \+= (?!\((?:double|float)\)).* \* .*;)$", re.MULTILINE)
    text = pattern.sub(r"\1{ ++counted; \2 }", written.source)
    name = f"counted_{written.name}"
    (folder / f"{written.name}.h").write_text(written.header)
    (folder / f"{name}.c").write_text(f"long counted;\n{text}")
    command = [*compiler(), "-std=c99", "-O1", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / f"{name}.so"))
    results = [np.empty(each.shape, each.dtype.name) for each in written.program.outputs]
    getattr(library, written.name)(*[ctypes.c_void_p(each.ctypes.data) for each in (*inputs, *results)])
    return ctypes.c_long.in_dll(library, "counted").value


@pytest.mark.parametrize("name", MODELS)
def test_inference(name: str, tmp_path: Path) -> None:
    function, shape, products = MODELS[name]
    x = RANDOM.normal(size=shape).astype("float32")
    program = capture(function, ag.Tensor(x))
    for at, target in enumerate((Target(), Target(tile=64, unrolled=False, wide_sums=False))):
        written = write_c(program, f"{name}{at}", target)
        assert written.products == products == _counted(written, [x], tmp_path)
        _assert_sizes(written, tmp_path)
    integer, _ = quantized(program, [ag.Tensor(x)])
    written = write_c(integer, f"{name}_int8")
    if name != "attention":  # two of its products stay in float32
        assert written.products == products == _counted(written, [x], tmp_path)
    _assert_sizes(written, tmp_path)


@pytest.mark.parametrize("update", [SGD(0.1), SGD(0.1, momentum=0.9), Adam()], ids=["SGD", "momentum", "Adam"])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_training(name: str, update: Any, tmp_path: Path) -> None:
    function, shape, forward = MODELS[name]
    x, y = RANDOM.normal(size=shape).astype("float32"), np.array([3])
    program = capture(lambda x, y: ag.cross_entropy(function(x), y), (ag.Tensor(x), ag.Tensor(y)), train=update)
    written = write_c(program, name)
    assert written.products == _counted(written, [x, y], tmp_path)
    assert 2 * forward < written.products < 3.2 * forward
    _assert_sizes(written, tmp_path)


def test_verdict() -> None:
    report = ExportReport(Path("m.c"), Path("m.h"), flash=40_000, ram=2_000, multiply_accumulates=9_000, steps=3)
    assert report.verdict(320 * 1024, 1024 * 1024) == "fits in 320.0 KiB RAM / 1,024.0 KiB flash: yes"
    assert report.verdict(ram=1024) == "fits in 1,024 bytes RAM: no"
    assert report.verdict(flash=64 * 1024) == "fits in 64.0 KiB flash: yes"
    assert report.verdict(ram=2_000, flash=39_999) == "fits in 2,000 bytes RAM / 39.1 KiB flash: no"
    assert report.fits() and report.fits(ram=2_000) and not report.fits(flash=1)


def test_the_report_is_that_of_the_file(tmp_path: Path) -> None:
    report = to_c(mlp, ag.zeros((1, 64)), tmp_path / "model.c")
    assert report.flash == sum(each.size for each in MLP[:3]) * 4  # ten biases are numbers in the code
    assert report.ram == 48 * 4 and report.multiply_accumulates == 64 * 48 + 480


@pytest.mark.parametrize("name", MODELS)
def test_the_code_is_measured_where_the_compiler_is_given(name: str, tmp_path: Path) -> None:
    """Flash and RAM of the report within 1 % of the object file's, as binutils count them."""
    if shutil.which("size") is None:
        pytest.skip("binutils are not installed")
    function, shape, _ = MODELS[name]
    command = [*compiler(), "-std=c99", "-Os"]
    report = to_c(function, ag.zeros(shape), tmp_path / "model.c", compiler=command)
    subprocess.run([*command, "-c", "model.c"], cwd=tmp_path, check=True)
    done = subprocess.run(["size", "-A", "model.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(".")]
    kept = [row for row in rows if row[0].startswith((".text", ".rodata", ".data"))]
    assert report.flash + report.code == pytest.approx(sum(int(row[1]) for row in kept), rel=0.01)
    bound = to_c(function, ag.zeros(shape), tmp_path / "model.c")
    assert report.measured and not bound.measured and "at most" not in str(report) and "at most" in str(bound)


def test_compilers_that_cannot_say(tmp_path: Path) -> None:
    other = tmp_path / "cc"
    other.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho "$0" > "$2"\n')
    other.chmod(0o755)
    cases: list[tuple[Any, str]] = [
        (["no-such-compiler"], "cannot be run"),
        ([*compiler(), "-O2", "-flto"], "link-time optimization|no ELF file"),  # of gcc, of clang
        ("", "names no program"),
        (3, "no command line"),
        ("cc '-DX", "no command line: No closing quotation"),
        ("true", "wrote no .o file"),
        ("false", "status 1"),
        ([str(other)], "no ELF file"),
    ]
    for command, text in cases:
        with pytest.raises(ExportError, match=text):
            to_c(mlp, ag.zeros((1, 64)), tmp_path / "model.c", compiler=command)
        assert not (tmp_path / "model.c").exists()
    for content in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 60):
        with pytest.raises(ExportError, match="no ELF file"):
            flash_bytes(content)
