"""A valid call of every public function: what tests that spoil one argument at a time start from."""

import io
from collections.abc import Callable
from typing import Any

import treadle.ndarray as nd
from treadle.ndarray import opset

Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*positional: Any, **named: Any) -> Call:
    return positional, named


def _saved() -> io.BytesIO:
    file = io.BytesIO()
    nd.save(file, nd.ones(2))
    return io.BytesIO(file.getvalue())


V = nd.asarray([3.0, 1.0, 2.0])
I = nd.asarray([2, 0, 1])  # noqa: E741
M = nd.asarray([[2.0, 1.0], [1.0, 3.0]])
IMAGE = nd.ones((1, 2, 5, 5))
WEIGHT = nd.ones((3, 2, 3, 3))

ARRAY_CALLS: dict[str, Call] = {
    "adam_step": call(nd.ones(2), nd.ones(2), nd.zeros(2), nd.zeros(2), lr=0.1, beta1=0.9, beta2=0.9, eps=1e-8,
                      weight_decay=0.1, step=1),
    "all": call(V, axis=0), "any": call(V, axis=0), "arange": call(0, 5, 2, dtype="float32", device="cpu"),
    "argmax": call(V, axis=0), "argmin": call(V, axis=0), "asarray": call([1.0], dtype="float32", device="cpu"),
    "astype": call(V, "int32", device="cpu"), "broadcast_arrays": call(V, M[:, :1]),
    "broadcast_shapes": call((2, 1), (3,)),
    "broadcast_to": call(V, (2, 3)), "concat": call([V, V], axis=0), "copy": call(V), "cumprod": call(V, axis=0),
    "cumsum": call(V, axis=0), "device": call("cpu"), "dtype": call("float32"),
    "empty": call((2,), dtype="float32", device="cpu"), "empty_like": call(V, dtype="float32", device="cpu"),
    "expand_dims": call(V, 0), "eye": call(2, 3, k=1, dtype="float32", device="cpu"), "flip": call(V, axis=0),
    "full": call((2,), 1.0, dtype="float32", device="cpu"), "full_like": call(V, 1.0, dtype="float32", device="cpu"),
    "linspace": call(0.0, 1.0, 3, dtype="float32", device="cpu"), "log_softmax": call(V, axis=0),
    "logsumexp": call(V, axis=0), "matmul": call(M, M, out=nd.zeros((2, 2))), "matrix_transpose": call(M),
    "max": call(V, axis=0), "mean": call(V, axis=0), "min": call(V, axis=0), "moveaxis": call(M, 0, 1),
    "nonzero": call(V), "one_hot": call(I, 3, dtype="float32"), "ones": call((2,), dtype="float32", device="cpu"),
    "ones_like": call(V, dtype="float32", device="cpu"), "permute_dims": call(M, (1, 0)),
    "prod": call(V, axis=0, dtype="float32"), "put_along_axis": call(nd.zeros(3), I, 1.0, axis=0),
    "reshape": call(M, (4,)), "result_dtype": call(nd.int8, nd.float32),
    "scatter_add": call(V, I, V, axis=0), "set_num_threads": call(nd.get_num_threads()),
    "sgd_step": call(nd.ones(2), nd.ones(2), nd.zeros(2), lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.1),
    "softmax": call(V, axis=0), "squeeze": call(M[:1], 0), "stack": call([V, V], axis=0),
    "std": call(V, axis=0, correction=1.0), "sum": call(V, axis=0, dtype="float32"), "swapaxes": call(M, 0, 1),
    "take": call(V, I, axis=0), "take_along_axis": call(V, I, axis=0), "tril": call(M, k=0), "triu": call(M, k=0),
    "use_device": call("cpu"), "var": call(V, axis=0, correction=1.0),
    "zeros": call((2,), dtype="float32", device="cpu"), "zeros_like": call(V, dtype="float32", device="cpu"),
    "allclose": call(V, V, rtol=0.1, atol=0.1), "argsort": call(V, axis=0), "array_split": call(V, 2, axis=0),
    "as_strided": call(M, (2,), (4,), offset=0), "can_cast": call(nd.int8, nd.int16), "conj": call(V),
    "count_nonzero": call(V, axis=0), "cumulative_prod": call(V, axis=0, dtype="float32"),
    "cumulative_sum": call(V, axis=0, dtype="float32"), "diagonal": call(M, offset=0, axis1=0, axis2=1),
    "diff": call(V, axis=0, n=1, prepend=V, append=V), "dot": call(V, V), "einsum": call("i,i->", V, V),
    "finfo": call("float32"), "histogram": call(V, 3, range=(0.0, 3.0), weights=V), "iinfo": call("int8"),
    "imag": call(M.astype("complex64")), "isclose": call(V, V, rtol=0.1, atol=0.1),
    "isdtype": call(nd.int8, "integral"), "isin": call(V, V), "kron": call(M, M), "logcumsumexp": call(V, axis=0),
    "median": call(V, axis=0), "meshgrid": call(V, I, indexing="ij"), "nanmax": call(V, axis=0),
    "nanmean": call(V, axis=0), "nanmedian": call(V, axis=0), "nanmin": call(V, axis=0),
    "nanpercentile": call(V, 50.0, axis=0, method="linear"), "nanprod": call(V, axis=0),
    "nanquantile": call(V, 0.5, axis=0, method="linear"), "nanstd": call(V, axis=0, correction=1.0),
    "nansum": call(V, axis=0), "nanvar": call(V, axis=0, correction=1.0), "outer": call(V, V),
    "pad": call(V, (1, 1), mode="constant", constant_values=0), "percentile": call(V, 50.0, axis=0, method="linear"),
    "quantile": call(V, 0.5, axis=0, method="linear"), "real": call(M), "repeat": call(V, 2, axis=0),
    "result_type": call(V, nd.float32), "roll": call(V, 1, axis=0), "rot90": call(M, k=1, axes=(0, 1)),
    "searchsorted": call(nd.sort(V), V, side="left", sorter=I), "sliding_window_view": call(V, 2, axis=0),
    "sort": call(V, axis=0), "split": call(V, 3, axis=0), "tensordot": call(M, M, axes=1), "tile": call(V, (2,)),
    "topk": call(V, 2, axis=0), "trace": call(M, offset=0, dtype="float32"), "unique_all": call(V),
    "unique_counts": call(V), "unique_inverse": call(V), "unique_values": call(V), "unstack": call(M, axis=0),
    "vecdot": call(V, V, axis=0), "nanargmax": call(V, axis=0), "nanargmin": call(V, axis=0),
    "avg_pool": call(IMAGE, 2, stride=2, padding=1, divisor_override=4),
    "avg_pool_gradient": call(nd.ones((1, 2, 2, 2)), (1, 2, 5, 5), 2, stride=2, padding=0, divisor_override=4),
    "conv": call(IMAGE, WEIGHT, nd.ones(3), stride=1, padding=0, dilation=1, groups=1),
    "conv_input_gradient": call(nd.ones((1, 3, 3, 3)), WEIGHT, (1, 2, 5, 5), stride=1, padding=0, dilation=1, groups=1),
    "conv_weight_gradient": call(nd.ones((1, 3, 3, 3)), IMAGE, (3, 2, 3, 3), stride=1, padding=0, dilation=1, groups=1),
    "from_dlpack": call(V, device="cpu"), "frombuffer": call(bytearray(12), dtype="float32", count=1, offset=4),
    "load": call(_saved(), device="cpu"), "save": call(io.BytesIO(), V),
    "max_pool": call(IMAGE, 2, stride=2, padding=1, dilation=1),
    "max_pool_gradient": call(nd.ones((1, 2, 2)), nd.asarray([[[0, 1], [1, 2]]]), (1, 2, 5)),
    "savez": call(io.BytesIO(), V), "savez_compressed": call(io.BytesIO(), V),
    "clip": call(V, 0.0, 1.0), "where": call(V > 1, V, V),
}  # fmt: skip
UNCALLED = {
    "Device", "DType", "NDArray", "__array_namespace_info__", "default_device", "device_types", "empty_cache",
    "get_include", "get_num_threads", "isa", "memory_statistics", "reset_peak_memory", "show_config",
}  # fmt: skip
"""Without arguments to spoil, or not called directly."""

LINALG_CALLS: dict[str, Call] = {
    "householder_product": call(M, M[0]), "cond": call(M, p=2), "lstsq": call(M, M, rcond=0.1),
    "multi_dot": call([M, M]), "solve_triangular": call(M, M, upper=True, left=True, unitriangular=False),
    "cross": call(V, V, axis=0), "diagonal": call(M, offset=0), "matmul": call(M, M), "matrix_norm": call(M, ord="fro"),
    "matrix_power": call(M, 2), "matrix_rank": call(M, rtol=0.1), "outer": call(V, V), "pinv": call(M, rtol=0.1),
    "qr": call(M, mode="reduced"), "solve": call(M, M), "tensordot": call(M, M, axes=1), "vecdot": call(V, V, axis=0),
    "vector_norm": call(V, axis=0, ord=2), "trace": call(M, offset=0, dtype="float32"),
}  # fmt: skip
FFT_CALLS: dict[str, Call] = {
    "fftfreq": call(4, d=1.0, dtype="float32", device="cpu"), "rfftfreq": call(4, d=1.0, dtype="float32", device="cpu"),
    "fftshift": call(V, axes=0), "ifftshift": call(V, axes=0),
}  # fmt: skip
SHAPED = {"shape": (2,), "dtype": "float32", "device": "cpu"}
WHOLE = {"shape": (2,), "device": "cpu"}
RANDOM_CALLS: dict[str, Call] = {
    "Generator": call(1), "manual_seed": call(1), "bernoulli": call(0.5, **WHOLE), "beta": call(0.5, 0.5, **SHAPED),
    "binomial": call(3, 0.5, **WHOLE), "bits": call((2,), dtype="uint32", device="cpu"),
    "choice": call(2, (2,), p=[0.5, 0.5], axis=0), "exponential": call(1.0, **SHAPED),
    "gamma": call(1.0, 1.0, **SHAPED),
    "geometric": call(0.5, **WHOLE), "gumbel": call(0.0, 1.0, **SHAPED), "laplace": call(0.0, 1.0, **SHAPED),
    "integers": call(0, 5, (2,), dtype="int64", device="cpu"), "normal": call(0.0, 1.0, **SHAPED),
    "permutation": call(3, device="cpu"), "poisson": call(2.0, **WHOLE),
    "truncated_normal": call(0.0, 1.0, -1.0, 1.0, **SHAPED), "uniform": call(0.0, 1.0, **SHAPED),
}  # fmt: skip


def every_call() -> dict[str, tuple[Callable[..., Any], Call]]:
    """By full name: the function and a valid call of it. KeyError for a public function without one."""
    found: dict[str, tuple[Callable[..., Any], Call]] = {}
    for module, calls in ((nd, ARRAY_CALLS), (nd.linalg, LINALG_CALLS), (nd.fft, FFT_CALLS), (nd.random, RANDOM_CALLS)):
        for name in module.__all__:
            function = getattr(module, name)
            if name in UNCALLED or not callable(function) or isinstance(function, nd.DType):
                continue
            if isinstance(function, type) and issubclass(function, Exception):
                continue
            if name in calls:
                given = calls[name]
            elif module is nd.linalg:
                given = call(M)
            elif module is nd.fft:
                given = call(M, s=(2, 2), axes=(0, 1)) if name.endswith("n") else call(V, n=4, axis=0)
            else:
                row = opset.OPS[name]
                whole = row.accepts.value.startswith(("int", "bool", "bit"))
                operand = I if whole else V
                given = call(operand) if row.family is opset.Family.UNARY else call(operand, operand)
            found[f"{module.__name__.removeprefix('treadle.')}.{name}"] = function, given
    return found
