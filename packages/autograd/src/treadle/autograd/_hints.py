"""What to write instead of an attribute that tensors and modules of other libraries have and these have not."""

from typing import Any

import treadle.ndarray as nd

__all__ = ["no_attribute", "no_function"]

_OTHERWISE = {
    "add": "x + y",
    "allclose": "treadle.ndarray.allclose(x.data, y.data)",
    "bfloat16": "x.astype(treadle.ndarray.bfloat16)",
    "bmm": "x @ y",
    "broadcast_arrays": "treadle.autograd.broadcast_to(x, shape)",
    "broadcast_tensors": "treadle.autograd.broadcast_to(x, shape)",
    "bool": "x.astype(treadle.ndarray.bool)",
    "chunk": "treadle.autograd.split(x, n, axis=axis)",
    "clamp": "treadle.autograd.clip(x, low, high)",
    "clone": "+x, or copy.deepcopy(x) of a leaf",
    "contiguous": "x: every function takes any layout",
    "copy": "+x, or copy.deepcopy(x) of a leaf",
    "copy_": "x.data[...] = y.data",
    "cpu": "x.to('cpu')",
    "cuda": "x.to('cuda:0')",
    "cumulative_prod": "treadle.autograd.cumprod(x, axis=axis)",
    "cumulative_sum": "treadle.autograd.cumsum(x, axis=axis)",
    "data_ptr": "x.data.data_pointer",
    "detach_": "x = x.detach()",
    "dim": "x.ndim",
    "div": "x / y",
    "double": "x.astype(treadle.ndarray.float64)",
    "element_size": "x.data.itemsize",
    "eq": "x == y",
    "expand": "treadle.autograd.broadcast_to(x, shape)",
    "expand_as": "treadle.autograd.broadcast_to(x, y.shape)",
    "fill_": "x.data[...] = value",
    "flatten": "x.reshape(-1), or treadle.nn.functional.flatten(x, 1)",
    "float": "x.astype(treadle.ndarray.float32)",
    "gather": "treadle.autograd.take_along_axis(x, indices, axis=axis)",
    "grad_fn": "x.op",
    "ge": "x >= y",
    "gt": "x > y",
    "half": "x.astype(treadle.ndarray.float16)",
    "index_add": "treadle.autograd.scatter_add(x, indices, y, axis=axis)",
    "index_select": "treadle.autograd.take(x, indices, axis=axis)",
    "int": "x.astype(treadle.ndarray.int32)",
    "is_contiguous": "x.data.is_contiguous",
    "is_cuda": "x.device.type == 'cuda'",
    "itemsize": "x.data.itemsize",
    "le": "x <= y",
    "long": "x.astype(treadle.ndarray.int64)",
    "lt": "x < y",
    "masked_fill": "treadle.autograd.where(mask, value, x)",
    "mm": "x @ y",
    "mul": "x * y",
    "mv": "x @ y",
    "narrow": "x[start : start + length]",
    "nbytes": "x.data.nbytes",
    "ndimension": "x.ndim",
    "ne": "x != y",
    "neg": "-x",
    "nelement": "x.size",
    "new_ones": "treadle.autograd.ones(shape)",
    "new_zeros": "treadle.autograd.zeros(shape)",
    "nonzero": "treadle.ndarray.nonzero(x.data)",
    "numel": "x.size",
    "permute": "x.transpose(*axes)",
    "ravel": "x.reshape(-1)",
    "repeat_interleave": "treadle.autograd.repeat(x, n, axis=axis)",
    "retain_graph": "backward(retain_graph=True)",
    "rsqrt": "1.0 / treadle.autograd.sqrt(x)",
    "scatter": "treadle.autograd.set_item(x, index, value)",
    "stride": "x.data.strides (bytes)",
    "strides": "x.data.strides (bytes)",
    "sub": "x - y",
    "t": "x.T",
    "type": "x.dtype, x.astype(dtype)",
    "type_as": "x.astype(y.dtype)",
    "unbind": "treadle.autograd.unstack(x, axis=axis)",
    "unsqueeze": "treadle.autograd.expand_dims(x, axis=axis)",
    "view_as": "x.reshape(y.shape)",
    "view": "x.reshape(shape): a view where the strides allow it",
    "zero_": "x.data[...] = 0",
}
"""By the name that PyTorch or NumPy has, where the way here has another."""

_MODULE = {
    "FloatTensor": "Tensor(data)",
    "LongTensor": "Tensor(data)",
    "as_tensor": "Tensor(data), which shares memory where it can",
    "cat": "concat(tensors, axis=axis)",
    "cuda": "treadle.cuda",
    "from_numpy": "Tensor(array), which shares the memory",
    "load": "treadle.nn.load_file(path)",
    "manual_seed": "treadle.ndarray.random.manual_seed(seed)",
    "multinomial": "treadle.ndarray.random.choice(n, (count,), p=probabilities) of one row",
    "nn": "treadle.nn",
    "optim": "treadle.optim",
    "rand": "Tensor(treadle.ndarray.random.uniform(shape=shape))",
    "rand_like": "Tensor(treadle.ndarray.random.uniform(shape=x.shape))",
    "randint": "Tensor(treadle.ndarray.random.integers(low, high, shape))",
    "randn": "Tensor(treadle.ndarray.random.normal(shape=shape))",
    "randn_like": "Tensor(treadle.ndarray.random.normal(shape=x.shape))",
    "randperm": "treadle.ndarray.random.permutation(n)",
    "save": "treadle.nn.save_file(state_dict, path)",
}
"""By the name that a function or module has in the ``torch`` namespace."""


def no_function(module: str, name: str) -> AttributeError:
    """The error for a name that the module has not, with the way out where one is known.

    >>> print(no_function("treadle.autograd", "cat"))
    module 'treadle.autograd' has no attribute 'cat'; write concat(tensors, axis=axis)
    >>> print(no_function("treadle.autograd", "unsqueeze"))
    module 'treadle.autograd' has no attribute 'unsqueeze'; write treadle.autograd.expand_dims(x, axis=axis)
    """
    message = f"module {module!r} has no attribute {name!r}"
    way = _MODULE.get(name) or _OTHERWISE.get(name)
    if way is None and name in nd.__all__:
        way = f"treadle.ndarray.{name}" + (", on x.data of a tensor" if callable(getattr(nd, name)) else "")
    return AttributeError(message if way is None else f"{message}; write {way}", name=name)


def no_attribute(tensor: Any, name: str, functions: Any) -> AttributeError:
    """The error for an attribute that a tensor has not, with the way out where one is known.

    >>> import treadle.autograd as autograd
    >>> print(no_attribute(autograd.zeros(2), "exp", autograd.functions))
    Tensor has no attribute 'exp'; write treadle.autograd.exp(x)
    """
    message = f"{type(tensor).__name__} has no attribute {name!r}"
    if name in _OTHERWISE:
        message += f"; write {_OTHERWISE[name]}"
    elif name in functions.__all__:
        message += f"; write treadle.autograd.{name}(x)"
    elif name.endswith("_") and not name.startswith("_") and hasattr(tensor, "data"):
        message += (
            "; tensors of a graph are not changed in place: compute a new one, or write into x.data under no_grad()"
        )
    return AttributeError(message, name=name, obj=tensor)
