"""ParameterList and ParameterDict."""

import numpy as np
import pytest

from treadle import nn
from treadle.autograd import Tensor


def test_parameter_list() -> None:
    box = nn.ParameterList([Tensor([1.0]), nn.Parameter([2.0])])
    box.append(Tensor([3.0, 4.0]))
    box += [Tensor([5.0])]
    assert [name for name, _ in box.named_parameters()] == ["0", "1", "2", "3"]
    assert all(isinstance(each, nn.Parameter) for each in box)
    assert box[-1].tolist() == [5.0]
    assert [each.tolist() for each in box[1:3]] == [[2.0], [3.0, 4.0]]
    box[0] = Tensor([9.0])
    assert box[0].requires_grad and len(box) == 4
    with pytest.raises(IndexError, match="index 4 is out of range for ParameterList of 4"):
        box[4]
    assert "(2): Parameter of shape (2,), float32" in repr(box)


def test_parameter_dict() -> None:
    box = nn.ParameterDict({"a": Tensor([1.0])})
    box["b"] = Tensor([2.0, 3.0])
    assert list(box) == list(box.keys()) == ["a", "b"] and "a" in box
    assert [value.shape for value in box.values()] == [(1,), (2,)]
    assert [name for name, _ in box.items()] == [name for name, _ in box.named_parameters()]
    assert box.pop("a").tolist() == [1.0]
    del box["b"]
    assert len(box) == 0
    box.update([("c", Tensor([1.0]))])
    box.clear()
    with pytest.raises(ValueError, match="without a dot"):
        box["a.b"] = Tensor([1.0])


def test_names_in_a_module() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.ParameterList([Tensor(np.ones(2, "f4"))])
            self.named = nn.ParameterDict({"scale": Tensor(np.ones(1, "f4"))})

    assert list(Net().state_dict()) == ["rows.0", "named.scale"]


def test_parameter_dict_as_a_dict() -> None:
    box = nn.ParameterDict({"a": Tensor([1.0]), "b": Tensor([2.0, 3.0])})
    other = box.copy()
    assert other["a"] is box["a"] and list(reversed(box)) == ["b", "a"]
    assert box.get("c") is None and box.get("c", 5) == 5 and box.get("a") is box["a"]
    assert box.setdefault("c", Tensor([4.0])).requires_grad and box.setdefault("a", None).tolist() == [1.0]
    assert list(other | box) == ["a", "b", "c"] and list(other) == ["a", "b"]
    other |= {"d": Tensor([5.0])}
    assert [name for name, _ in other.named_parameters()] == ["a", "b", "d"]
    assert other.popitem()[0] == "d" and list(other.fromkeys(["x", "y"], 1).items()) == [("x", 1), ("y", 1)]


def test_an_item_may_have_the_name_of_an_attribute() -> None:
    modules = nn.ModuleDict({"training": nn.Dropout(0.5), "other": nn.Dropout(0.5)})
    modules.eval()
    assert not modules.training and not modules["training"].training
    modules.train()
    assert modules.training is True and isinstance(modules["training"], nn.Dropout)
