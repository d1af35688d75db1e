"""Products of halves and of TF32 by wgmma: every layout, edges, batches and strides, parts of the inner axis, and the
choice between it and the matrix instruction of a warp. Whole numbers, whose sums are exact, against NumPy.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import _emulated, emulated_backend


def whole(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


@pytest.fixture(autouse=True)
def tf32(device: str) -> Iterator[None]:
    """float32 may be rounded to TF32, which has all the whole numbers here."""
    before = treadle.cuda.allow_tf32(True, device)
    yield
    treadle.cuda.allow_tf32(before, device)


def on(device: str, x: np.ndarray, dtype: str, transposed: bool = False) -> nd.NDArray:
    """The matrices on a device; transposed: with the last axis but one along memory."""
    host = np.ascontiguousarray(x.swapaxes(-1, -2)) if transposed else x
    made = nd.asarray(host, device=device).astype(dtype)
    return made.mT if transposed else made


def check(got: nd.NDArray, exact: np.ndarray) -> None:
    rounded = nd.asarray(np.ascontiguousarray(exact)).astype(got.dtype).astype("float32").numpy()
    np.testing.assert_array_equal(got.astype("float32").numpy(), rounded)


@pytest.fixture(params=["wgmma", "mma"])
def path(request: pytest.FixtureRequest, device: str) -> Iterator[str]:
    """Either instruction."""
    backend = treadle.cuda.backend() if device == "cuda" else emulated_backend()
    before = backend.allow_wgmma(request.param == "wgmma")
    yield request.param
    backend.allow_wgmma(before)


@pytest.fixture
def checked() -> Iterator[None]:
    """The check of wgmma is to be done again, before and after."""
    emulated_backend().allow_wgmma(True, again=True)
    yield
    _emulated.break_products(False)
    emulated_backend().allow_wgmma(True, again=True)


@pytest.mark.parametrize("x_transposed", [False, True])
@pytest.mark.parametrize("y_transposed", [False, True])
@pytest.mark.parametrize("size", [(128, 64, 128), (72, 72, 136), (200, 456, 264)])
@pytest.mark.parametrize("kind", ["halves", "float32"])
def test_layouts_and_edges(
    device: str, schedule: str, path: str, kind: str, size: tuple[int, int, int], x_transposed: bool, y_transposed: bool
) -> None:
    """One tile and one block; edges in all directions; more blocks than stages, and tiles with edges."""
    rows, inner, columns = size
    x, y = whole((rows, inner)), whole((inner, columns), 1)
    dtype = "float32" if kind == "float32" else "float16" if x_transposed else "bfloat16"
    check(on(device, x, dtype, x_transposed) @ on(device, y, dtype, y_transposed), x @ y)


@pytest.mark.parametrize("steps", [64, 66, 72, 126, 128, 130, 192])
def test_inner_axes_around_a_block(device: str, schedule: str, steps: int) -> None:
    """The end of the inner axis may lie within the 16 bytes of a copy; what lies behind it is not zero."""
    x, y = whole((64, 200)), whole((200, 72), 1)
    left, right = on(device, x, "float16"), on(device, y, "float16", True)
    check(left[:, :steps] @ right[:steps], x[:, :steps] @ y[:steps])
    for dtype in ("float16", "float32"):
        left, right = on(device, x, dtype, True), on(device, y, dtype)
        check(left[:, :steps] @ right[:steps], x[:, :steps] @ y[:steps])
    left, right = on(device, x, "float32"), on(device, y, "float32", True)
    check(left[:, :steps] @ right[:steps], x[:, :steps] @ y[:steps])


@pytest.mark.parametrize("rows", [64, 65, 71, 127, 129])
def test_rows_and_columns_around_a_tile(device: str, schedule: str, rows: int) -> None:
    x, y = whole((136, 64)), whole((64, 136), 1)
    for transposed, dtype in itertools.product((False, True), ("bfloat16", "float32")):
        left, right = on(device, x, dtype, transposed), on(device, y, dtype, not transposed)
        check(left[:rows] @ right[:, : rows + 2], x[:rows] @ y[:, : rows + 2])


@pytest.mark.parametrize("transposed", [False, True])
def test_batches(device: str, grid: int, schedule: str, transposed: bool) -> None:
    x, y = whole((2, 3, 72, 80)), whole((3, 80, 64), 1)
    check(on(device, x, "float16", transposed) @ on(device, y, "float16"), x @ y)
    check(on(device, x, "float32", transposed) @ on(device, y, "float32"), x @ y)
    check(on(device, x[:, 1], "float16") @ on(device, y[0], "float16", transposed), x[:, 1] @ y[0])


def test_strides(device: str) -> None:
    """Rows of more elements than the matrix, every second row, rows from the last on, one row for all."""
    x, y = whole((160, 200)), whole((64, 80), 1)
    left, right = on(device, x, "bfloat16"), on(device, y, "bfloat16")
    check(left[:80, 8:72] @ right, x[:80, 8:72] @ y)
    check(left[::2, :64] @ right, x[::2, :64] @ y)
    check(left[79::-1, :64] @ right, x[79::-1, :64] @ y)
    check(nd.broadcast_to(left[0, :64], (70, 64)) @ right, np.broadcast_to(x[0, :64], (70, 64)) @ y)
    check(left[:80, 3:67] @ right, x[:80, 3:67] @ y)  # not aligned: another kernel
    check(left[:80, :128:2] @ right, x[:80, :128:2] @ y)


def test_into_another_layout(device: str) -> None:
    x, y = whole((72, 64)), whole((64, 72), 1)
    for out in (nd.zeros((72, 73), dtype="float16", device=device)[:, :72], on(device, x @ y, "float16", True)):
        nd.matmul(on(device, x, "float16"), on(device, y, "float16"), out=out)
        check(out, x @ y)


@pytest.mark.parametrize("inner", [640, 1090])
def test_parts_of_the_inner_axis(device: str, grid: int, schedule: str, inner: int) -> None:
    x, y = whole((2, 64, inner + inner % 8)), whole((2, inner, 64), 1)
    for dtype in ("bfloat16", "float32"):
        check(on(device, x, dtype)[..., :inner] @ on(device, y, dtype), x[..., :inner] @ y)


def test_a_wide_tile(device: str) -> None:
    """Enough of them to fill a device."""
    x, y = whole((12, 1, 200, 64)), whole((4, 64, 264), 1)
    for dtype in ("float16", "float32"):
        check(on(device, x, dtype) @ on(device, y, dtype), x @ y)


@pytest.mark.parametrize("transposed", [False, True])
def test_floats_are_rounded_as_the_other_instruction_rounds_them(device: str, path: str, transposed: bool) -> None:
    """To nearest, from a tie away from 0 (PTX ISA, "cvt.rna.tf32"): the instruction by itself would drop the bits."""
    bits = np.float32(2.0**-10)  # of a number in [1, 2), the last that TF32 has
    x = np.tile(np.float32(1) + bits * np.array([0.25, 0.5, 0.75, 1.5], np.float32), (64, 16))
    x[1::2] *= -1
    rounded = np.tile(np.float32(1) + bits * np.array([0, 1, 1, 2], np.float32), (64, 16))
    rounded[1::2] *= -1
    eye = np.eye(64, dtype=np.float32)
    check(on(device, x, "float32", transposed) @ on(device, eye, "float32"), rounded)
    check(on(device, eye, "float32") @ on(device, x, "float32", transposed), rounded)


def test_nan_and_infinity_stay_in_their_rows_and_columns(device: str) -> None:
    """What lies beyond the edges is zero, and a product with it no NaN."""
    x, y = np.ones((72, 72), np.float32), np.ones((72, 80), np.float32)
    x[3, 4], y[5, 6] = np.nan, np.inf
    check(on(device, x, "bfloat16") @ on(device, y, "bfloat16"), x @ y)


@pytest.mark.parametrize(("dtype", "name"), [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "TF32")])
def test_a_wrong_instruction_is_found_and_not_used(checked: None, dtype: str, name: str) -> None:
    """And said once, with the name of the kernel; other dtypes are judged apart."""
    x, y = whole((64, 64)), whole((64, 64), 1)
    left, right = on("cuda_emulated", x, dtype), on("cuda_emulated", y, dtype)
    _emulated.break_products(True)
    said = rf"cuda_emulated.* matmul_wgmma_kernel<{name}, 128, .*> and matmul_mma_kernel differ"
    with pytest.warns(treadle.cuda.KernelWarning, match=said):
        got = left @ right
    check(got, x @ y)
    check(left @ right, x @ y)
    _emulated.break_products(False)
    for other in {"float16", "bfloat16", "float32"} - {dtype}:
        check(on("cuda_emulated", x, other) @ on("cuda_emulated", y, other), x @ y)
        assert emulated_backend().wgmma_verdicts(0) == {dtype: "wrong", other: "right"} | {
            left_over: "not checked" for left_over in {"float16", "bfloat16", "float32"} - {dtype, other}
        }
        emulated_backend().allow_wgmma(True, again=True)
        _emulated.break_products(True)
        with pytest.warns(treadle.cuda.KernelWarning):
            check(left @ right, x @ y)
        _emulated.break_products(False)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_broken_instruction_would_show(checked: None, dtype: str) -> None:
    """The tests above do use it."""
    x = on("cuda_emulated", whole((64, 64)), dtype)
    right = x @ x
    _emulated.break_products(True)
    assert (x @ x != right).any()


def test_a_capture_does_not_check(checked: None) -> None:
    """It may not wait for the device: the graph has the other kernel, and the next product the check."""
    x, y = whole((64, 64)), whole((64, 64), 1)
    left, right = on("cuda_emulated", x, "float16"), on("cuda_emulated", y, "float16")
    graph = treadle.cuda.Graph("cuda_emulated")
    with graph.capture():
        out = left @ right
    graph.replay()
    check(out, x @ y)
    check(left @ right, x @ y)


def test_the_check_leaves_the_faults_of_replays_alone(checked: None) -> None:
    """An index that a replay met is told at the next synchronization, and is no reason to give wgmma up."""
    x = whole((64, 64))
    halves, index = on("cuda_emulated", x, "float16"), nd.asarray([0], device="cuda_emulated")
    graph = treadle.cuda.Graph("cuda_emulated")
    with graph.capture():
        nd.take(halves, index, axis=0)
    index[...] = 64
    graph.replay()
    product = halves @ halves  # with the check, and a warning where it fails
    with pytest.raises(nd.IndexingError, match="64 is out of bounds"):
        treadle.cuda.synchronize("cuda_emulated")
    check(product, x @ x)
