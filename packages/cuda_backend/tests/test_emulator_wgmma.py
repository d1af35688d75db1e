"""The emulated wgmma and cp.async against their published semantics: operands that are laid out here as the figures of
the PTX ISA show them, sums read by its fragments, and each of the rules broken alone.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "Shared Memory Matrix Layout" (its figures of each
swizzling mode), "Strides", "Matrix Descriptor Format", "Matrix Fragments for wgmma.mma_async.m64nNk16", "wgmma.fence";
and "Data Movement and Conversion Instructions: cp.async".
"""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

ROWS, COLUMNS, INNER = 64, 128, 16
SECOND = 1 << 14
"""Where y begins."""
WRONG = [
    "nothing",
    *("no_copy_wait", "no_copy_commit", "no_proxy_fence", "no_fence", "no_commit", "no_wait", "read_early"),
    *("write_early", "overwrite", "one_warp_less", "other_descriptor", "late_proxy_fence", "unaligned_copy"),
]
"""The steps of emulator_wgmma.cu's Wrong, in its order."""
MODES = {128: 1, 64: 2, 32: 3, 16: 0}
"""Bytes of a line, and bits 62 and 63 of the descriptor; 16 is no swizzling."""


@pytest.fixture(scope="module")
def library(build_kernels: Callable[..., ctypes.CDLL]) -> ctypes.CDLL:
    loaded = build_kernels("emulator_wgmma.cu")
    loaded.descriptor.restype = ctypes.c_uint64
    return loaded


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Operand:
    """A matrix, (rows or columns, steps of the inner axis), and how it lies in shared memory."""

    def __init__(
        self, matrix: np.ndarray, line: int, inner_lines: bool, start: int = 0, dtype: type = np.float16
    ) -> None:
        self.matrix, self.line, self.inner_lines, self.start = matrix, line, inner_lines, start
        self.dtype, self.item = dtype, np.dtype(dtype).itemsize  # other items than halves: lines along the inner axis
        self.atom = 8 * line
        places = matrix.shape[0]
        # Two atoms that follow each other in the order that the strides do not take for granted.
        self.blocks = places // 8 if inner_lines or line == 16 else places // (line // 2)
        if inner_lines:
            self.leading, self.stride = (self.blocks * 128, 128) if line == 16 else (16, self.atom)
        elif line == 16:
            self.leading, self.stride = self.blocks * 128, 128
        else:
            self.leading, self.stride = self.atom, self.blocks * self.atom

    def place(self, place: int, step: int) -> int:
        """The byte where an element lies."""
        if self.line == 16:  # 8 x 8 elements in a row of 128 bytes
            row, chunk = (place, step) if self.inner_lines else (step, place)
            held = 16 // self.item
            block = place // 8 * self.stride + step // held * self.leading
            return block + row % 8 * 16 + chunk % held * self.item
        if self.inner_lines:
            block, row, along = place // 8 * self.stride, place % 8, step
        else:
            along = place % (self.line // 2)
            block, row = place // (self.line // 2) * self.leading + step // 8 * self.stride, step % 8
        chunk = along * self.item // 16 ^ row // (
            128 // self.line
        )  # the figures: 8 lines differ, or each 2 or 4 are alike
        return block + row * self.line + chunk * 16 + along * self.item % 16

    def write(self, image: np.ndarray) -> None:
        for (place, step), number in np.ndenumerate(self.matrix):
            at = self.start + self.place(place, step)
            image[at : at + self.item] = np.frombuffer(self.dtype(number).tobytes(), np.uint8)

    @property
    def descriptor(self) -> int:
        fields = (self.start >> 4, 0), (self.leading >> 4, 16), (self.stride >> 4, 32), (MODES[self.line], 62)
        return sum(value << place for value, place in fields)


def fragment(thread: int, number: int) -> tuple[int, int]:
    """Row and column of a thread's sum, as the figure of the accumulator shows them."""
    warp, lane = divmod(thread, 32)
    return 16 * warp + lane // 4 + number // 2 % 2 * 8, number // 4 * 8 + lane % 4 * 2 + number % 2


def run(
    kernels: ctypes.CDLL, x: Operand, y: Operand, wrong: str = "nothing", advance: int = 0, size: int = 2 * SECOND
) -> tuple[str, np.ndarray]:
    """The name of the error, and the product added to a matrix of ones."""
    image = np.full(size + 16, 0x11, np.uint8)
    image = image[-image.ctypes.data % 16 :][:size]
    x.write(image)
    y.write(image)
    before, out = np.ones((128, 64), np.float32), np.full((128, 64), -7, np.float32)
    x_bits, y_bits = (ctypes.c_uint64(each.descriptor + advance // 16) for each in (x, y))
    layout = int(x.inner_lines), int(y.inner_lines)
    arguments = pointer(before), pointer(out), WRONG.index(wrong), size + 1024, int(x.item == 4)
    status = kernels.product(pointer(image), size, x_bits, y_bits, *layout, *arguments)
    result = np.empty((ROWS, COLUMNS), np.float32)
    for (thread, number), value in np.ndenumerate(out):
        result[fragment(thread, number)] = value
    return kernels.error_name(status).decode(), result


def matrices(steps: int = INNER) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.integers(-4, 5, (ROWS, steps)), generator.integers(-4, 5, (COLUMNS, steps))


@pytest.mark.parametrize("x_inner", [True, False])
@pytest.mark.parametrize("y_inner", [True, False])
@pytest.mark.parametrize("line", MODES)
def test_every_layout_of_operands(kernels: ctypes.CDLL, line: int, x_inner: bool, y_inner: bool) -> None:
    x, y = matrices()
    error, result = run(kernels, Operand(x, line, x_inner), Operand(y, line, y_inner, SECOND))
    assert error == "cudaSuccess"
    np.testing.assert_array_equal(result, 1 + x @ y.T)


@pytest.mark.parametrize("line", MODES)
def test_tf32_lies_along_the_inner_axis(kernels: ctypes.CDLL, line: int) -> None:
    """Eight steps are a product."""
    x, y = matrices(8)
    operands = Operand(x, line, True, 0, np.float32), Operand(y, line, True, SECOND, np.float32)
    error, result = run(kernels, *operands)
    assert error == "cudaSuccess"
    np.testing.assert_array_equal(result, 1 + x @ y.T)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_descriptor_moves_along_the_inner_axis(kernels: ctypes.CDLL, step: int) -> None:
    """Within lines of 128 bytes, which hold four products; swizzling goes by the address."""
    x, y = matrices(64)
    error, result = run(kernels, Operand(x, 128, True), Operand(y, 128, True, SECOND), advance=32 * step)
    assert error == "cudaSuccess"
    part = slice(16 * step, 16 * step + 16)
    np.testing.assert_array_equal(result, 1 + x[:, part] @ y[:, part].T)


@pytest.mark.parametrize("wrong", WRONG[1:])
def test_every_broken_rule_shows(kernels: ctypes.CDLL, library: ctypes.CDLL, wrong: str) -> None:
    """In one of the schedules at least, as an error or a wrong result."""
    x, y = matrices()
    shown = []
    for schedule in (0, 1):
        library.set_reversed(schedule)
        error, result = run(kernels, Operand(x, 128, True), Operand(y, 128, False, SECOND), wrong)
        shown.append(error != "cudaSuccess" or not np.array_equal(result, 1 + x @ y.T))
    assert any(shown)
    if wrong not in ("overwrite", "no_copy_wait", "no_copy_commit"):
        assert all(shown)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("no_fence", "wgmma without wgmma.fence"),
        ("no_wait", "wgmma.wait_group is missing"),
        ("write_early", "sums were written while wgmma"),
        ("one_warp_less", "not all threads of a warpgroup"),
        ("other_descriptor", "other operands than by the rest of the warpgroup"),
        ("unaligned_copy", "no multiple of its size"),
    ],
)
def test_an_error_says_what_is_wrong(kernels: ctypes.CDLL, wrong: str, text: str) -> None:
    x, y = matrices()
    error, _ = run(kernels, Operand(x, 128, True), Operand(y, 128, True, SECOND), wrong)
    assert error == "cudaErrorLaunchFailure" and text in kernels.last_failure().decode()


@pytest.mark.parametrize(
    ("bits", "text"),
    [(1 << 14, "unused bits"), (1 << 52, "unused bits"), (1 << 49, "base offset"), (1 << 13, "outside")],
)
def test_a_descriptor_that_cannot_be_is_refused(kernels: ctypes.CDLL, bits: int, text: str) -> None:
    x, y = matrices()
    error, _ = run(kernels, Operand(x, 128, True), Operand(y, 128, True, SECOND), advance=16 * bits)
    assert error == "cudaErrorLaunchFailure" and text in kernels.last_failure().decode()


def test_more_shared_memory_must_be_asked_for(kernels: ctypes.CDLL) -> None:
    x, y = matrices()
    operands = Operand(x, 128, True), Operand(y, 128, True, SECOND)
    assert run(kernels, *operands, size=226 << 10)[0] == "cudaSuccess"
    assert run(kernels, *operands, size=227 << 10)[0] == "cudaErrorInvalidValue"
    image, sums = np.zeros(1 << 18, np.uint8), np.zeros((128, 64), np.float32)
    zero = ctypes.c_uint64(0)
    for nbytes, expected in ((1 << 14, "cudaSuccess"), (1 << 18, "cudaErrorInvalidConfiguration")):
        arguments = pointer(sums), pointer(sums), WRONG.index("no_copy_wait"), 0, 0
        status = kernels.product(pointer(image), nbytes, zero, zero, 0, 0, *arguments)
        assert kernels.error_name(status).decode() == expected


def test_groups_of_copies(kernels: ctypes.CDLL) -> None:
    memory = np.arange(24, dtype=np.int32)
    source = memory[-memory.ctypes.data % 16 // 4 :][:8]
    out = np.zeros(8, np.int32)
    rounded = np.frombuffer(source[4:].tobytes()[:6] + bytes(10), np.int32)
    assert kernels.groups(pointer(source), pointer(out), 0) == 0
    assert out.tolist() == [*source[:4], *rounded], "the second copy is of 6 bytes, and zeros"
    assert kernels.groups(pointer(source), pointer(out), 1) == 0
    assert out[:4].tolist() == source[:4].tolist()
    assert out[4:].tolist() in ([-1] * 4, rounded.tolist()), "it may have arrived, or not"


@pytest.mark.parametrize("inner_lines", [True, False])
def test_what_the_kernels_describe_is_what_they_lay_out(library: ctypes.CDLL, inner_lines: bool) -> None:
    """describe() and swizzled() of warpgroup.h against the layout of the figures."""
    operand = Operand(np.zeros((128, 64)), 128, inner_lines, start=5 * 1024)
    if not inner_lines:
        operand.leading, operand.stride = 64 * 128, 1024
    assert library.descriptor(int(inner_lines), 5 * 1024, 64) == operand.descriptor
    for place in range(128):
        for step in range(64):
            line, along = (place, step) if inner_lines else (step, place)
            block = 0 if inner_lines else along // 64 * 64 * 128
            at = block + library.swizzled_place(line, along % 64 // 8) + along % 8 * 2
            assert at == operand.place(place, step)
