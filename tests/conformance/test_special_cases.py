"""The tables "Special cases" of the array API standard 2025.12 (IEEE 754-2019, section 9.2; C11, annex F and G).

Each entry is read as ``operands -> result``; the sign of a zero counts, unless ``~`` stands before it.
"""

import math
from collections.abc import Iterator
from typing import Any

import pytest

import treadle.ndarray as nd
from strategies import DEVICES

VALUES = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "true": 1.0, "false": 0.0}

_REAL = """
abs: -0 -> 0; -inf -> inf; inf -> inf; nan -> nan
acos: nan -> nan; 1.5 -> nan; -1.5 -> nan; 1 -> 0; -1 -> pi
acosh: nan -> nan; 0.5 -> nan; 1 -> 0; inf -> inf
asin: nan -> nan; 1.5 -> nan; -1.5 -> nan; 0 -> 0; -0 -> -0
asinh: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf
atan: nan -> nan; 0 -> 0; -0 -> -0; inf -> pi/2; -inf -> -pi/2
atanh: nan -> nan; -1.5 -> nan; 1.5 -> nan; -1 -> -inf; 1 -> inf; 0 -> 0; -0 -> -0
ceil: nan -> nan; inf -> inf; -inf -> -inf; 0 -> 0; -0 -> -0; -0.5 -> -0; 0.5 -> 1
cos: nan -> nan; 0 -> 1; -0 -> 1; inf -> nan; -inf -> nan
cosh: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> inf
exp: nan -> nan; 0 -> 1; -0 -> 1; inf -> inf; -inf -> 0
expm1: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -1
floor: nan -> nan; inf -> inf; -inf -> -inf; 0 -> 0; -0 -> -0; -0.5 -> -1; 0.5 -> 0
isfinite: inf -> false; -inf -> false; nan -> false; -0 -> true
isinf: inf -> true; -inf -> true; nan -> false; -0 -> false
isnan: inf -> false; nan -> true; 0 -> false
log: nan -> nan; -1 -> nan; -inf -> nan; 0 -> -inf; -0 -> -inf; 1 -> 0; inf -> inf
log1p: nan -> nan; -2 -> nan; -1 -> -inf; 0 -> 0; -0 -> -0; inf -> inf
log2: nan -> nan; -1 -> nan; 0 -> -inf; -0 -> -inf; 1 -> 0; inf -> inf
log10: nan -> nan; -1 -> nan; 0 -> -inf; -0 -> -inf; 1 -> 0; inf -> inf
negative: 0 -> -0; -0 -> 0; inf -> -inf; nan -> nan
reciprocal: 0 -> inf; -0 -> -inf; inf -> 0; -inf -> -0; nan -> nan
round: nan -> nan; inf -> inf; 0 -> 0; -0 -> -0; 0.5 -> 0; -0.5 -> -0; 1.5 -> 2; 2.5 -> 2; -2.5 -> -2
sign: nan -> nan; 0 -> 0; -0 -> 0; 2 -> 1; -inf -> -1
signbit: 0 -> false; -0 -> true; inf -> false; -inf -> true; 2 -> false; -2 -> true
sin: nan -> nan; 0 -> 0; -0 -> -0; inf -> nan; -inf -> nan
sinh: nan -> nan; 0 -> 0; -0 -> -0; inf -> inf; -inf -> -inf
sqrt: nan -> nan; -1 -> nan; 0 -> 0; -0 -> -0; inf -> inf
square: -0 -> 0; -inf -> inf; nan -> nan
tan: nan -> nan; 0 -> 0; -0 -> -0; inf -> nan; -inf -> nan
tanh: nan -> nan; 0 -> 0; -0 -> -0; inf -> 1; -inf -> -1
trunc: nan -> nan; inf -> inf; 0 -> 0; -0 -> -0; 0.5 -> 0; -0.5 -> -0
add: nan,1 -> nan; inf,-inf -> nan; inf,inf -> inf; -inf,1 -> -inf; -0,-0 -> -0; -0,0 -> 0; 2,-2 -> 0
atan2: nan,1 -> nan; 1,nan -> nan; 2,0 -> pi/2; 2,-0 -> pi/2; 0,2 -> 0; 0,0 -> 0; 0,-0 -> pi; 0,-2 -> pi
atan2: -0,2 -> -0; -0,0 -> -0; -0,-0 -> -pi; -0,-2 -> -pi; -2,0 -> -pi/2; -2,-0 -> -pi/2; 2,inf -> 0
atan2: 2,-inf -> pi; -2,inf -> -0; -2,-inf -> -pi; inf,2 -> pi/2; -inf,2 -> -pi/2; inf,inf -> pi/4
atan2: inf,-inf -> 3*pi/4; -inf,inf -> -pi/4; -inf,-inf -> -3*pi/4
copysign: 2,-0 -> -2; 2,0 -> 2; -2,inf -> 2; inf,-1 -> -inf; 0,-1 -> -0; nan,-1 -> nan
divide: nan,1 -> nan; inf,-inf -> nan; 0,-0 -> nan; 0,2 -> 0; 0,-2 -> -0; -0,2 -> -0; -0,-2 -> 0; 2,0 -> inf
divide: 2,-0 -> -inf; -2,0 -> -inf; -2,-0 -> inf; inf,2 -> inf; inf,-2 -> -inf; -inf,-2 -> inf; 2,inf -> 0
divide: 2,-inf -> -0; -2,inf -> -0; -2,-inf -> 0; inf,0 -> inf; inf,-0 -> -inf
floor_divide: nan,1 -> nan; inf,inf -> nan; 0,0 -> nan; 0,2 -> 0; 0,-2 -> -0; -0,2 -> -0; -0,-2 -> 0; 2,0 -> inf
floor_divide: 2,-0 -> -inf; -2,0 -> -inf; -2,-0 -> inf; 2,inf -> 0; -2,-inf -> 0; 7,-2 -> -4; -7,2 -> -4
hypot: inf,nan -> inf; nan,-inf -> inf; nan,1 -> nan; 0,-0 -> 0; -2,0 -> 2
logaddexp: nan,1 -> nan; 1,nan -> nan; inf,1 -> inf; 1,inf -> inf; -inf,1 -> 1; -inf,-inf -> -inf
maximum: nan,1 -> nan; 1,nan -> nan; inf,nan -> nan; -inf,1 -> 1
minimum: nan,1 -> nan; 1,nan -> nan; -inf,nan -> nan; inf,1 -> 1
multiply: nan,1 -> nan; inf,0 -> nan; -0,inf -> nan; inf,-inf -> -inf; inf,-2 -> -inf; 0,-2 -> -0; -0,-2 -> 0
nextafter: nan,1 -> nan; 1,nan -> nan; -0,0 -> 0; 0,-0 -> -0; inf,inf -> inf
pow: 1,nan -> 1; 1,inf -> 1; nan,0 -> 1; inf,-0 -> 1; nan,2 -> nan; 2,nan -> nan; 2,inf -> inf; -2,-inf -> 0
pow: -1,inf -> 1; -1,-inf -> 1; 0.5,inf -> 0; -0.5,-inf -> inf; inf,2 -> inf; inf,-2 -> 0; -inf,3 -> -inf
pow: -inf,2 -> inf; -inf,2.5 -> inf; -inf,-3 -> -0; -inf,-2 -> 0; 0,2 -> 0; 0,-2 -> inf; -0,3 -> -0; -0,2 -> 0
pow: -0,2.5 -> 0; -0,-3 -> -inf; -0,-2 -> inf; -0,-2.5 -> inf; -2,0.5 -> nan; -2,3 -> -8
remainder: nan,1 -> nan; 1,nan -> nan; inf,inf -> nan; inf,2 -> nan; 2,0 -> nan; 0,-0 -> nan; 0,2 -> 0; -0,2 -> 0
remainder: 0,-2 -> -0; -0,-2 -> -0; 2,inf -> 2; 2,-inf -> -inf; -2,inf -> inf; -2,-inf -> -2; 4,2 -> 0; -4,2 -> 0
remainder: 4,-2 -> -0; -4,-2 -> -0; 7,-2 -> -1; -7,2 -> 1
subtract: inf,inf -> nan; inf,-inf -> inf; -0,0 -> -0; 0,0 -> 0; 2,2 -> 0
"""

_COMPLEX = """
acos: 0,0 -> pi/2,-0; -0,0 -> pi/2,-0; 0,nan -> pi/2,nan; -0,nan -> pi/2,nan; 2,inf -> pi/2,-inf; 2,nan -> nan,nan
acos: -inf,2 -> pi,-inf; inf,2 -> 0,-inf; -inf,inf -> 3*pi/4,-inf; inf,inf -> pi/4,-inf; inf,nan -> nan,~inf
acos: -inf,nan -> nan,~inf; nan,2 -> nan,nan; nan,inf -> nan,-inf; nan,nan -> nan,nan
acosh: 0,0 -> 0,pi/2; -0,0 -> 0,pi/2; 2,inf -> inf,pi/2; 2,nan -> nan,nan; 0,nan -> nan,~pi/2; -inf,2 -> inf,pi
acosh: inf,2 -> inf,0; -inf,inf -> inf,3*pi/4; inf,inf -> inf,pi/4; inf,nan -> inf,nan; -inf,nan -> inf,nan
acosh: nan,2 -> nan,nan; nan,inf -> inf,nan; nan,nan -> nan,nan
asinh: 0,0 -> 0,0; 2,inf -> inf,pi/2; 2,nan -> nan,nan; inf,2 -> inf,0; inf,inf -> inf,pi/4; inf,nan -> inf,nan
asinh: nan,0 -> nan,0; nan,2 -> nan,nan; nan,inf -> ~inf,nan; nan,nan -> nan,nan
atanh: 0,0 -> 0,0; 0,nan -> 0,nan; 1,0 -> inf,0; 2,inf -> 0,pi/2; 2,nan -> nan,nan; inf,2 -> 0,pi/2
atanh: inf,inf -> 0,pi/2; inf,nan -> 0,nan; nan,2 -> nan,nan; nan,inf -> ~0,pi/2; nan,nan -> nan,nan
cosh: 0,0 -> 1,0; 0,inf -> nan,~0; 0,nan -> nan,~0; 2,inf -> nan,nan; 2,nan -> nan,nan; inf,0 -> inf,0
cosh: inf,2 -> -inf,inf; inf,inf -> ~inf,nan; inf,nan -> inf,nan; nan,0 -> nan,~0; nan,2 -> nan,nan; nan,nan -> nan,nan
exp: 0,0 -> 1,0; -0,0 -> 1,0; 2,inf -> nan,nan; 2,nan -> nan,nan; inf,0 -> inf,0; -inf,2 -> -0,0; inf,2 -> -inf,inf
exp: -inf,inf -> ~0,~0; inf,inf -> ~inf,nan; -inf,nan -> ~0,~0; inf,nan -> ~inf,nan; nan,0 -> nan,0
exp: nan,2 -> nan,nan; nan,nan -> nan,nan
expm1: 0,0 -> 0,0; -0,0 -> 0,0; 2,inf -> nan,nan; 2,nan -> nan,nan; inf,0 -> inf,0; -inf,2 -> -1,0
expm1: inf,2 -> -inf,inf; -inf,inf -> -1,~0; inf,inf -> ~inf,nan; -inf,nan -> -1,~0; inf,nan -> ~inf,nan
expm1: nan,0 -> nan,0; nan,2 -> nan,nan; nan,nan -> nan,nan
log: -0,0 -> -inf,pi; 0,0 -> -inf,0; 2,inf -> inf,pi/2; 2,nan -> nan,nan; -inf,2 -> inf,pi; inf,2 -> inf,0
log: -inf,inf -> inf,3*pi/4; inf,inf -> inf,pi/4; inf,nan -> inf,nan; -inf,nan -> inf,nan; nan,2 -> nan,nan
log: nan,inf -> inf,nan; nan,nan -> nan,nan
log1p: -1,0 -> -inf,0; 2,inf -> inf,pi/2; 2,nan -> nan,nan; -inf,2 -> inf,pi; inf,2 -> inf,0; -inf,inf -> inf,3*pi/4
log1p: inf,inf -> inf,pi/4; inf,nan -> inf,nan; -inf,nan -> inf,nan; nan,2 -> nan,nan; nan,inf -> inf,nan
round: 1.5,-2.5 -> 2,-2; -0.5,0.5 -> -0,0; nan,inf -> nan,inf; -inf,-0 -> -inf,-0
sign: 0,0 -> 0,0; nan,2 -> nan,nan; 2,nan -> nan,nan; 0,2 -> 0,1
sinh: 0,0 -> 0,0; 0,inf -> ~0,nan; 0,nan -> ~0,nan; 2,inf -> nan,nan; 2,nan -> nan,nan; inf,0 -> inf,0
sinh: inf,2 -> -inf,inf; inf,inf -> ~inf,nan; inf,nan -> ~inf,nan; nan,0 -> nan,0; nan,2 -> nan,nan; nan,nan -> nan,nan
sqrt: 0,0 -> 0,0; -0,0 -> 0,0; 2,inf -> inf,inf; nan,inf -> inf,inf; -inf,inf -> inf,inf; 2,nan -> nan,nan
sqrt: -inf,2 -> 0,inf; inf,2 -> inf,0; -inf,nan -> nan,~inf; inf,nan -> inf,nan; nan,2 -> nan,nan; nan,nan -> nan,nan
tanh: 0,0 -> 0,0; 2,inf -> nan,nan; 2,nan -> nan,nan; inf,1 -> 1,0; inf,inf -> 1,~0; inf,nan -> 1,~0; nan,0 -> nan,0
tanh: nan,2 -> nan,nan; nan,nan -> nan,nan
"""

Case = tuple[str, tuple[str, ...], tuple[str, ...]]


def cases(table: str) -> Iterator[Any]:
    """Op, operands and results, as texts."""
    for line in table.strip().splitlines():
        op, _, entries = line.partition(": ")
        for entry in entries.split("; "):
            operands, _, results = entry.partition(" -> ")
            yield pytest.param(op, operands.split(","), results.split(","), id=f"{op}({operands})")


def value(text: str) -> float:
    number = eval(text.removeprefix("~"), VALUES)
    return -0.0 if text == "-0" else float(number)


def assert_is(found: float, text: str, eps: float) -> None:
    """The value of the text, within two units in the last place."""
    wanted = value(text)
    if math.isnan(wanted) or math.isnan(found):
        assert math.isnan(found) and math.isnan(wanted), f"{found}, expected {text}"
        return
    if text.startswith("~"):
        found, wanted = abs(found), abs(wanted)
    assert found == wanted or abs(found - wanted) <= 2 * eps * abs(wanted), f"{found}, expected {text}"
    assert math.copysign(1.0, found) == math.copysign(1.0, wanted), f"the sign of {found}, expected {text}"


def at_every_place(op: str, operands: list[Any], dtype: str, device: str) -> list[Any]:
    """The result of single elements, and of enough of them to fill vector registers and leave a rest."""
    arrays = [nd.asarray([each] * 37, device="cpu").astype(dtype).to_device(device) for each in operands]
    some = getattr(nd, op)(*(each[:1] for each in arrays)).tolist()
    return [*some, *getattr(nd, op)(*arrays).tolist()]


NUMPYS_OWN = {("nextafter", "float16"), ("expm1", "complex64"), ("expm1", "complex128")}
"""Where NumPy, and with it the device of that name, departs from the tables."""
REAL_PLACES = [(device, dtype) for device in DEVICES for dtype in ("float32", "float64")]
REAL_PLACES += [(device, dtype) for device in DEVICES for dtype in ("float16", "bfloat16")]


@pytest.mark.parametrize(("op", "operands", "results"), list(cases(_REAL)))
def test_real(op: str, operands: list[str], results: list[str]) -> None:
    for device, dtype in REAL_PLACES:
        if device == "numpy" and (op, dtype) in NUMPYS_OWN:
            continue
        for found in at_every_place(op, [value(each) for each in operands], dtype, device):
            assert_is(found, results[0], nd.finfo(dtype).eps)


@pytest.mark.parametrize(("op", "operands", "results"), list(cases(_COMPLEX)))
@pytest.mark.parametrize("device", DEVICES)
def test_complex(op: str, operands: list[str], results: list[str], device: str) -> None:
    """And f(conj(z)) is conj(f(z))."""
    z = complex(*map(value, operands))
    for dtype in ("complex64", "complex128"):
        if device == "numpy" and (op, dtype) in NUMPYS_OWN:
            continue
        eps = nd.finfo(dtype).eps
        for found in at_every_place(op, [z], dtype, device):
            assert_is(found.real, results[0], eps)
            assert_is(found.imag, results[1], eps)
        if op != "sign":
            for found in at_every_place(op, [z.conjugate()], dtype, device):
                assert_is(found.real, results[0], eps)
                assert_is(-found.imag, results[1], eps)


@pytest.mark.parametrize("device", DEVICES)
def test_floor_divide_of_infinities_follows_python(device: str) -> None:
    """The standard asks for an infinity and a zero, and notes that libraries may return these, as Python does."""
    for dtype in ("float32", "float64"):
        for x, y in ((math.inf, 2.0), (-math.inf, 2.0), (math.inf, -2.0)):
            assert all(map(math.isnan, at_every_place("floor_divide", [x, y], dtype, device)))
        for x, y in ((2.0, -math.inf), (-2.0, math.inf)):
            assert set(at_every_place("floor_divide", [x, y], dtype, device)) == {-1.0}
