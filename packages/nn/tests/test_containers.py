"""Sequential, ModuleList and ModuleDict."""

from typing import Any

import pytest

from treadle import nn
from treadle.autograd import Tensor


@pytest.mark.parametrize("add", ["add_module", "register_module", "set_submodule", "__setattr__"])
def test_a_module_that_is_added_by_name_is_called_like_the_others(add: str) -> None:
    layers = nn.Sequential(nn.Identity())
    getattr(layers, add)("last", nn.Threshold(100.0, 5.0))
    assert len(layers) == 2
    assert layers(Tensor([1.0])).tolist() == [5.0]
    assert layers.last is layers[1]
    heads = nn.ModuleDict()
    getattr(heads, add)("a", nn.Identity())
    assert list(heads) == ["a"]


def test_sequential_calls_in_order() -> None:
    class Times(nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: str) -> str:
            return x + str(self.factor)

    assert nn.Sequential(Times(1), Times(2), Times(3))("x") == "x123"
    assert nn.Sequential()("x") == "x"


def test_sequential_by_name() -> None:
    model = nn.Sequential({"hidden": nn.Linear(4, 3), "head": nn.Linear(3, 2)})
    assert [name for name, _ in model.named_parameters()] == [
        "hidden.weight",
        "hidden.bias",
        "head.weight",
        "head.bias",
    ]
    assert model.head is model[1]
    model.head = replacement = nn.Linear(3, 5)
    assert model[1] is replacement
    assert len(model) == 2
    with pytest.raises(TypeError, match="Sequential holds modules, not int"):
        model.head = 3
    with pytest.raises(AttributeError, match="no attribute 'tail'"):
        model.tail  # noqa: B018


def test_attributes_of_a_subclass_stand_beside_its_modules() -> None:
    class Scaled(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(nn.Linear(2, 2, bias=False))
            self.scale = nn.Parameter([2.0])

    assert [name for name, _ in Scaled().named_parameters()] == ["scale", "0.weight"]


@pytest.mark.parametrize("kind", [nn.Sequential, nn.ModuleList])
def test_positions(kind: Any) -> None:
    layers = [nn.Linear(1, size) for size in range(1, 5)]
    box = kind(*layers[:2]) if kind is nn.Sequential else kind(layers[:2])
    assert box.append(layers[2]) is box
    box.insert(0, layers[3])
    assert [module.out_features for module in box] == [4, 1, 2, 3]
    assert box[-1] is layers[2]
    assert type(box[1:3]) is kind
    assert [name for name, _ in box[1:3].named_children()] == ["1", "2"] or kind is nn.ModuleList
    box[0] = layers[0]
    del box[1]
    assert [name for name, _ in box.named_children()] == ["0", "1", "2"]
    assert box.pop() is layers[2]
    assert len(box + [nn.ReLU()]) == 3  # noqa: RUF005
    with pytest.raises(IndexError, match=r"index 2 is out of range .* of 2 modules"):
        box[2]
    with pytest.raises(TypeError, match="holds modules, not function"):
        box.append(lambda x: x)


def test_a_slice_shares_the_modules() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))
    assert model[2:][0] is model[2]
    assert list(model[::2]) == [model[0], model[2]]


def test_module_list_extends_in_place() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    same = layers
    layers += [nn.ReLU(), nn.ReLU()]
    assert layers is same
    assert len(layers) == 3


def test_module_dict() -> None:
    table = nn.ModuleDict([("a", nn.Linear(1, 2)), ("b", nn.ReLU())])
    table["c"] = nn.Identity()
    assert list(table) == list(table.keys()) == ["a", "b", "c"]
    assert "b" in table
    assert [name for name, _ in table.items()] == ["a", "b", "c"]
    del table["b"]
    assert [type(module).__name__ for module in table.values()] == ["Linear", "Identity"]
    assert isinstance(table.pop("c"), nn.Identity)
    assert [name for name, _ in table.named_parameters()] == ["a.weight", "a.bias"]
    table.clear()
    assert len(table) == 0
    with pytest.raises(ValueError, match="without a dot"):
        table["a.b"] = nn.ReLU()
    with pytest.raises(TypeError, match="ModuleDict holds modules, not int"):
        table["a"] = 3
