"""Programs whose weights lie in a binary of their own: the same results, and no other binary is taken."""

import ctypes
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library, by_name
from packages.autograd.tests.export.test_costs import MODELS

import treadle.autograd as ag
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, CSource, capture, to_c, write_c
from treadle.autograd.export.quantizing import quantized

RANDOM = np.random.default_rng(0)
NO_BINARY, OTHER, PART, UNALIGNED = 1, 2, 3, 4


class Bound(Library):
    """A library with one program, which is bound to its weights where they lie in a block of their size."""

    def bind(self, name: str, binary: bytes, size: int | None = None, start: int = 0) -> int:
        self.block = ctypes.create_string_buffer(len(binary) + 16)
        address = -(-ctypes.addressof(self.block) // 8) * 8 + start
        ctypes.memmove(address, binary, len(binary))
        size = len(binary) if size is None else size
        return int(getattr(self.load(), f"{name}_bind")(ctypes.c_void_p(address), ctypes.c_size_t(size)))

    def verify(self, name: str) -> int:
        return int(getattr(self.load(), f"{name}_verify")())


@pytest.mark.parametrize("integer", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_results(name: str, integer: bool, tmp_path: Path) -> None:
    function, shape, _ = MODELS[name]
    x = RANDOM.normal(size=shape).astype("float32")
    program = capture(function, ag.Tensor(x))
    if integer:
        program, _ = quantized(program, [ag.Tensor(x)])
    library = Bound(tmp_path)
    apart = library.add("apart", program, apart=True)
    library.add("together", program)
    assert apart.weights is not None and len(apart.weights) == apart.constant_bytes
    assert library.call("apart", [x], status=2)[0].min() == 77, "nothing is written before weights are bound"
    assert library.verify("apart") == 2
    assert library.bind("apart", apart.weights) == 0 == library.verify("apart")
    for one, other in zip(library.call("apart", [x]), library.call("together", [x]), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("update", [SGD(0.1, momentum=0.9), Adam()], ids=["SGD", "Adam"])
def test_training_begins_anew_where_it_is_bound_again(update: Any, tmp_path: Path) -> None:
    w = ag.Tensor(RANDOM.normal(size=(5, 3)).astype("float32"), requires_grad=True, name="w")
    x, factors = RANDOM.normal(size=(4, 5)).astype("float32"), ag.Tensor(RANDOM.normal(size=(4, 3)).astype("float32"))
    library = Bound(tmp_path)
    for name in ("apart", "together"):
        program = capture(lambda x: ag.mean(ag.square(x @ w * factors)), ag.Tensor(x), train=update)
        library.add(name, program, apart=name == "apart")
    binary = library.programs["apart"].weights
    assert binary is not None
    wanted = [library.call("together", [x])[0].item() for _ in range(3)]
    for _ in range(2):
        assert library.bind("apart", binary) == 0
        assert [library.call("apart", [x])[0].item() for _ in range(3)] == wanted
    learned = by_name(library.states("apart"), "apart")["w"]
    assert np.array_equal(learned, by_name(library.states("together"), "together")["w"])


def linear(scale: float = 1.0, columns: int = 3) -> CSource:
    w = ag.Tensor((scale * np.arange(1, 4 * columns + 1)).astype("float32").reshape(4, columns))
    return write_c(capture(lambda x: x @ w, ag.ones((2, 4))), "model", apart=True)


@pytest.fixture
def library(tmp_path: Path) -> Bound:
    made, written = Bound(tmp_path), linear()
    made.add("model", written.program, apart=True)
    assert written.weights is not None and made.bind("model", written.weights) == 0
    return made


def test_weights_of_the_same_program_may_follow(library: Bound) -> None:
    """Trained further, say: the code stays."""
    x = np.ones((2, 4), "float32")
    before = library.call("model", [x])[0].copy()
    more = linear(2.0).weights
    assert more is not None and library.bind("model", more) == 0
    assert np.array_equal(library.call("model", [x])[0], 2 * before)


def _changed(binary: bytes, at: int) -> bytes:
    return binary[:at] + bytes([binary[at] ^ 1]) + binary[at + 1 :]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda given: _changed(given, 0), NO_BINARY), (lambda given: _changed(given, 7), NO_BINARY),
        (lambda given: given[:31], NO_BINARY), (lambda given: b"", NO_BINARY),
        (lambda given: _changed(given, 8), OTHER), (lambda given: _changed(given, 12), OTHER),
        (lambda given: linear(columns=5).weights, OTHER), (lambda given: given[:-1], PART),
        (lambda given: given[:32], PART),
    ],
)  # fmt: skip
def test_other_binaries_are_refused(library: Bound, change: Callable[[bytes], bytes], status: int) -> None:
    """And what was bound before stays."""
    before = library.call("model", [np.ones((2, 4), "float32")])[0].copy()
    binary, held = linear().weights, library.block
    assert binary is not None
    assert library.bind("model", change(binary)) == status
    assert library.bind("model", binary, start=4) == UNALIGNED
    assert library.load().model_bind(None, ctypes.c_size_t(1 << 20)) == NO_BINARY
    assert np.array_equal(library.call("model", [np.ones((2, 4), "float32")])[0], before)
    del held


def test_a_damaged_byte_shows_in_the_checksum(library: Bound) -> None:
    binary = linear().weights
    assert binary is not None
    for at in (32, len(binary) - 1):
        assert library.bind("model", _changed(binary, at)) == 0
        assert library.verify("model") == 1


def test_the_format_of_the_binary() -> None:
    """As the table in c_weights.py says."""
    binary = linear().weights
    assert binary is not None
    magic, _, size, checksum = struct.unpack_from("<8sIII", binary)
    assert (magic, size, checksum) == (b"treadle\1", len(binary), zlib.crc32(binary[32:]))
    assert np.array_equal(np.frombuffer(binary, "<f4", offset=32), np.arange(1, 13))


def test_files_and_report(tmp_path: Path) -> None:
    """All three files or none; the binary counts as flash."""
    w = ag.Tensor(RANDOM.normal(size=(4, 3)).astype("float32"))
    report = to_c(lambda x: x @ w, ag.ones((1, 4)), tmp_path / "model.c", weights=tmp_path / "model.bin")
    assert report.ram == 8, "the address of the weights"
    assert report.weights == tmp_path / "model.bin" and report.flash == report.weights.stat().st_size == 32 + 48
    assert "0x" in report.source.read_text() and str(w.data[0, 0].item())[:5] not in report.source.read_text()
    with pytest.raises(FileNotFoundError):
        to_c(lambda x: x @ w, ag.ones((1, 4)), tmp_path / "other.c", weights=tmp_path / "no" / "model.bin")
    for name in ("third.c", "third.h"):
        with pytest.raises(ExportError, match="where the C file or its header goes"):
            to_c(lambda x: x @ w, ag.ones((1, 4)), tmp_path / "third.c", weights=tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model.bin", "model.c", "model.h"]


def test_a_function_may_not_be_called_as_what_the_file_has() -> None:
    for name in ("weights", "word_at"):
        with pytest.raises(ExportError, match="something else called"):
            write_c(linear().program, name, apart=True)
