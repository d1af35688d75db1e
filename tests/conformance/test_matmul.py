"""Matrix products on every device, dtype and layout, against NumPy."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, DTYPES, FLOATS, Operand, operands

each_device = pytest.mark.parametrize("device", DEVICES)

SIZES = st.integers(0, 5) | st.sampled_from([1, 8, 17, 33, 65])


def finite(value: float) -> bool:
    return value in (0, 1, -1)


def check(device: str, x: Operand, y: Operand) -> None:
    """Compare nd's product with NumPy's; floats within the bound of a dot product's rounding errors."""
    hypothesis.note(f"{x.code(device)} @ {y.code(device)}")
    left, right = x.numpy(), y.numpy()
    expected = np.asarray(np.matmul(left, right))
    slack = np.zeros(expected.shape)
    if expected.dtype.kind == "f":
        expected = np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64))).astype(left.dtype)
        depth, precision = left.shape[-1] + 2, float(np.finfo(left.dtype).eps)
        slack = np.asarray(np.matmul(np.abs(left.astype(np.float64)), np.abs(right.astype(np.float64))))
        slack = slack * depth * precision
    product = x.array(device) @ y.array(device)
    assert product.device == device
    assert_same(product, expected, ulps=1, slack=slack, zero_signs=False)


@each_device
@hypothesis.given(data=st.data())
def test_matrices(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES) | st.sampled_from(FLOATS))
    m, k, n = (data.draw(SIZES) for _ in range(3))
    check(device, *(data.draw(operands(dtype, shape, nasty=finite)) for shape in ((m, k), (k, n))))


@each_device
@hypothesis.given(data=st.data())
def test_batches_broadcast(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES) | st.sampled_from(FLOATS))
    m, k, n = (data.draw(st.integers(0, 4)) for _ in range(3))
    batches = data.draw(
        st.sampled_from([((2,), (2,)), ((3, 1), (2,)), ((), (2, 2)), ((1,), (0,)), ((2, 1, 3), (4, 1))])
    )
    shapes = (*batches[0], m, k), (*batches[1], k, n)
    check(device, *(data.draw(operands(dtype, shape, nasty=finite)) for shape in shapes))


@each_device
@hypothesis.given(data=st.data())
def test_vectors(device: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES) | st.sampled_from(FLOATS))
    k = data.draw(SIZES)
    shapes = data.draw(
        st.sampled_from([((k,), (k,)), ((k,), (k, 3)), ((3, k), (k,)), ((2, 3, k), (k,)), ((k,), (2, k, 3))])
    )
    check(device, *(data.draw(operands(dtype, shape, nasty=finite)) for shape in shapes))


@each_device
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [3, 40])
def test_nan_and_infinity_reach_their_row_and_column_alone(device: str, dtype: str, size: int) -> None:
    x, y = np.ones((size, size), dtype), np.ones((size, size), dtype)
    x[1, 2], y[0, 1] = np.nan, np.inf
    expected = np.full((size, size), size, dtype)
    expected[:, 1], expected[1, :] = np.inf, np.nan
    assert_same(nd.asarray(x, device=device) @ nd.asarray(y, device=device), expected)


@each_device
def test_out_is_written_in_any_layout(device: str) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    out = nd.zeros((4, 2), dtype=nd.float64, device=device)
    nd.matmul(nd.asarray(x, device=device), nd.asarray(y, device=device), out=out.T)
    assert_same(out, (x @ y).T)


@each_device
@pytest.mark.parametrize(
    "shapes", [((2, 3), (4, 5)), ((3,), (4,)), ((2, 2, 3), (3, 3, 4)), ((), (2, 2)), ((2, 3), (2,))]
)
def test_shapes_that_do_not_fit_are_refused(device: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (nd.ones(shape, device=device) for shape in shapes)
    with pytest.raises(nd.ShapeError, match="matmul"):
        nd.matmul(x, y)
