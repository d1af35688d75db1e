"""A function of arrays and the tensor function of the same name: one meaning, the same values and the same errors.

The kind of fault of jax-ml/jax#5343 (eye of a float), numpy/numpy#30521 and dask/dask#10811 (axes of tensordot),
numpy/numpy#3763 (the norm of nothing), a flag where an axis stands: an argument that makes no sense is passed over in
silence, or told by an error from deep inside, and one that makes sense is not taken.
"""

import contextlib
import gc
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd

OPERANDS = {
    "a": np.arange(1.0, 7.0).reshape(2, 3),
    "c": np.arange(24.0).reshape(2, 3, 4),
    "v": np.array([3.0, 1.0, 2.0]),
    "e": np.zeros((0, 3)),
    "s": np.array(2.0),
    "q": np.array([[2.0, 1.0], [1.0, 3.0]]),
    "i": np.array([2, 0, 1]),
}

REFUSED = """
    sum(a,axis=1.0) sum(a,axis=(0,0)) max(e) argmax(a,axis=(0,1)) cumsum(a,axis=2) diff(a,n=-1) diff(v,n=1.5)
    topk(v,1.0) topk(v,4) reshape(a,(-1,-1)) reshape(a,(2.0,3)) reshape(e,(-1,0)) permute_dims(a,(0,0))
    moveaxis(c,(0,0),(1,2)) moveaxis(c,0,(0,1)) swapaxes(a,0,1.5) squeeze(a,axis=0) expand_dims(a,axis=4)
    flip(a,axis=(0,0)) roll(a,(1,2),axis=(0,)) roll(a,1.5) rot90(a,1,(0,)) rot90(a,1.5) rot90(a,1,(0,-2))
    tile(a,(1.5,)) repeat(a,1.5) pad(a,1.5) pad(v,'a') pad(e,1,mode='edge') pad(a,1,mode='nope')
    split(a,1.5) split(a,4,axis=1) stack([a,v]) concat([a,c]) concat([]) concat([s,s]) unstack(s) tril(v) triu(a,k=1.5)
    diagonal(c,axis1=0,axis2=0) diagonal(a,axis1=0,axis2=3) diagonal(a,offset=1.5) trace(a,offset=0.0) vecdot(s,s)
    vecdot(v,v,axis=1) vecdot(a,v,axis=0) outer(a,v) tensordot(a,a,axes=((0,0),(0,0)))
    tensordot(a,a,axes=((5,),(0,))) tensordot(a,a,axes='ab') tensordot(a,a,axes=-1) tensordot(a,a,axes=((0,),))
    tensordot(a,a,axes=None) tensordot(a,a,axes=((0,),(0,),(0,))) clip(a,'x',1) take(a,i) take(v,v) one_hot(i,3.0)
    scatter_add(v,v,v) eye(2.5) eye(2,2.5) arange(0,1,0) linspace(0,1,2.5) full((-1,),5) logsumexp(a,axis=1.0)
    sum(a,axis=True) sum(a,axis=(0,True)) flip(a,axis=False) permute_dims(a,(True,False)) reshape(a,(True,6))
    zeros((2,True)) broadcast_to(v,(True,3)) arange(inf) arange(0*inf) arange(0,1,inf) arange(-1*inf,0)
    linalg.matrix_norm(a,ord=7) linalg.vector_norm(a,ord='fro') linalg.vector_norm(e,ord=-1*inf) linalg.det(a)
    linalg.matrix_power(q,1.5) linalg.matrix_power(a,2) linalg.cross(v,v,axis=3) linalg.cross(a,q) linalg.inv(0*q)
    fft.fft(a,norm='x') fft.ifft(a,n=2.5) fft.fft(a,n=0) fft.fftn(a,axes=(0,0)) fft.rfft(1j*a) fft.fftshift(a,axes=5)
"""

COMPUTED = """
    sum(a,axis=()) max(e,axis=1) cumsum(a) cumsum(s) cumprod(c) logcumsumexp(a) cumsum(e) diff(v,n=5) diff(v,n=2**40)
    moveaxis(c,(0,1),(1,0)) moveaxis(c,(0,2),(-1,0)) moveaxis(c,(),()) diagonal(c,axis1=0,axis2=1)
    diagonal(c,axis1=2,axis2=0,offset=1) vecdot(a,a,axis=0) vecdot(a,v) linalg.cross(a,a) rot90(c,-3,(1,2))
    roll(a,2**40,axis=1) tensordot(a,a,axes=((0,1),(0,1))) tensordot(a,c,axes=((-1,),(1,))) split(a,[1,5],axis=1)
    linalg.vector_norm(e,ord=inf) linalg.vector_norm(e,ord=inf,axis=0) linalg.vector_norm(e,ord=inf,axis=1)
    linalg.matrix_norm(e,ord=inf) linalg.matrix_power(q,-2) fft.fftn(a,axes=()) tile(e,(2,2)) clip(a,4,2) repeat(s,3)
    pad(a,((1,0),))
"""


class _Names(dict[str, Any]):
    """The names of an expression: operands, and the functions of a module."""

    def __init__(self, module: Any, operand: Any) -> None:
        super().__init__(inf=float("inf"))
        self.module, self.operand = module, operand

    def __missing__(self, name: str) -> Any:
        return self.operand(OPERANDS[name].copy()) if name in OPERANDS else getattr(self.module, name)


def _on_arrays(expression: str) -> Any:
    return eval(expression, {"__builtins__": {}}, _Names(nd, nd.asarray))


def _on_tensors(expression: str) -> Any:
    def tensor(values: Any) -> ag.Tensor:
        return ag.Tensor(values, requires_grad=values.dtype.kind == "f")

    return eval(expression, {"__builtins__": {}}, _Names(ag, tensor))


@pytest.mark.parametrize("expression", REFUSED.split())
def test_what_makes_no_sense_is_refused_by_name_on_either_level(expression: str) -> None:
    for function in (_on_arrays, _on_tensors):
        with pytest.raises(nd.TreadleError) as caught:
            function(expression)
        name = expression.partition("(")[0].rpartition(".")[2]
        assert str(caught.value).lower().replace("_", "").startswith(name.replace("_", ""))


def test_refusals_leave_nothing_behind() -> None:
    """pytorch/pytorch#5569 where a call fails: no cycle of an error, its traceback and the operands."""
    gc.collect()
    gc.disable()
    try:
        before = ag.live_tensor_count(), nd.memory_statistics()["blocks"]
        for expression in REFUSED.split():
            for function in (_on_arrays, _on_tensors):
                with contextlib.suppress(nd.TreadleError):
                    function(expression)
            assert (ag.live_tensor_count(), nd.memory_statistics()["blocks"]) == before, expression
    finally:
        gc.enable()


CONVERTED: dict[str, Any] = {
    "axis": lambda: nd.flip([nd.ones(3)], axis=5),  # type: ignore[arg-type]
    "ragged": lambda: nd.stack([[1, 2], [1, 2, 3]]),  # type: ignore[list-item]
    "kind": lambda: nd.tril([[1.0, 2.0], [3.0, 4.0]], k=1.5),  # type: ignore[arg-type]
    "value": lambda: nd.quantile([1.0, 2.0], 5),  # type: ignore[arg-type]
    "singular": lambda: nd.linalg.solve([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", CONVERTED)
def test_errors_about_converted_operands_leave_no_cycle(name: str) -> None:
    """The same where lists stand for arrays: the call is made twice."""
    for round_ in range(2):  # the first imports what explains
        gc.collect()
        with contextlib.suppress(nd.TreadleError):
            CONVERTED[name]()
        assert round_ == 0 or gc.collect() == 0


@pytest.mark.parametrize("expression", COMPUTED.split())
def test_tensors_take_the_arguments_that_arrays_take(expression: str) -> None:
    expected, found = _on_arrays(expression), _on_tensors(expression)
    pairs = zip(expected, found, strict=True) if isinstance(expected, list | tuple) else [(expected, found)]
    for array, tensor in pairs:
        assert tensor.shape == array.shape and tensor.dtype is array.dtype
        np.testing.assert_allclose(tensor.numpy(), array.numpy(), rtol=1e-12)


@pytest.mark.parametrize("bound", [np.array([2.0, 3.0, 4.0]), nd.asarray([2.0, 3.0, 4.0]), [2.0, 3.0, 4.0], "2"])
def test_bounds_that_are_no_tensors_are_not_passed_over(bound: Any) -> None:
    x = ag.Tensor([1.0, 5.0, 9.0])
    for bounds in ((bound, None), (None, bound)):
        with pytest.raises(nd.DTypeError, match="clip"):
            ag.clip(x, *bounds)


def test_a_tensor_that_stands_for_a_number_keeps_its_gradient_or_is_refused() -> None:
    """Never a number without its graph."""
    x, value = ag.Tensor([1.0, 2.0], requires_grad=True), ag.Tensor(3.0, requires_grad=True)
    with pytest.raises(nd.TreadleError):
        ag.pad(x, 1, constant_values=value)  # type: ignore[arg-type]
    y = ag.clip(x, value, None)
    y.sum().backward()
    assert value.grad is not None and value.grad.item() == 2.0
