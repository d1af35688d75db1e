"""The dtypes of results, by the array API standard 2025.12, sections "Type Promotion Rules" and "Functions".

Beside its rules stand the rules for what the standard leaves open: mixed kinds, halves.
"""

from typing import Any

import pytest

import treadle.ndarray as nd
from treadle.ndarray._dispatch import BinaryFunction

_SAME_KIND = """
         int8  int16 int32 int64 uint8 uint16 uint32 uint64
int8     int8  int16 int32 int64 int16 int32  int64  float64
int16    int16 int16 int32 int64 int16 int32  int64  float64
int32    int32 int32 int32 int64 int32 int32  int64  float64
int64    int64 int64 int64 int64 int64 int64  int64  float64
uint8    int16 int16 int32 int64 uint8 uint16 uint32 uint64
uint16   int32 int32 int32 int64 uint16 uint16 uint32 uint64
uint32   int64 int64 int64 int64 uint32 uint32 uint32 uint64
uint64   float64 float64 float64 float64 uint64 uint64 uint64 uint64
---
           float32   float64    complex64  complex128
float32    float32   float64    complex64  complex128
float64    float64   float64    complex128 complex128
complex64  complex64 complex128 complex64  complex128
complex128 complex128 complex128 complex128 complex128
---
         float16 bfloat16 float32 float64 complex64 complex128
float16  float16 float32 float32 float64 complex64 complex128
bfloat16 float32 bfloat16 float32 float64 complex64 complex128
"""
"""The standard's tables; it leaves uint64 with signed integers open, and knows no halves."""


def _entries() -> list[tuple[str, str, str]]:
    entries = []
    for table in _SAME_KIND.split("---"):
        columns, *rows = (line.split() for line in table.strip().splitlines())
        entries += [(row[0], column, met) for row in rows for column, met in zip(columns, row[1:], strict=True)]
    return entries


@pytest.mark.parametrize(("first", "second", "met"), _entries())
def test_two_dtypes_meet(first: str, second: str, met: str) -> None:
    x, y = nd.ones((2,), dtype=first), nd.ones((), dtype=second)
    for a, b in ((x, y), (y, x)):
        assert nd.result_type(a, b) == nd.result_type(a.dtype, b.dtype) == met
        joined = nd.concat([a.reshape(-1), b.reshape(-1)])
        for result in (a + b, a * b, nd.where(nd.asarray(True), a, b), joined):
            assert result.dtype == met
        assert (a == b).dtype == (a != b).dtype == nd.bool
        if met.startswith("complex"):
            continue
        assert nd.maximum(a, b).dtype == met and (a < b).dtype == nd.bool
        assert (x + y).dtype == met


BOOLEANS, SIGNED = ["bool"], ["int8", "int16", "int32", "int64"]
UNSIGNED, REAL = ["uint8", "uint16", "uint32", "uint64"], ["float32", "float64"]
COMPLEX = {"complex64": "float32", "complex128": "float64"}
EVERY = [*BOOLEANS, *SIGNED, *UNSIGNED, *REAL, *COMPLEX]


def of_real(dtype: str) -> str:
    return COMPLEX.get(dtype, dtype)


@pytest.mark.parametrize("dtype", EVERY)
def test_functions_of_one_array(dtype: str) -> None:
    x = nd.ones((2, 2), dtype=dtype)
    kept = {"positive", "square", "sign", "negative", "conj", "round"} if dtype != "bool" else set()
    for name in kept:
        assert getattr(nd, name)(x).dtype == dtype, name
    for name in ("isnan", "isinf", "isfinite", "logical_not"):
        assert getattr(nd, name)(x).dtype == nd.bool, name
    if dtype != "bool":
        assert nd.abs(x).dtype == nd.real(x).dtype == of_real(dtype)
    if dtype in COMPLEX:
        assert nd.imag(x).dtype == of_real(dtype)
    else:
        for name in ("floor", "ceil", "trunc", "round") if dtype != "bool" else ():
            assert getattr(nd, name)(x).dtype == dtype, name
        for name in ("argmax", "argmin"):
            assert getattr(nd, name)(x).dtype == nd.int64
        assert nd.max(x).dtype == nd.min(x).dtype == nd.sort(x).dtype == dtype
        assert nd.searchsorted(x[0], x[0]).dtype == nd.int64
    for name in ("exp", "sqrt", "sin"):  # integers, which the standard leaves open, become float32
        assert getattr(nd, name)(x).dtype == (dtype if dtype[:5] in ("float", "compl") else "float32"), name
    assert nd.any(x).dtype == nd.all(x).dtype == nd.bool
    assert nd.count_nonzero(x).dtype == nd.argsort(x).dtype == nd.nonzero(x)[0].dtype == nd.int64
    values, indices, inverse, counts = nd.unique_all(x)
    assert values.dtype == dtype and indices.dtype == inverse.dtype == counts.dtype == nd.int64


@pytest.mark.parametrize("dtype", EVERY)
def test_sums_and_products(dtype: str) -> None:
    """Integers are summed in the default integer of their sign, floats in their own dtype; dtype= decides."""
    x = nd.ones((3,), dtype=dtype)
    wide = "int64" if dtype in BOOLEANS + SIGNED else "uint64" if dtype in UNSIGNED else dtype
    for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
        function: Any = getattr(nd, name)
        assert function(x).dtype == wide, name
        assert function(x, dtype="complex128").dtype == nd.complex128
    assert nd.linalg.trace(nd.ones((2, 2), dtype=dtype)).dtype == wide
    floating = dtype if dtype in REAL or dtype in COMPLEX else "float32"
    assert nd.mean(x).dtype == floating
    if dtype not in COMPLEX:
        assert nd.var(x).dtype == nd.std(x).dtype == floating


@pytest.mark.parametrize("dtype", EVERY)
def test_python_scalars_are_weak(dtype: str) -> None:
    """A scalar of the array's kind, or one below it, takes its dtype; beyond that, the default of the scalar's kind."""
    x = nd.ones((2,), dtype=dtype)
    kind = x.dtype.kind
    if kind != "b":
        assert (x + 1).dtype == (2 * x).dtype == dtype
    assert (x + 1.0).dtype == (dtype if kind in "fc" else "float32")
    wide = dtype if kind == "c" else "complex128" if dtype == "float64" else "complex64"
    assert (x * 1j).dtype == wide
    assert nd.where(x == 1, x, 0 if kind in "iufc" else False).dtype == dtype


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_linear_algebra(dtype: str) -> None:
    x, linalg = nd.eye(2, dtype=dtype), nd.linalg
    real, wide = of_real(dtype), "complex128" if dtype in ("float64", "complex128") else "complex64"
    same = [
        linalg.cholesky(x),
        linalg.det(x),
        linalg.inv(x),
        linalg.pinv(x),
        linalg.solve(x, x),
        linalg.outer(x[0], x[0]),
    ]
    same += [*linalg.qr(x), linalg.svd(x).U, linalg.svd(x).Vh, linalg.eigh(x).eigenvectors, linalg.slogdet(x).sign]
    same += [x @ x, linalg.matrix_power(x, 2), linalg.tensordot(x, x), linalg.vecdot(x, x), linalg.diagonal(x)]
    same += [linalg.outer(x[0], x[0])]
    assert {each.dtype.name for each in same} == {dtype}
    reals = [
        linalg.svd(x).S,
        linalg.svdvals(x),
        linalg.eigh(x).eigenvalues,
        linalg.eigvalsh(x),
        linalg.slogdet(x).logabsdet,
    ]
    reals += [linalg.vector_norm(x), linalg.matrix_norm(x)]
    assert {each.dtype.name for each in reals} == {real}
    assert {each.dtype.name for each in (*linalg.eig(x), linalg.eigvals(x))} == {wide}
    assert linalg.matrix_rank(x).dtype == nd.int64


COMPARISONS = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_give_booleans(name: str) -> None:
    function: BinaryFunction = getattr(nd, name)
    for dtype in (*BOOLEANS, *SIGNED, *UNSIGNED, *REAL):
        x = nd.ones((2,), dtype=dtype)
        assert function(x, x).dtype == nd.bool
