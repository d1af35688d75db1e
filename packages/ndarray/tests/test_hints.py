"""What is said of names and calls that NumPy knows and this package does not."""

import re
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import hints


@pytest.mark.parametrize(
    ("owner", "otherwise"),
    [
        (nd, hints.ARRAY_FUNCTIONS),
        (nd.random, hints.RANDOM_FUNCTIONS),
        (
            nd.random.Generator(0),
            {name: hints.RANDOM_FUNCTIONS[name] for name in ("random", "shuffle", "standard_normal")},
        ),
        (nd.linalg, hints.LINEAR_ALGEBRA),
    ],
    ids=["array", "random", "generator", "linalg"],
)
def test_only_what_is_missing_has_a_hint(owner: Any, otherwise: dict[str, str]) -> None:
    for name, written in otherwise.items():
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}; write {written}")) as caught:
            getattr(owner, name)
        assert caught.value.name == name


def _names() -> dict[str, Any]:
    x = nd.asarray([[4.0, 1.0], [2.0, 3.0]])
    names = {name: getattr(nd, name) for name in nd.__all__}
    return names | {name: getattr(nd.linalg, name) for name in nd.linalg.__all__} | {
        "random": nd.random, "numpy": np, "x": x, "y": x, "a": x, "b": x, "c": x, "v": x[0],
        "obj": [1.0], "arrays": [x, x], "weights": x, "condition": x > 1, "bins": x[0], "shape": (2, 2), "axis": 0,
        "axes": (1, 0), "low": 0.0, "high": 3.0, "start": 1.0, "stop": 2.0, "n": 3,
    }  # fmt: skip


_ELSEWHERE = {"convolve", "fromfile", "genfromtxt", "loadtxt", "memmap", "savetxt", "seterr", "errstate"}
"""Hints about files, other shapes and nothing at all."""


@pytest.mark.parametrize("name", sorted({*hints.ARRAY_FUNCTIONS, *hints.LINEAR_ALGEBRA} - _ELSEWHERE))
def test_what_is_said_can_be_written(name: str) -> None:
    written = {**hints.ARRAY_FUNCTIONS, **hints.LINEAR_ALGEBRA}[name]
    names = _names()
    if re.search("isin|shift|bitwise|scatter|searchsorted", written):
        names |= {"x": nd.asarray([1, 2, 2]), "y": nd.asarray([2, 3, 3]), "bins": nd.asarray([1, 2])}
    exec(written.split("; ")[0], names | {"low": 0, "high": 3})


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("nan_to_num", lambda xp, x: xp.where(xp.isfinite(x), x, 0.0)),
        ("rad2deg", lambda xp, x: x * (180 / xp.pi)),
        ("cbrt", lambda xp, x: xp.sign(x) * xp.abs(x) ** (1 / 3)),
        ("ptp", lambda xp, x: xp.max(x) - xp.min(x)),
        ("flipud", lambda xp, x: xp.flip(x, axis=0)),
    ],
)
def test_what_is_said_gives_what_numpy_gives(name: str, call: Any) -> None:
    values = np.array([[1.0, -8.0], [27.0, 0.5]])
    if name == "nan_to_num":
        values[0, 0] = np.nan
    np.testing.assert_allclose(call(nd, nd.asarray(values)).numpy(), getattr(np, name)(values), rtol=1e-12)


def test_functions_of_numpy_without_a_name_here_take_the_arrays() -> None:
    with pytest.raises(AttributeError, match=r"numpy\.interp takes these arrays and gives NumPy's"):
        nd.interp  # noqa: B018
    assert np.interp(nd.asarray([0.5]), nd.asarray([0.0, 1.0]), nd.asarray([0.0, 4.0])).tolist() == [2.0]
    for name in ("nothing", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=rf"has no attribute '{name}'$"):
            getattr(nd, name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: nd.zeros(2, 3), "zeros(shape, *, dtype=None, device=None)"),
        (lambda: nd.sum(nd.ones(3), dim=0), "sum(x, /, axis=None, *, dtype=None, keepdims=False)"),
        (lambda: nd.random.Generator(0).normal(size=3), "normal(mean=0.0, std=1.0, shape=(), *, dtype='float32'"),
    ],
    ids=["zeros", "sum", "normal"],
)
def test_a_call_that_does_not_fit_is_told_how_it_goes(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"; call it as {said}")):
        call()


REDUCTIONS = "sum prod max min mean var std any all argmax argmin cumsum cumprod median nansum nanmean count_nonzero"


@pytest.mark.parametrize("name", [*REDUCTIONS.split(), "sort", "argsort", "flip"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_axis_may_stand_where_numpy_has_it(name: str, axis: int) -> None:
    values = np.array([[3.0, -1.0, 2.0], [0.0, 5.0, -4.0]])
    expected = getattr(np, name)(values, axis)
    np.testing.assert_allclose(getattr(nd, name)(nd.asarray(values), axis).numpy(), expected, rtol=1e-12)


def test_the_axis_may_stand_where_numpy_has_it_in_functions_of_several_arguments() -> None:
    values = np.arange(6.0).reshape(2, 3)
    x, places = nd.asarray(values), np.array([[1, 0, 1]])
    for ours, theirs in (
        (nd.concat([x, x], 1), np.concatenate([values, values], 1)),
        (nd.stack([x, x], -1), np.stack([values, values], -1)),
        (nd.roll(x, 1, 1), np.roll(values, 1, 1)),
        (nd.repeat(x, 2, 0), np.repeat(values, 2, 0)),
        (nd.take(x, nd.asarray([1]), 1), np.take(values, [1], 1)),
        (nd.take_along_axis(x, nd.asarray(places), 0), np.take_along_axis(values, places, 0)),
        (nd.split(x, 3, 1)[1], np.split(values, 3, 1)[1]),
        (nd.quantile(x, 0.5, 1), np.quantile(values, 0.5, 1)),
        (nd.fft.rfft(x, 2, 0), np.fft.rfft(values, 2, 0)),
        (nd.fft.fftfreq(4, 0.5), np.fft.fftfreq(4, 0.5)),
    ):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)


def test_a_single_element_takes_a_format() -> None:
    assert f"{nd.asarray(3.14159):.2f} {nd.asarray([[7]]):03d}" == "3.14 007"
    assert f"{nd.ones(2)}" == "[1. 1.]"
    with pytest.raises(nd.ShapeError, match="2 elements"):
        f"{nd.ones(2):.2f}"


def test_an_array_in_the_place_of_an_axis_is_told_where_it_belongs() -> None:
    x = nd.ones((2, 3))
    for call, said in (
        (
            lambda: nd.max(x, x),
            "max: an axis is an int, not an array of shape (2, 3); the larger of two is maximum(x, y)",
        ),
        (lambda: nd.concat(x, x), "an array of shape (2, 3); the arrays are given as one list"),
        (lambda: nd.sum(x, 0.5), "sum: an axis is an int, not 0.5"),
    ):
        with pytest.raises(nd.ShapeError, match=re.escape(said)):
            call()
