"""Array work as users write it: what mypy --strict infers is stated beside it, and mistakes are caught."""

from typing import Any, assert_type

import numpy as np

import treadle.ndarray as nd
from treadle.ndarray import Device, DType, NDArray

x = nd.arange(12, dtype=nd.float32).reshape(3, 4)
assert_type(x, NDArray)
assert_type(x.shape, tuple[int, ...])
assert_type(x.ndim, int)
assert_type(x.dtype, DType)
assert_type(x.device, Device)
assert_type(x.T, NDArray)
assert_type(x.reshape((2, -1), copy=False), NDArray)
assert_type(x.transpose(1, 0), NDArray)

# operators, with scalars on either side
assert_type(2.0 * x + 1, NDArray)
assert_type(x @ x.T, NDArray)
assert_type(-x // 3 % 2**2, NDArray)
assert_type(x == 3, NDArray)
assert_type((x > 1) & (x < 5), NDArray)
x += 1.0
x[1:, ::2] *= 0.5

# functions and methods
assert_type(nd.exp(x), NDArray)
assert_type(nd.add(x, 1.0, out=x), NDArray)
assert_type(nd.where(x > 2, x, 0.0), NDArray)
assert_type(nd.sum(x, axis=(0, 1), keepdims=True), NDArray)
assert_type(x.mean().item(), Any)
assert_type(x.astype("float64"), NDArray)
assert_type(nd.split(x, 3), list[NDArray])
assert_type(nd.einsum("ij,kj->ik", x, x), NDArray)
assert_type(nd.linalg.svd(x).S, NDArray)
assert_type(nd.linalg.eig(x[:, :3]).eigenvalues, NDArray)
assert_type(nd.fft.rfftn(x, s=(4, 4), axes=(0, 1)), NDArray)
assert_type(nd.unique_counts(x).counts, NDArray)
assert_type(nd.finfo(nd.float32).eps, float)
assert_type(nd.result_type(x, nd.int8, 1.0), DType)
assert_type(nd.broadcast_shapes((1, 3), (2, 1)), tuple[int, ...])

# indexing
assert_type(x[0], NDArray)
assert_type(x[..., None, 1:], NDArray)
assert_type(x[x > 2], NDArray)
assert_type(x[nd.asarray([0, 2]), [1, 3]], NDArray)
x[0, :] = [1.0, 2.0, 3.0, 4.0]
for row in x:
    assert_type(row, NDArray)

# to Python and to NumPy
assert_type(float(x[0, 0]), float)
assert_type(len(x), int)
assert_type(x.numpy(), np.ndarray[Any, Any])
assert_type(nd.asarray(np.zeros(3)), NDArray)
assert_type(nd.from_dlpack(x), NDArray)


def mistakes() -> None:
    """Never called: each line is an error that mypy must find, or the ignore would be unused."""
    x.shap  # type: ignore[attr-defined] # noqa: B018
    nd.exp(x, where=x)  # type: ignore[call-arg]
    nd.sum(x, axis="rows")  # type: ignore[arg-type]
    x.reshape("3, 4")  # type: ignore[arg-type]
    x @ 2.0  # type: ignore[operator]
    nd.zeros((2, 2), dytpe=nd.int8)  # type: ignore[call-arg]
    nd.asarrray([1])  # type: ignore[attr-defined]
    nd.concat(x, x)  # type: ignore[arg-type]


for name in ("cpu", "numpy"):
    with nd.use_device(name) as place:
        assert_type(place, Device)
        assert_type(nd.zeros(2).to_device(place), NDArray)
