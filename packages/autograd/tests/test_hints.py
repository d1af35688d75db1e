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
from treadle.autograd._hints import _OTHERWISE

x = Tensor([[1.0, 2.0]], requires_grad=True)


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
    for tensor in (x, autograd.exp(x)):
        with pytest.raises(AttributeError, match=f"Tensor has no attribute '{name}'; ") as caught:
            getattr(tensor, name)
        assert written in str(caught.value)
        assert caught.value.name == name


class Named(Tensor):
    """A subclass, as nn.Parameter is one: compiled, these look attributes up in another way."""


def test_subclasses_say_the_same() -> None:
    tensor = Named([1.0])
    assert not hasattr(tensor, "nothing")
    assert getattr(tensor, "nothing", 3) == 3
    with pytest.raises(AttributeError, match=r"treadle\.autograd\.exp\(x\)"):
        _ = tensor.exp  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["nothing", "__array_interface__", "_private", "__private_"])
def test_other_names_are_plainly_missing(name: str) -> None:
    with pytest.raises(AttributeError, match=f"Tensor has no attribute '{name}'$"):
        getattr(x, name)
    assert not hasattr(x, name)


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
