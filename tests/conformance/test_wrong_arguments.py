"""Every public function, with one argument after another spoiled: it works, or raises a typed error that names it."""

import decimal
import inspect
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from public_calls import every_call
from treadle.ndarray import arguments
from treadle.ndarray._edge import Guarded


class TensorLike:
    """What has some of an array's attributes, and no memory."""

    data = np.ones(3)
    shape = (3,)
    dtype = "float32"
    device = "cpu"


WRONG: dict[str, Any] = {
    "None": None,
    "text": "abc",
    "bytes": b"abc",
    "object": object(),
    "dict": {},
    "set": {1, 2},
    "function": len,
    "type": int,
    "slice": slice(1),
    "Ellipsis": ...,
    "Decimal": decimal.Decimal(1),
    "no numbers": [],
    "a list": [1.0, 2.0],
    "a list with None": [None, 1.0],
    "ragged": [[1.0], [1.0, 2.0]],
    "words": ["a", "b"],
    "objects": np.array([None, 1], dtype=object),
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False]),
    "strings of NumPy": np.array(["a"]),
    "dates": np.array(["2020"], dtype="M8[D]"),
    "tensor-like": TensorLike(),
    "complex": nd.asarray([1j, 2j, 3j]),
    "bools": nd.asarray([True, False, True]),
    "0-d": nd.asarray(1.0),
    "5-d": nd.ones((1, 1, 1, 1, 1)),
    "empty": nd.zeros((0,)),
    "elsewhere": nd.asarray([3.0, 1.0, 2.0], device="numpy"),
    "NumPy's int": np.int64(1),
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "1.5": 1.5,
    "1e300": 1e300,
    "1j": 1j,
    "-5": -5,
    "2**62": 2**62,
    "2**70": 2**70,
    "-2**70": -(2**70),
    "huge lengths": (2**40, 2**40),
    "lengths of nan": (math.nan, math.nan),
    "lengths of None": (None, None),
    "negative lengths": (-1, -1),
    "1, 2, 3": (1, 2, 3),
}
CALLS = every_call()
ALSO: dict[str, tuple[type[Exception], ...]] = {
    "ndarray.from_dlpack": (BufferError,),  # as the standard asks
    "ndarray.load": (FileNotFoundError,),
}
"""Errors that are not treadle's and right."""


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_valid(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, (positional, named) = CALLS[name]
    function(*positional, **named)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", CALLS)
def test_one_argument_is_wrong(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, (positional, named) = CALLS[name]
    op = {"Generator": "manual_seed"}.get(name.rpartition(".")[2], name.rpartition(".")[2])
    for place in (*range(len(positional)), *named):
        for kind, value in WRONG.items():
            given, keywords = list(positional), dict(named)
            if isinstance(place, int):
                given[place] = value
            else:
                keywords[place] = value
            try:
                function(*given, **keywords)
            except nd.TreadleError as error:
                assert str(error).startswith(op), (place, kind, error)
            except Exception as error:
                if isinstance(error, (MemoryError, *ALSO.get(name, ()))):
                    continue
                raise AssertionError(f"{name}: argument {place} is {kind}: {error!r}") from error


NO_STAND_IN = {
    "asarray",
    "can_cast",
    "empty_like",
    "finfo",
    "from_dlpack",
    "matmul",
    "result_type",
    *arguments.IN_PLACE,
}
"""Where a list is no array: one is written to, or a dtype is asked for, or nothing is computed."""


@pytest.mark.parametrize("stand_in", ["list", "NumPy's"])
@pytest.mark.parametrize("name", [each for each in CALLS if each.rpartition(".")[2] not in NO_STAND_IN])
def test_what_asarray_takes_stands_for_an_array(name: str, stand_in: str) -> None:
    function, (positional, named) = CALLS[name]
    if not any(isinstance(each, nd.NDArray) for each in positional):
        return
    others = [
        (each.tolist() if stand_in == "list" else each.numpy().copy()) if isinstance(each, nd.NDArray) else each
        for each in positional
    ]
    found, expected = function(*others, **named), function(*positional, **named)
    assert repr(found) == repr(expected)
    assert type(found) is type(expected)
    if isinstance(found, tuple | list):
        assert [type(each) for each in found] == [type(each) for each in expected]


def test_messages_say_what_to_do() -> None:
    for call, message in (
        (lambda: nd.eye("2"), r"eye: n_rows is '2' \(str\); pass an int"),  # type: ignore[arg-type]
        (lambda: nd.conv(None, nd.ones((1, 1, 3))), "conv: asarray: NoneType is no number"),  # type: ignore[arg-type]
        (lambda: nd.take_along_axis({}, 1), "take_along_axis: asarray: dict is no number"),  # type: ignore[arg-type]
        (lambda: nd.put_along_axis([1], nd.asarray([0]), 1), "convert it with asarray"),  # type: ignore[arg-type]
        (lambda: nd.fft.fft(nd.ones(3), n=2**62), "fft: "),
        (lambda: nd.stack([nd.ones(2), "a"]), "stack: asarray: str"),  # type: ignore[list-item]
        (lambda: nd.random.uniform("a"), r"uniform: low is 'a' \(str\); pass a real number"),  # type: ignore[arg-type]
        (lambda: np.ones(3) + nd.ones(3), "add: numpy.ndarray is no array of treadle's; convert it with"),
        (lambda: nd.ones(3) * np.ones(3), "multiply: numpy.ndarray is no array of treadle's; convert it with"),
        (lambda: nd.asarray([1]) & 2**70, "bitwise_and: 1180591620717411303424 is out of range for int64"),
    ):
        with pytest.raises(nd.TreadleError, match=message):
            call()


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False])


@pytest.mark.parametrize(
    "take",
    [
        nd.asarray,
        nd.from_dlpack,
        nd.sum,
        nd.exp,
        lambda x: nd.asarray([x, x]),
        lambda x: nd.asarray([x[0], 1.0]),
        lambda x: nd.frombuffer(x, dtype="float64"),
        lambda x: nd.ones(3) + x,
        lambda x: x + nd.ones(3),
        lambda x: nd.zeros(3).__setitem__(slice(None), x),
        lambda x: nd.full(2, x[0]),
    ],
)
def test_masks_are_never_dropped(take: Callable[[Any], Any]) -> None:
    with pytest.raises(nd.DTypeError, match=r"filled\(value\)"):
        take(MASKED)
    assert nd.asarray(MASKED.filled(0.0)).tolist() == [0, 2, 3]


def test_the_edge_of_a_function() -> None:
    assert isinstance(nd.flip, Guarded)
    assert pickle.loads(pickle.dumps(nd.flip)) is nd.flip and pickle.loads(pickle.dumps(nd.linalg.inv)) is nd.linalg.inv
    assert list(inspect.signature(nd.flip).parameters) == ["x", "axis"]
    assert nd.flip.__name__ == "flip" and "views" not in repr(nd.flip)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'"):
        nd.flip(nd.ones(3), dim=0)
    with pytest.raises(KeyError, match="mine"):
        _guarded_failure(KeyError("mine"))
    with pytest.raises(KeyboardInterrupt):
        _guarded_failure(KeyboardInterrupt())
    with pytest.raises(nd.ArgumentError, match="fail: mine"):
        _guarded_failure(ValueError("mine"))
    with pytest.raises(nd.RangeError, match="fail: mine"):
        _guarded_failure(OverflowError("mine"))


def _guarded_failure(error: BaseException) -> None:
    def fail(x: int) -> None:
        raise error

    Guarded(fail, __name__)(1)
