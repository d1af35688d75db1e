"""What to write instead of a name that NumPy or PyTorch has in a module and this package has not."""

from collections.abc import Mapping

__all__ = ["ARRAY_FUNCTIONS", "LINEAR_ALGEBRA", "RANDOM_FUNCTIONS", "no_function", "no_name"]

ARRAY_FUNCTIONS = {
    "absolute": "abs(x)",
    "amax": "max(x)",
    "amin": "min(x)",
    "append": "concat([x, y])",
    "argwhere": "stack(nonzero(x), axis=-1)",
    "around": "round(x)",
    "array": "asarray(obj, copy=True)",
    "array_equal": "x.shape == y.shape and (x == y).all()",
    "as_tensor": "asarray(obj)",
    "ascontiguousarray": "x if x.is_contiguous else x.copy()",
    "average": "mean(x); with weights sum(weights * x) / sum(weights)",
    "bincount": "scatter_add(zeros(n, dtype='int64'), x, ones_like(x))",
    "bitwise_not": "bitwise_invert(x)",
    "bool_": "bool",
    "cat": "concat(arrays, axis=axis)",
    "cbrt": "sign(x) * abs(x) ** (1 / 3)",
    "clamp": "clip(x, low, high)",
    "column_stack": "stack(arrays, axis=1); of matrices concat(arrays, axis=1)",
    "concatenate": "concat(arrays, axis=axis)",
    "conjugate": "conj(x)",
    "convolve": "conv(x, kernel); it takes batches with channels",
    "corrcoef": "numpy.corrcoef(x); it takes these arrays",
    "deg2rad": "x * (pi / 180)",
    "degrees": "x * (180 / pi)",
    "diag": "diagonal(x); of a vector v[:, None] * eye(v.size)",
    "digitize": "searchsorted(bins, x, side='right')",
    "divmod": "(floor_divide(x, y), remainder(x, y))",
    "double": "float64",
    "errstate": "nothing; no operation warns",
    "fabs": "abs(x)",
    "fix": "trunc(x)",
    "flatnonzero": "nonzero(x.ravel())[0]",
    "fliplr": "flip(x, axis=1)",
    "flipud": "flip(x, axis=0)",
    "from_numpy": "asarray(x)",
    "fromfile": "frombuffer(open(path, 'rb').read(), dtype)",
    "genfromtxt": "asarray(numpy.genfromtxt(path))",
    "geomspace": "exp(linspace(log(start), log(stop), n))",
    "half": "float16",
    "hstack": "concat(arrays, axis=-1); with up to 2 axes",
    "identity": "eye(n)",
    "inner": "vecdot(x, y); for all pairs of rows x @ y.T",
    "int_": "int64",
    "intersect1d": "x[isin(x, y)]",
    "invert": "bitwise_invert(x)",
    "issubdtype": "isdtype(x.dtype, 'real floating')",
    "left_shift": "bitwise_left_shift(x, y)",
    "loadtxt": "asarray(numpy.loadtxt(path))",
    "logspace": "10.0 ** linspace(start, stop, n)",
    "memmap": "load(path, mmap_mode='r'); or asarray(numpy.memmap(path))",
    "mod": "remainder(x, y)",
    "nan_to_num": "where(isfinite(x), x, 0.0)",
    "ndarray": "NDArray; to make one asarray(obj)",
    "ndim": "x.ndim",
    "power": "pow(x, y)",
    "promote_types": "result_type(x, y)",
    "ptp": "max(x) - min(x)",
    "rad2deg": "x * (180 / pi)",
    "radians": "x * (pi / 180)",
    "rand": "random.uniform(shape=shape)",
    "randint": "random.integers(low, high, shape)",
    "randn": "random.normal(shape=shape)",
    "ravel": "x.ravel()",
    "right_shift": "bitwise_right_shift(x, y)",
    "rint": "round(x)",
    "row_stack": "stack(arrays); of matrices concat(arrays)",
    "savetxt": "numpy.savetxt(path, x); it takes these arrays",
    "select": "where(condition, x, where(condition, x, y))",
    "set_printoptions": "numpy.set_printoptions; and print x.numpy()",
    "seterr": "nothing; no operation warns",
    "setdiff1d": "x[~isin(x, y)]",
    "shape": "x.shape",
    "single": "float32",
    "size": "x.size",
    "tensor": "asarray(obj, copy=True)",
    "transpose": "permute_dims(x, axes); of a matrix x.T",
    "true_divide": "divide(x, y)",
    "union1d": "unique_values(concat([x, y]))",
    "unique": "unique_values(x); or unique_counts, unique_inverse, unique_all",
    "unsqueeze": "expand_dims(x, axis)",
    "vdot": "vecdot(x, y)",
    "vstack": "stack(arrays); of matrices concat(arrays)",
    **{f"arc{name}": f"a{name}(x)" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "arctan2": "atan2(x, y)",
}
"""By NumPy's or PyTorch's name: an expression and, behind a semicolon, what else there is to say."""

RANDOM_FUNCTIONS = {
    "default_rng": "Generator(seed)",
    "rand": "uniform(shape=shape)",
    "randint": "integers(low, high, shape)",
    "randn": "normal(shape=shape)",
    "random": "uniform(shape=shape)",
    "random_sample": "uniform(shape=shape)",
    "seed": "manual_seed(seed)",
    "shuffle": "x[permutation(len(x))]",
    "standard_exponential": "exponential(shape=shape)",
    "standard_normal": "normal(shape=shape)",
}
"""Those of ``numpy.random`` and its generators."""

LINEAR_ALGEBRA = {
    "norm": "vector_norm(x); of a matrix matrix_norm(x)",
}
"""Those of ``numpy.linalg``."""


def no_name(owner: str, name: str, otherwise: Mapping[str, str]) -> AttributeError:
    """The error for a name that a module or class has not, with the way out where one is known.

    >>> print(no_name("Generator", "standard_normal", RANDOM_FUNCTIONS))
    Generator has no attribute 'standard_normal'; write normal(shape=shape)
    """
    way = f"; write {otherwise[name]}" if name in otherwise else ""
    return AttributeError(f"{owner} has no attribute {name!r}{way}", name=name)


def no_function(module: str, name: str) -> AttributeError:
    """The error for a name that the array's namespace has not: most of NumPy's functions take the arrays as they are.

    >>> print(no_function("treadle.ndarray", "concatenate"))
    module 'treadle.ndarray' has no attribute 'concatenate'; write concat(arrays, axis=axis)
    >>> print(no_function("treadle.ndarray", "interp"))
    module 'treadle.ndarray' has no attribute 'interp'; numpy.interp takes these arrays and gives NumPy's
    """
    error = no_name(f"module {module!r}", name, ARRAY_FUNCTIONS)
    if name not in ARRAY_FUNCTIONS and _dispatches(name):
        error.args = (f"{error}; numpy.{name} takes these arrays and gives NumPy's",)
    return error


def _dispatches(name: str) -> bool:
    """Whether NumPy has a function of that name that asks its arguments for ``__array_function__``."""
    if name.startswith("_"):
        return False
    try:
        import numpy
    except ImportError:  # the array works without it
        return False
    return hasattr(getattr(numpy, name, None), "_implementation")
