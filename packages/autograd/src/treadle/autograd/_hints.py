"""What to write instead of an attribute that tensors of other libraries have and these have not."""

from typing import Any

__all__ = ["no_attribute"]

_OTHERWISE = {
    "bfloat16": "x.astype(treadle.ndarray.bfloat16)",
    "bmm": "x @ y",
    "bool": "x.astype(treadle.ndarray.bool)",
    "chunk": "treadle.autograd.split(x, n, axis=axis)",
    "clamp": "treadle.autograd.clip(x, low, high)",
    "clone": "+x, or copy.deepcopy(x) of a leaf",
    "contiguous": "x: every function takes any layout",
    "copy": "+x, or copy.deepcopy(x) of a leaf",
    "cpu": "x.to('cpu')",
    "cuda": "x.to('cuda:0')",
    "data_ptr": "x.data.data_pointer",
    "detach_": "x = x.detach()",
    "dim": "x.ndim",
    "double": "x.astype(treadle.ndarray.float64)",
    "element_size": "x.data.itemsize",
    "eq": "x == y",
    "expand": "treadle.autograd.broadcast_to(x, shape)",
    "fill_": "x.data[...] = value",
    "flatten": "x.reshape(-1), or treadle.nn.functional.flatten(x, 1)",
    "float": "x.astype(treadle.ndarray.float32)",
    "gather": "treadle.autograd.take_along_axis(x, indices, axis=axis)",
    "grad_fn": "x.op",
    "half": "x.astype(treadle.ndarray.float16)",
    "index_add": "treadle.autograd.scatter_add(x, indices, y, axis=axis)",
    "index_select": "treadle.autograd.take(x, indices, axis=axis)",
    "int": "x.astype(treadle.ndarray.int32)",
    "is_contiguous": "x.data.is_contiguous",
    "is_cuda": "x.device.type == 'cuda'",
    "itemsize": "x.data.itemsize",
    "long": "x.astype(treadle.ndarray.int64)",
    "masked_fill": "treadle.autograd.where(mask, value, x)",
    "mm": "x @ y",
    "mul": "x * y",
    "mv": "x @ y",
    "narrow": "x[start : start + length]",
    "nbytes": "x.data.nbytes",
    "ndimension": "x.ndim",
    "neg": "-x",
    "nelement": "x.size",
    "new_ones": "treadle.autograd.ones(shape)",
    "new_zeros": "treadle.autograd.zeros(shape)",
    "numel": "x.size",
    "permute": "x.transpose(*axes)",
    "ravel": "x.reshape(-1)",
    "retain_graph": "backward(retain_graph=True)",
    "rsqrt": "1.0 / treadle.autograd.sqrt(x)",
    "scatter": "treadle.autograd.set_item(x, index, value)",
    "stride": "x.data.strides (bytes)",
    "strides": "x.data.strides (bytes)",
    "sub": "x - y",
    "t": "x.T",
    "type": "x.dtype, x.astype(dtype)",
    "unbind": "treadle.autograd.unstack(x, axis=axis)",
    "unsqueeze": "treadle.autograd.expand_dims(x, axis=axis)",
    "view": "x.reshape(shape): a view where the strides allow it",
    "zero_": "x.data[...] = 0",
}
"""By the name that PyTorch or NumPy has, where the way here has another."""


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
