"""The names and parameters of the Python array API standard 2025.12, all of which the package has."""

import inspect
from typing import Any

import pytest

import treadle.ndarray as nd
from treadle.ndarray._dispatch import BinaryFunction, UnaryFunction

_UNARY = """
abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log
log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc
finfo:type iinfo:type nonzero matrix_transpose unique_all unique_counts unique_inverse unique_values
linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_transpose linalg.slogdet
linalg.svdvals
"""
_BINARY = """
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide
greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply
nextafter not_equal pow remainder subtract matmul linalg.matmul linalg.outer linalg.solve
"""
_OTHERS = """
clip(x, /, min=None, max=None)
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy")
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, axis)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
searchsorted(x1, x2, /, *, side="left", sorter=None)
where(condition, x1, x2, /)
isin(x1, x2, /, *, invert=False)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.diagonal(x, /, *, offset=0)
linalg.matrix_norm(x, /, *, keepdims=False, ord="fro")
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode="reduced")
linalg.svd(x, /, *, full_matrices=True)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
__array_namespace_info__()
"""
FUNCTIONS = [f"{name}({operand or 'x'}, /)" for name, _, operand in (each.partition(":") for each in _UNARY.split())]
FUNCTIONS += [f"{name}(x1, x2, /)" for name in _BINARY.split()]
_ALONG_AXIS, _ALONG_AXES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), ("fftn", "ifftn", "rfftn", "irfftn")
FUNCTIONS += [f"fft.{name}(x, /, *, n=None, axis=-1, norm='backward')" for name in _ALONG_AXIS]
FUNCTIONS += [f"fft.{name}(x, /, *, s=None, axes=None, norm='backward')" for name in _ALONG_AXES]
FUNCTIONS += _OTHERS.strip().splitlines()
"""The signatures of the standard's functions, sections "Functions" and "Extensions"."""

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


def _signature(function: Any) -> inspect.Signature:
    if isinstance(function, UnaryFunction | BinaryFunction):  # their class cannot tell inspect how each is called
        function = eval(f"lambda {str(vars(function)['__text_signature__'])[1:-1]}: None")
    return inspect.signature(function)


@pytest.mark.parametrize("declared", FUNCTIONS, ids=lambda declared: declared.partition("(")[0])
def test_functions_take_the_parameters_of_the_standard(declared: str) -> None:
    """By position what the standard has by position, by name what it has by name, with its defaults."""
    path, _, rest = declared.partition("(")
    wanted = inspect.signature(eval(f"lambda {rest.rstrip(')')}: None")).parameters.values()
    parameters = _signature(_named(path)).parameters
    in_order = list(parameters.values())
    for place, each in enumerate(wanted):
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL):
            found = in_order[place]
            positional = (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
            assert found.kind == each.kind or (found.kind in positional and each.kind == each.POSITIONAL_ONLY), path
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            found = parameters[each.name]
            assert found.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY), f"{path}: {each.name} by keyword"
        assert each.default in (each.empty, found.default), f"{path}: the default of {each.name}"
    needed = [each for each in in_order if each.default is each.empty and each.kind != each.VAR_POSITIONAL]
    assert len(needed) <= len(wanted), f"{path} needs more than the standard gives"


BEYOND = {"cond", "householder_product", "lstsq", "matrix_exp", "multi_dot", "solve_triangular"}
"""Linear algebra that the standard does not have."""


def test_all_functions_of_the_standard_are_named_once() -> None:
    names = [declared.partition("(")[0] for declared in FUNCTIONS]
    assert len(names) == len(set(names)) == 175
    for extension in ("linalg", "fft"):
        listed = {name.partition(".")[2] for name in names if name.startswith(f"{extension}.")}
        assert listed == set(getattr(nd, extension).__all__) - BEYOND


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
