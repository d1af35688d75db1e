"""What tensors say of attributes that they have not."""

import copy
import pickle
import re
import sys
from typing import Any

import pytest

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.autograd._hints import _MODULE, _OTHERWISE

x = Tensor([[1.0, 2.0]], requires_grad=True)


class Weight(Tensor):
    """A subclass in Python, as parameters are."""


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("exp", "treadle.autograd.exp(x)"),
        ("relu", "treadle.autograd.relu(x)"),
        ("view", "x.reshape(shape)"),
        ("cuda", "x.to('cuda:0')"),
        ("cpu", "x.to('cpu')"),
        ("unsqueeze", "treadle.autograd.expand_dims(x, axis=axis)"),
        ("add_", "not changed in place"),
    ],
)
def test_the_way_here_is_named(name: str, written: str) -> None:
    for tensor in (x, autograd.exp(x), Weight([1.0])):
        with pytest.raises(AttributeError, match=f"(Tensor|Weight) has no attribute '{name}'; ") as caught:
            getattr(tensor, name)
        assert written in str(caught.value)
        assert caught.value.name == name


class Named(Tensor):
    """A subclass, as a module's parameters are."""


def test_subclasses_say_it_too() -> None:
    """``hasattr`` is False for them, not a TypeError."""
    assert not hasattr(Named([1.0]), "nothing")
    assert getattr(Named([1.0]), "nothing", 3) == 3
    with pytest.raises(AttributeError, match=r"Named has no attribute 'numel'; write x\.size"):
        getattr(Named([1.0]), "numel")  # noqa: B009


@pytest.mark.parametrize("name", ["nothing", "__array_interface__", "_private", "__private_"])
def test_other_names_are_plainly_missing(name: str) -> None:
    for tensor in (x, Weight([1.0])):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(tensor, name)
        assert not hasattr(tensor, name)


def test_only_what_is_missing_has_a_hint_and_what_it_says_can_be_written() -> None:
    square, numbers = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[0, 1], [1, 0]])
    names: dict[str, Any] = {
        "x": square, "y": square, "mask": square > 1.0, "axes": (1, 0), "indices": numbers, "index": 0, "value": 3.0,
        "axis": 0, "n": 2, "low": 0.0, "high": 1.0, "start": 0, "length": 1, "dtype": nd.float64,
        "treadle": sys.modules["treadle"], "shape": (2, 2), "copy": copy,
    }  # fmt: skip
    for name, written in _OTHERWISE.items():
        assert not hasattr(x, name)
        code = re.split(r", or |: (?=a|e)|, x\.| \(bytes", written)[0]
        if name not in ("cuda", "index_add", "index_select", "retain_graph"):
            exec(code, dict(names))


def test_copies_and_pickles_need_no_missing_attribute() -> None:
    assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_functions_of_torch_are_named_as_they_are_here() -> None:
    for name in _MODULE:
        assert not hasattr(autograd, name)
    for name, written in (("cat", "concat("), ("unsqueeze", "expand_dims("), ("float32", "treadle.ndarray.float32")):
        with pytest.raises(
            AttributeError, match=f"module 'treadle.autograd' has no attribute '{name}'; write"
        ) as caught:
            getattr(autograd, name)
        assert written in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        autograd.nothing  # noqa: B018


def test_what_is_said_of_functions_can_be_written() -> None:
    square = Tensor([[1.0, 2.0], [3.0, 4.0]])
    names: dict[str, Any] = {
        **vars(autograd), "treadle": sys.modules["treadle"], "data": [1.0], "array": square.numpy(), "seed": 0,
        "tensors": [square, square], "axis": 0, "n": 2, "count": 2, "probabilities": [0.5, 0.5], "shape": (2, 2),
        "low": 0, "high": 3, "x": square,
    }  # fmt: skip
    for name, written in _MODULE.items():
        if name not in ("cuda", "load", "save", "nn", "optim"):  # of other packages, or files
            exec(re.split(r", which| of one row", written)[0], dict(names))


def test_a_property_that_fails_says_what_it_missed() -> None:
    class Named(Tensor):
        @property
        def label(self) -> str:
            return str(self.nothing)  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="Named has no attribute 'nothing'"):
        _ = Named([1.0]).label


def test_a_list_of_tensors_as_data_says_what_to_write() -> None:
    for given in (Tensor([1.0]), [Tensor([1.0])], [Tensor([1.0], requires_grad=True)]):
        with pytest.raises(nd.DTypeError, match=r"pass the \.data of a Tensor; of several in a list, stack\(\) them"):
            nd.asarray(given)
