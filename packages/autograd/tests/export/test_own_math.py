"""Our own functions of math.h: their largest errors, what they make of infinities and NaN, and files without libm."""

import ctypes
import functools
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from packages.autograd.tests.export.building import WARNINGS, Library, compiler
from packages.autograd.tests.export.test_costs import MODELS

import treadle.autograd as ag
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, Target, capture, to_c, write_c
from treadle.autograd.export.c_math import with_own_math
from treadle.autograd.export.c_math_terms import ERFC
from treadle.autograd.export.quantizing import quantized

ONE: dict[str, tuple[float, float]] = {
    "exp": (-110, 95), "expm1": (-20, 95), "exp2": (-155, 130), "log": (0, 1e38), "log1p": (-1, 1e38),
    "log2": (0, 1e38), "log10": (0, 1e38), "sqrt": (0, 3e38), "sin": (-1e6, 1e6), "cos": (-1e6, 1e6),
    "tan": (-1e6, 1e6), "asin": (-1, 1), "acos": (-1, 1), "atan": (-1e6, 1e6), "sinh": (-92, 92), "cosh": (-92, 92),
    "tanh": (-12, 12), "asinh": (-1e30, 1e30), "acosh": (1, 1e30), "atanh": (-1, 1), "erf": (-5, 5), "erfc": (-3, 11),
    "floor": (-1e8, 1e8), "ceil": (-1e8, 1e8), "trunc": (-1e8, 1e8), "rint": (-1e8, 1e8), "fabs": (-1e30, 1e30),
}  # fmt: skip
"""Functions of one argument, and where they are looked at."""
TWO = ("pow", "atan2", "fmod", "hypot", "copysign", "nextafter")
IN_FLOAT = ("exp", "log", "tanh")
"""Computed in float: within 2 units in the last place; the others are rounded from double: about half of one."""
WIDE = {"erfc": 8, "pow": 400, "tan": 4, "acosh": 4, "asinh": 4, "sinh": 4, "atanh": 4, "erf": 4}
"""Units in the last place that functions of double may be off; 3 where it does not say. Those of pow are a long way off
where the result is near the largest or smallest number."""
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, -3.0, 1e-45, -1e-45, 3e38, -3e38]


def _program(names: dict[str, int]) -> str:
    """A loop over arrays for each function, and for its float form."""
    lines = []
    for name, count in names.items():
        for kind, suffix in (("double", ""), ("float", "f")):
            given = ", ".join(f"const {kind} *{each}" for each in "xy"[:count])
            call = f"{name}{suffix}({', '.join(f'{each}[i]' for each in 'xy'[:count])})"
            lines.append(f"void all_{name}{suffix}({given}, {kind} *to, int n)")
            lines.append(f"{{ for (int i = 0; i < n; i++) to[i] = {call}; }}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("math")
    text, definitions = with_own_math(_program({**dict.fromkeys(ONE, 1), **dict.fromkeys(TWO, 2)}))
    (folder / "all.c").write_text("\n".join(["#include <stdint.h>", "#include <string.h>", definitions, text]))
    sanitized = ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-static-libubsan")
    command = [*compiler(), *WARNINGS, "-pedantic", "-O2", *sanitized, "-shared", "-fPIC", "-o", "all.so", "all.c"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def _ours(library: ctypes.CDLL, name: str, *arrays: np.ndarray) -> np.ndarray:
    out = np.empty_like(arrays[0])
    suffix = "f" if out.dtype == np.float32 else ""
    getattr(library, f"all_{name}{suffix}")(*(ctypes.c_void_p(each.ctypes.data) for each in (*arrays, out)), out.size)
    return out


def _exact(name: str) -> Callable[..., Any]:
    """The function of NumPy, or of mpmath where that has none, in float64."""
    known = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
             "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power}  # fmt: skip
    if name == "erf":  # mpmath has no signed zeros
        return np.vectorize(lambda x: float(mpmath.erf(x)) if x else x, otypes=[float])
    if name == "erfc":
        return np.vectorize(lambda x: float(mpmath.erfc(x)), otypes=[float])
    return known.get(name) or getattr(np, name)


def _ulps(got: np.ndarray, exact: np.ndarray, kind: Any) -> np.ndarray:
    """Distances in units of the last place of the exact result, in the type."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        unit = np.spacing(np.abs(rounded).astype(kind)).astype(float)
        off = np.abs(got.astype(float) - exact) / unit
        return np.where((got == rounded) | (np.isnan(got) & np.isnan(rounded)), np.fmin(off, 0.5), off)


def _points(low: float, high: float, count: int, kind: Any) -> np.ndarray:
    """Numbers of an interval, some of all magnitudes, and its ends."""
    random = np.random.default_rng(0)
    small = np.float64(10.0) ** random.uniform(-40, np.log10(max(abs(low), high)), count // 2)
    small *= random.choice([-1, 1], small.size)
    points = np.concatenate([random.uniform(low, high, count - small.size), small, [low, high]]).astype(kind)
    return np.ascontiguousarray(points[(points >= low) & (points <= high)])


@pytest.mark.parametrize("name", ONE)
def test_functions_of_float(library: ctypes.CDLL, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = _points(*ONE[name], 3_000 if name in ("erf", "erfc") else 100_000, np.float32)
    with np.errstate(all="ignore"):
        off = _ulps(_ours(library, name, x), _exact(name)(x.astype(float)), np.float32)
    worst = int(np.nanargmax(off))
    with capsys.disabled():
        print(f"{name}f: {off[worst]:.3f} units in the last place at {x[worst]!r}", end=" ")
    assert off[worst] <= (2 if name in IN_FLOAT else 0.51)


@pytest.mark.parametrize(("name", "low", "high"), [("tanh", 0.5, 0.625), ("log", 1.0, 1.5), ("exp", 44.0, 50.0)])
def test_every_number_where_functions_in_float_are_worst(
    library: ctypes.CDLL, name: str, low: float, high: float
) -> None:
    """A few hundred numbers among the millions of an interval have the largest errors."""
    first, last = np.array([low, high], np.float32).view(np.int32)
    x = np.arange(first, last, dtype=np.int32).view(np.float32)
    assert _ulps(_ours(library, name, x), _exact(name)(x.astype(float)), np.float32).max() <= 1.75


@pytest.mark.parametrize("name", [each for each in ONE if each not in ("floor", "ceil", "trunc", "rint", "fabs")])
def test_functions_of_double(library: ctypes.CDLL, name: str) -> None:
    """Against 40 digits."""
    low, high = ONE[name]
    x = _points(low, high, 400, np.float64)
    got = _ours(library, name, x)
    with mpmath.workdps(40):
        function = {"exp2": lambda v: mpmath.mpf(2) ** v, "log2": lambda v: mpmath.log(v, 2)}.get(name)
        function = function or getattr(mpmath, name)
        for point, value in zip(x.tolist(), got.tolist(), strict=True):
            if name.startswith("log") and point in (0.0, -1.0):
                continue
            if abs(point) == 1 and name == "atanh":
                continue
            exact = function(mpmath.mpf(point))
            unit = max(abs(float(exact)) * 2.0**-52, 5e-324)
            assert abs(mpmath.mpf(value) - exact) <= WIDE.get(name, 3) * unit, (point, value, exact)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_large_angles(library: ctypes.CDLL, name: str, kind: Any) -> None:
    """Up to the largest number, and near multiples of pi / 2 (Muller, section 11.2: 6381956970095103 times 2^797)."""
    random = np.random.default_rng(1)
    most = 38 if kind == np.float32 else 307
    x = np.concatenate(
        [10.0 ** random.uniform(5, most, 300), [6381956970095103.0 * 2.0**797], np.arange(1.0, 200) * np.pi / 2]
    )
    x = (x * random.choice([-1, 1], x.size)).clip(-np.finfo(kind).max, np.finfo(kind).max).astype(kind)
    with mpmath.workdps(400):
        exact = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(each)))) for each in x])
    assert _ulps(_ours(library, name, x), exact, kind).max() <= (0.51 if kind == np.float32 else 4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_special_values(library: ctypes.CDLL, name: str, kind: Any) -> None:
    """As NumPy has them: signed zeros, infinities, NaN, the smallest and largest numbers."""
    values = np.array(SPECIAL, kind)
    arguments = [values]
    if name in TWO:
        arguments = [np.ascontiguousarray(each.reshape(-1)) for each in np.meshgrid(values, values)]
    with np.errstate(all="ignore"):
        exact = _exact(name)(*(each.astype(float) for each in arguments)) if name != "nextafter" else None
        exact = np.nextafter(*arguments) if exact is None else exact.astype(kind)
    got = _ours(library, name, *arguments)
    finite = np.isfinite(exact) & (exact != 0)
    np.testing.assert_array_equal(got[~finite], exact[~finite])
    signed = ~np.isnan(exact)
    assert np.array_equal(np.signbit(got[signed]), np.signbit(exact[signed]))
    np.testing.assert_allclose(got[finite], exact[finite], rtol=1e-6 if kind == np.float32 else 1e-13)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arguments(library: ctypes.CDLL, name: str) -> None:
    random = np.random.default_rng(2)
    x, y = (random.normal(size=50_000) * 10.0 ** random.uniform(-6, 6, 50_000) for _ in range(2))
    x, y = (np.abs(x) ** 0.4, y.clip(-20, 20)) if name == "pow" else (x, y)
    x, y = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        exact = (
            np.nextafter(x, y).astype(float) if name == "nextafter" else _exact(name)(x.astype(float), y.astype(float))
        )
    assert _ulps(_ours(library, name, x, y), exact, np.float32).max() <= 0.51


def test_the_terms_of_erfc() -> None:
    """Interpolation at the 30 zeros of the Chebyshev polynomial of that degree, of log(erfc(z) exp(z^2) / t)."""
    count = 30
    with mpmath.workdps(40):
        angles = [mpmath.pi * (each + mpmath.mpf(1) / 2) / count for each in range(count)]
        ts = [(1 + mpmath.cos(each)) / 2 for each in angles]
        values = [mpmath.log(mpmath.erfc(2 / t - 2) / t) + (2 / t - 2) ** 2 for t in ts]
        for term, given in enumerate(ERFC):
            found = 2 * mpmath.fsum(v * mpmath.cos(term * a) for v, a in zip(values, angles, strict=True)) / count
            assert abs(found / (2 if term == 0 else 1) - given) < 1e-16


@pytest.mark.parametrize("integer", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("name", MODELS)
def test_models_without_libm(name: str, integer: bool, tmp_path: Path) -> None:
    """The results of the library's functions within rounding; nothing is left for the linker but memory functions."""
    function, shape, _ = MODELS[name]
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    program = capture(function, ag.Tensor(x))
    if integer:
        program, _ = quantized(program, [ag.Tensor(x)])
    library = Library(tmp_path)
    written = library.add("own", program, target=Target(math="own"))
    library.add("libm", program)
    assert "math.h" not in written.source
    for one, other in zip(library.call("own", [x]), library.call("libm", [x]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    _assert_self_contained(tmp_path / "own.c")


def _assert_self_contained(path: Path) -> None:
    made = path.with_suffix(".o")
    subprocess.run([*compiler(), *WARNINGS, "-O1", "-c", "-o", str(made), str(path)], check=True)
    listed = subprocess.run(["nm", "-u", str(made)], check=True, capture_output=True, text=True).stdout.split()
    assert {each for each in listed if each != "U"} <= {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}


def test_training_without_libm(tmp_path: Path) -> None:
    w = ag.Tensor(np.linspace(-1, 1, 12).reshape(4, 3).astype("float32"), requires_grad=True, name="w")
    x = ag.Tensor(np.linspace(0, 2, 20).reshape(5, 4).astype("float32"))
    library = Library(tmp_path)
    for name, target in (("own", Target(math="own")), ("libm", None)):
        program = capture(lambda x: ag.mean(ag.gelu(x @ w)), x, train=Adam(0.1))
        library.add(name, program, target=target)
    for _ in range(5):
        np.testing.assert_allclose(library.call("own", [x.numpy()]), library.call("libm", [x.numpy()]), rtol=1e-5)
    _assert_self_contained(tmp_path / "own.c")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_two_models_in_one_program(tmp_path: Path, language: str) -> None:
    """Both with functions of our own and a parameter of the same name; each learns by itself."""
    for name, rate in (("first", 1.0), ("second", 2.0)):
        w = ag.Tensor([1.0, 2.0], requires_grad=True, name="w")
        loss = functools.partial(lambda w, x: ag.sum(x * w) + ag.exp(ag.sum(x * 0.0)), w)
        to_c(loss, ag.ones((2,)), tmp_path / f"{name}.c", train=SGD(rate), target=Target(math="own"))
    (tmp_path / "main.c").write_text(
        '#include "first.h"\n#include "second.h"\nint main(void)\n{\n    const float x[2] = {1.0f, 1.0f};\n'
        "    float loss;\n    if (first(x, &loss) || second(x, &loss)) return 1;\n"
        "    return !(first_w[0] == 0.0f && first_w[1] == 1.0f && second_w[0] == -1.0f && second_w[1] == 0.0f);\n}\n"
    )
    command = [*compiler(), *WARNINGS] if language == "c" else ["g++", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-o", "both", "main.c", "first.c", "second.c"], cwd=tmp_path, check=True)
    subprocess.run(["./both"], cwd=tmp_path, check=True)


def test_what_comments_name_is_no_call() -> None:
    assert with_own_math("/* tanf(x) */ y = x;")[0] == "/* tanf(x) */ y = x;"


def test_options_and_names_that_would_clash() -> None:
    program = capture(lambda x: ag.exp(x), ag.ones((2,)))
    with pytest.raises(ExportError, match="own_exp"):
        write_c(program, "own_exp", Target(math="own"))
    with pytest.raises(ExportError, match="'libm' or 'own'"):
        Target(math="fast")  # type: ignore[arg-type]
