"""Each row of the guide's table of differences from NumPy is true: what it says of both sides."""

import io
import operator
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import treadle.ndarray as nd

GUIDE = Path(__file__).parents[1] / "docs" / "array-guide.md"
ROWS = [
    line.split(" | ")[0].removeprefix("| ")
    for line in GUIDE.read_text().partition("## All differences from NumPy")[2].splitlines()
    if line.startswith("| ") and not line.startswith(("| subject", "|---"))
]

INTEGERS, ONES, COMPLEX = nd.asarray([1, 2, 3]), nd.ones(3), nd.asarray([1 + 2j, -1, 1 - 1j])
CHECKS: dict[str, Callable[[], object]] = {}


def raises(kind: type[Exception] | tuple[type[Exception], ...], work: Callable[[], object]) -> bool:
    try:
        work()
    except kind:
        return True
    return False


def row(subject: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """The check of the row whose first cell has this text without its backquotes."""

    def keep(check: Callable[[], object]) -> Callable[[], object]:
        CHECKS[subject] = check
        return check

    return keep


def both(subject: str, *facts: Callable[[], object]) -> None:
    """A row whose every fact must hold; they are evaluated when the row is tested."""
    CHECKS[subject] = lambda: all(bool(fact()) for fact in facts)


both(
    "default float",
    lambda: {nd.asarray(1.5).dtype, nd.zeros(1).dtype, nd.linspace(0, 1, 2).dtype} == {nd.float32},
    lambda: {nd.mean(INTEGERS).dtype, nd.exp(INTEGERS).dtype} == {nd.float32},
    lambda: np.zeros(1).dtype == np.mean([1]).dtype == np.exp(1).dtype == np.float64,
)
both(
    "integer with float array",
    lambda: (INTEGERS + ONES).dtype == nd.float32,
    lambda: (np.ones(1, np.int32) + np.ones(1, np.float32)).dtype == np.float64,
)
both(
    "integer array with a Python float, int / int",
    lambda: (INTEGERS * 2.0).dtype == (INTEGERS / INTEGERS).dtype == nd.float32,
    lambda: (np.arange(3) * 2.0).dtype == np.float64,
)
both(
    "scalars of NumPy (np.float64(2) * x)",
    lambda: (np.float64(2) * ONES).dtype == (ONES * np.float64(2)).dtype == nd.float32,
    lambda: (np.float64(2) * np.ones(3, np.float32)).dtype == np.float64,
)
both(
    "dtypes that are not there",
    lambda: raises(nd.DTypeError, lambda: nd.asarray(["a"])),
    lambda: raises(nd.DTypeError, lambda: nd.asarray(np.array([None]))),
    lambda: raises(nd.DTypeError, lambda: nd.asarray(np.zeros(2, dtype=[("a", "i4")]))),
    lambda: raises(nd.DTypeError, lambda: nd.asarray(np.zeros(2, dtype=np.longdouble))),
    lambda: raises((BufferError, nd.DTypeError), lambda: nd.asarray(np.zeros(2, dtype="datetime64[s]"))),
)
both(
    "bfloat16",
    lambda: raises(BufferError, lambda: nd.ones(1, dtype="bfloat16").numpy()),
    lambda: nd.ones(1, dtype="bfloat16").astype("float32").numpy() == [1.0],
    lambda: "ml_dtypes" in sys.modules or raises(TypeError, lambda: np.dtype("bfloat16")),
)
both("names of dtypes", lambda: raises(nd.DTypeError, lambda: nd.dtype("f4")), lambda: np.dtype("f4") == "float32")
both(
    "an element, a full reduction",
    lambda: (ONES[0].ndim, nd.sum(ONES).ndim) == (0, 0),
    lambda: isinstance(np.sum(np.ones(3)), np.float64),
)
both(
    "np.ufunc(x), x + np.ones(3)",
    lambda: raises(TypeError, lambda: np.exp(ONES)),
    lambda: raises(TypeError, lambda: ONES + np.ones(3)),
    lambda: raises(TypeError, lambda: np.ones(3) + ONES),
)
both(
    "x + [1, 2, 3]",
    lambda: raises(TypeError, lambda: operator.add(ONES, [1, 2, 3])),
    lambda: nd.add(ONES, [1, 2, 3]).tolist() == [2.0, 3.0, 4.0],
)


@row("warnings")
def _() -> object:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nd.log(nd.asarray([-1.0])), ONES / 0, INTEGERS // 0
        ours = len(caught)
        np.log(np.asarray([-1.0]))
    return ours == 0 and len(caught) == 1


@row("integer // 0, % 0")
def _() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = (np.arange(3) // 0).tolist()
    return (INTEGERS // 0).tolist() == (INTEGERS % 0).tolist() == theirs == [0, 0, 0]


both(
    "integers to a negative power",
    lambda: (nd.asarray([1, -1, 2, -2]) ** -1).tolist() == [1, -1, 0, 0],
    lambda: raises(ValueError, lambda: np.arange(3) ** -1),
)
both(
    "float to integer that is out of range",
    lambda: nd.asarray([1e10, -1e10, nd.nan]).astype(nd.int32).tolist() == [2**31 - 1, -(2**31), 0],
)
both(
    "layout of results",
    lambda: (nd.ones((3, 2)).T + 1).is_contiguous,
    lambda: not (np.ones((3, 2)).T + 1).flags.c_contiguous,
)


@row("x.sort()")
def _() -> object:
    ours, theirs = nd.asarray([2, 1]), np.asarray([2, 1])
    theirs.sort()
    return ours.sort().tolist() == [1, 2] and ours.tolist() == [2, 1] and theirs.tolist() == [1, 2]


both(
    "sort, argsort",
    lambda: nd.argsort(nd.asarray([1, 1, 0]), descending=True).tolist() == [0, 1, 2],
    lambda: nd.isnan(nd.sort(nd.asarray([nd.nan, 1.0]), descending=True)).tolist() == [False, True],
)
both(
    "unique_values of NaN",
    lambda: nd.unique_values(nd.asarray([nd.nan, nd.nan])).size == 2,
    lambda: np.unique([np.nan, np.nan]).size == 1,
)
both(
    "var, std",
    lambda: nd.var(nd.asarray([1.0, 3.0])).item() == 1.0 and nd.var(nd.asarray([1.0, 3.0]), correction=1).item() == 2.0,
    lambda: raises(TypeError, lambda: nd.var(ONES, ddof=1)),  # type: ignore[call-arg]
)
both(
    "diff, vecdot, cumulative_sum, linalg.vector_norm",
    lambda: raises(TypeError, lambda: nd.diff(ONES, 0)),  # type: ignore[call-arg]
    lambda: raises(TypeError, lambda: nd.vecdot(ONES, ONES, 0)),  # type: ignore[call-arg]
    lambda: raises(TypeError, lambda: nd.cumulative_sum(ONES, 0)),  # type: ignore[call-arg]
    lambda: raises(TypeError, lambda: nd.linalg.vector_norm(ONES, 0)),  # type: ignore[call-arg]
    lambda: nd.sum(ONES, 0).item() == 3.0 and nd.stack([ONES], 0).shape == (1, 3),
)
both(
    "cumulative_sum, take without axis",
    lambda: raises(nd.ShapeError, lambda: nd.cumulative_sum(nd.eye(2))),
    lambda: raises(nd.ShapeError, lambda: nd.take(nd.eye(2), nd.asarray([0]))),
    lambda: nd.cumsum(nd.ones((2, 2))).tolist() == [1.0, 2.0, 3.0, 4.0],
    lambda: np.take(np.eye(2), [1]).tolist() == [0.0],
)
both("where(condition)", lambda: raises(TypeError, lambda: nd.where(ONES > 0)))  # type: ignore[call-arg]
both("round(x, decimals)", lambda: raises(TypeError, lambda: nd.round(ONES, 2)))  # type: ignore[call-arg, arg-type]
both("nonzero of a 0-d array", lambda: raises(nd.ShapeError, lambda: nd.nonzero(nd.asarray(1))))
both("clip, sum ...", lambda: raises(TypeError, lambda: nd.sum(ONES, initial=1)))  # type: ignore[call-arg]
both(
    "names",
    lambda: not any(hasattr(nd, name) for name in ("array", "concatenate", "transpose", "absolute", "arccos", "power")),
    lambda: all(hasattr(nd, name) for name in ("asarray", "concat", "permute_dims", "abs", "acos", "pow")),
)
both(
    "functions without a name here: interp, cov, gradient ...",
    lambda: not any(hasattr(nd, name) for name in ("interp", "cov", "gradient")),
    lambda: isinstance(np.interp(ONES, ONES, ONES), np.ndarray) and np.gradient(INTEGERS).tolist() == [1.0, 1.0, 1.0],
)
both(
    "max, argmax, maximum, < ... of complex numbers",
    lambda: raises(nd.DTypeError, lambda: nd.max(COMPLEX)) and raises(nd.DTypeError, lambda: nd.argmax(COMPLEX)),
    lambda: raises(nd.DTypeError, lambda: nd.maximum(COMPLEX, COMPLEX)) and raises(TypeError, lambda: COMPLEX < 1),
    lambda: np.max(COMPLEX.numpy()) == 1 + 2j and nd.sort(COMPLEX).tolist() == [-1, 1 - 1j, 1 + 2j],
)
both(
    "linalg.eig, linalg.eigvals",
    lambda: nd.linalg.eigvals(nd.eye(2)).dtype == nd.linalg.eig(nd.eye(2)).eigenvectors.dtype == nd.complex64,
    lambda: np.linalg.eigvals(np.eye(2)).dtype == np.float64,
)
both(
    "fft of integers",
    lambda: nd.fft.fft(INTEGERS).dtype == nd.complex64,
    lambda: np.fft.fft(np.arange(3)).dtype == np.complex128,
)
both(
    "x.real, x.imag, x.conj()",
    lambda: not any(hasattr(COMPLEX, name) for name in ("real", "imag", "conj")),
    lambda: nd.real(COMPLEX).tolist() == [1, -1, 1],
)
both("linalg.norm", lambda: not hasattr(nd.linalg, "norm") and nd.linalg.vector_norm(ONES).ndim == 0)
both(
    "flags, base, view, resize, x.shape = ...",
    lambda: not any(hasattr(ONES, name) for name in ("flags", "base", "view", "resize")),
    lambda: raises(AttributeError, lambda: setattr(ONES, "shape", (3, 1))),
)
both(
    "meshgrid, broadcast_arrays",
    lambda: nd.meshgrid(ONES, ONES)[0].readonly and nd.broadcast_arrays(ONES, nd.eye(3))[0].readonly,
    lambda: np.meshgrid([1, 2], [3, 4])[0].flags.writeable,
)
both('x == None, x == "a"', lambda: (ONES == "a") is False, lambda: (np.ones(3) == None).shape == (3,))  # noqa: E711
both("a dtype called, np.float32(3)", lambda: not callable(nd.float32))
both(
    "subclasses, masked arrays, matrices",
    lambda: raises(TypeError, lambda: type("Mine", (nd.NDArray,), {})),
    lambda: raises(nd.DTypeError, lambda: nd.asarray(np.ma.masked_array([1, 2], [False, True]))),
)
both(
    "divmod, round() of an array",
    lambda: raises(TypeError, lambda: divmod(ONES, 2)),  # type: ignore[operator]
    lambda: raises(TypeError, lambda: round(ONES)),  # type: ignore[call-overload]
)
both(
    'format codes, f"{x:.2f}"',
    lambda: f"{ONES[0]:.2f} {ONES[:1]:.1f}" == "1.00 1.0" and raises(nd.ShapeError, lambda: f"{ONES:.2f}"),
    lambda: f"{np.float32(1):.2f}" == "1.00" and raises(TypeError, lambda: f"{np.ones(1):.2f}"),
)
both(
    "dimensions",
    lambda: nd.zeros((1,) * 32).ndim == 32 and raises(nd.ShapeError, lambda: nd.zeros((1,) * 33)),
    lambda: np.zeros((1,) * 64).ndim == 64,
)
both("random numbers", lambda: nd.random.Generator(1).normal(0.0, 1.0, (2,)).shape == (2,))


@row("files")
def _() -> object:
    file = io.BytesIO()
    np.save(file, np.array([None]), allow_pickle=True)
    file.seek(0)
    return raises((nd.FileFormatError, nd.DTypeError), lambda: nd.load(file))


both(
    "how many digits are printed",
    lambda: str(nd.asarray(1 / 3)) == "0.33333334" and str(nd.asarray(1 / 3, dtype=nd.float64)) == "0.33333333",
    lambda: not hasattr(nd, "set_printoptions"),
)
both(
    "text",
    lambda: repr(ONES) == "array([1., 1., 1.])" and "float64" in repr(nd.zeros(1, dtype=nd.float64)),
    lambda: "numpy" in repr(nd.zeros(1, device="numpy")) and "float32" in repr(np.zeros(1, dtype=np.float32)),
)


def plain(subject: str) -> str:
    return re.sub("`", "", subject)


def test_the_table_and_the_checks_have_the_same_rows() -> None:
    assert [plain(subject) for subject in ROWS] == list(CHECKS)


@pytest.mark.parametrize("subject", CHECKS)
def test_row(subject: str) -> None:
    assert CHECKS[subject]()
