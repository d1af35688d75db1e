"""The names and parameters of the Python array API standard 2025.12, of which the package has all but those listed."""

import inspect
from typing import Any

import pytest

import treadle.ndarray as nd
from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction

_FUNCTIONS = """
abs(x) acos(x) acosh(x) add(x1,x2) asin(x) asinh(x) atan(x) atan2(x1,x2) atanh(x) bitwise_and(x1,x2)
bitwise_left_shift(x1,x2) bitwise_invert(x) bitwise_or(x1,x2) bitwise_right_shift(x1,x2) bitwise_xor(x1,x2) ceil(x)
clip(x,min,max) conj(x) copysign(x1,x2) cos(x) cosh(x) divide(x1,x2) equal(x1,x2) exp(x) expm1(x) floor(x)
floor_divide(x1,x2) greater(x1,x2) greater_equal(x1,x2) hypot(x1,x2) imag(x) isfinite(x) isinf(x) isnan(x) less(x1,x2)
less_equal(x1,x2) log(x) log1p(x) log2(x) log10(x) logaddexp(x1,x2) logical_and(x1,x2) logical_not(x)
logical_or(x1,x2) logical_xor(x1,x2) maximum(x1,x2) minimum(x1,x2) multiply(x1,x2) negative(x) nextafter(x1,x2)
not_equal(x1,x2) positive(x) pow(x1,x2) real(x) reciprocal(x) remainder(x1,x2) round(x) sign(x) signbit(x) sin(x)
sinh(x) sqrt(x) square(x) subtract(x1,x2) tan(x) tanh(x) trunc(x)
arange(start,stop,step,dtype,device) asarray(obj,dtype,device,copy) empty(shape,dtype,device)
empty_like(x,dtype,device) eye(n_rows,n_cols,k,dtype,device) full(shape,fill_value,dtype,device)
full_like(x,fill_value,dtype,device) from_dlpack(x,device,copy)
linspace(start,stop,num,dtype,device,endpoint) meshgrid(arrays,indexing)
ones(shape,dtype,device) ones_like(x,dtype,device) tril(x,k) triu(x,k) zeros(shape,dtype,device)
zeros_like(x,dtype,device)
astype(x,dtype,copy,device) can_cast(from_,to) finfo(type) iinfo(type) isdtype(dtype,kind)
result_type(arrays_and_dtypes)
take(x,indices,axis) take_along_axis(x,indices,axis)
matmul(x1,x2) matrix_transpose(x) tensordot(x1,x2,axes) vecdot(x1,x2,axis)
broadcast_arrays(arrays) broadcast_shapes(shapes) broadcast_to(x,shape) concat(arrays,axis) expand_dims(x,axis)
flip(x,axis) moveaxis(x,source,destination) permute_dims(x,axes) repeat(x,repeats,axis) reshape(x,shape,copy)
roll(x,shift,axis) squeeze(x,axis) stack(arrays,axis) tile(x,repetitions) unstack(x,axis)
argmax(x,axis,keepdims) argmin(x,axis,keepdims) count_nonzero(x,axis,keepdims) nonzero(x)
searchsorted(x1,x2,side,sorter) where(condition,x1,x2)
isin(x1,x2,invert) unique_all(x) unique_counts(x) unique_inverse(x) unique_values(x)
argsort(x,axis,descending,stable) sort(x,axis,descending,stable)
cumulative_prod(x,axis,dtype,include_initial) cumulative_sum(x,axis,dtype,include_initial) max(x,axis,keepdims)
mean(x,axis,keepdims) min(x,axis,keepdims) prod(x,axis,dtype,keepdims) std(x,axis,correction,keepdims)
sum(x,axis,dtype,keepdims) var(x,axis,correction,keepdims)
all(x,axis,keepdims) any(x,axis,keepdims) diff(x,axis,n,prepend,append)
linalg.cholesky(x,upper) linalg.cross(x1,x2,axis) linalg.det(x) linalg.diagonal(x,offset) linalg.eigh(x)
linalg.eigvalsh(x) linalg.inv(x) linalg.matmul(x1,x2) linalg.matrix_norm(x,keepdims,ord) linalg.matrix_power(x,n)
linalg.matrix_rank(x,rtol) linalg.matrix_transpose(x) linalg.outer(x1,x2) linalg.pinv(x,rtol) linalg.qr(x,mode)
linalg.slogdet(x) linalg.solve(x1,x2) linalg.svd(x,full_matrices) linalg.svdvals(x) linalg.tensordot(x1,x2,axes)
linalg.trace(x,offset,dtype) linalg.vecdot(x1,x2,axis) linalg.vector_norm(x,axis,keepdims,ord)
"""
FUNCTIONS = _FUNCTIONS.split()

_METHODS = """
T device dtype mT ndim shape size
__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__
__eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__
__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device __iadd__ __radd__
__isub__ __rsub__ __imul__ __rmul__ __itruediv__ __rtruediv__ __ifloordiv__ __rfloordiv__ __ipow__ __rpow__ __imod__
__rmod__ __imatmul__ __rmatmul__ __iand__ __rand__ __ior__ __ror__ __ixor__ __rxor__ __ilshift__ __rlshift__ __irshift__
__rrshift__
"""
METHODS = _METHODS.split()


def _named(path: str) -> Any:
    found: Any = nd
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("declared", FUNCTIONS)
def test_functions_take_the_parameters_of_the_standard(declared: str) -> None:
    """The same names, but that operands which are positional only may be called anything."""
    path, _, rest = declared.rstrip(")").partition("(")
    function = _named(path)
    if isinstance(function, UnaryFunction | BinaryFunction):  # their class cannot tell inspect how each is called
        function = eval(f"lambda {str(vars(function)['__text_signature__'])[1:-1]}: None")
    parameters = inspect.signature(function).parameters
    names = [name for name, each in parameters.items() if each.kind is not inspect.Parameter.POSITIONAL_ONLY]
    positional = len(parameters) - len(names)
    for place, wanted in enumerate(rest.split(",")):
        assert place < positional or wanted in parameters, f"{path} lacks {wanted}"


@pytest.mark.parametrize("name", METHODS)
def test_the_array_has_what_the_standard_names(name: str) -> None:
    assert hasattr(nd.zeros((1, 1)), name)


def test_constants_and_version() -> None:
    assert nd.newaxis is None
    assert nd.nan != nd.nan and nd.inf == float("inf")
    assert abs(nd.e - 2.718281828459045) < 1e-15 and abs(nd.pi - 3.141592653589793) < 1e-15
    assert nd.__array_api_version__ == "2025.12"


def test_names_that_are_loaded_later_are_there_and_listed() -> None:
    for name in nd.__all__:
        assert getattr(nd, name) is not None or name == "newaxis", name
    assert set(nd.__all__) <= set(dir(nd))
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        nd.absent  # type: ignore[attr-defined]  # noqa: B018


def test_operators_shift() -> None:
    x = nd.asarray([1, -8], dtype="int8")
    assert (x << 3).tolist() == [8, -64] and (x >> 1).tolist() == [0, -4]
    assert (2 << nd.asarray([0, 1, 70, -1])).tolist() == [2, 4, 0, 0]
    assert (-2 >> nd.asarray([0, 1, 70, -1])).tolist() == [-2, -1, -1, -1]
    x <<= 1
    x >>= nd.asarray([0, 2], dtype="int8")
    assert x.tolist() == [2, -4]
    with pytest.raises(nd.DTypeError, match="bitwise_left_shift"):
        nd.asarray([1.0]) << 1


def test_wrong_axes_are_index_errors_too() -> None:
    x = nd.ones((2, 3))
    for call in (nd.sum, nd.sort, nd.flip, nd.squeeze, nd.unstack, nd.cumsum):
        with pytest.raises(nd.AxisError, match=r"axis 2 is out of bounds") as caught:
            call(x, axis=2)
        assert isinstance(caught.value, IndexError)
    with pytest.raises(nd.AxisError):
        nd.expand_dims(x, (0, 4))


def test_diagonals_far_outside_are_empty() -> None:
    for far in (2**70, -(2**70)):
        assert nd.sum(nd.eye(2, 3, k=far)).item() == 0
        assert nd.sum(nd.tril(nd.ones((2, 3)), k=far)).item() == (6 if far > 0 else 0)
        assert nd.sum(nd.triu(nd.ones((2, 3)), k=far)).item() == (0 if far > 0 else 6)


def test_masks_of_no_elements() -> None:
    """A mask may have length 0 where the array has not; any other length must agree."""
    x = nd.ones((2, 3))
    assert x[nd.zeros((0,), dtype="bool")].shape == (0, 3)
    assert x[nd.zeros((2, 0), dtype="bool")].shape == (0,)
    x[nd.zeros((0, 3), dtype="bool")] = 5.0
    assert nd.sum(x).item() == 6
    for wrong in ((1,), (2, 1), (2, 3, 0)):
        with pytest.raises(nd.IndexingError):
            x[nd.zeros(wrong, dtype="bool")]
