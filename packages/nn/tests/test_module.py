"""Modules: what they find, how they are named, moved, copied, hooked and shown."""

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor


class Net(nn.Module):
    """Modules and parameters at every kind of place."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter([2.0])
        self.first = nn.Linear(3, 4)
        self.row = [nn.Linear(4, 4), (nn.ReLU(), nn.Parameter([1.0]))]
        self.named = {"head": nn.Linear(4, 2, bias=False), 7: nn.Identity()}
        self.plain = Tensor([5.0])
        self.numbers = [1, 2, 3]

    def forward(self, x: Tensor) -> Tensor:
        return self.named["head"](self.row[0](self.first(x)))


def test_parameters_are_found_in_attributes_lists_tuples_and_dicts() -> None:
    assert [name for name, _ in Net().named_parameters()] == [
        "scale",
        "row.1.1",
        "first.weight",
        "first.bias",
        "row.0.weight",
        "row.0.bias",
        "named.head.weight",
    ]


def test_modules_are_named_by_their_paths() -> None:
    assert [name for name, _ in Net().named_modules()] == ["", "first", "row.0", "row.1.0", "named.head", "named.7"]
    assert [name for name, _ in Net().named_children()] == ["first", "row.0", "row.1.0", "named.head", "named.7"]


def test_parameters_without_recursion_are_the_modules_own() -> None:
    assert [name for name, _ in Net().named_parameters(recurse=False)] == ["scale", "row.1.1"]


def test_a_changed_list_changes_what_is_found() -> None:
    net = Net()
    net.row.append(nn.Linear(1, 1))
    assert "row.2.weight" in dict(net.named_parameters())


def test_a_module_needs_no_call_of_the_base_constructor() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(2, 2)

    assert len(list(Bare().train().parameters())) == 2


def test_a_set_of_modules_is_refused() -> None:
    net = Net()
    net.bag = {nn.Linear(1, 1)}
    with pytest.raises(TypeError, match=r"'bag' .* set, which has no order"):
        list(net.parameters())


def test_shared_parts_come_once_and_keep_all_names() -> None:
    """A layer used at two places, and a parameter that two layers share."""
    layer = nn.Linear(3, 3)
    tied = nn.Linear(3, 3)
    tied.weight = layer.weight
    model = nn.Sequential(layer, nn.ReLU(), layer, tied)
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "3.bias"]
    assert len(list(model.modules())) == 4
    assert set(model.state_dict()) == {f"{place}.{name}" for place in (0, 2, 3) for name in ("weight", "bias")}
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1", "2", "3"]
    assert model.summary().parameters == 3 * 3 + 3 + 3


def test_the_gradient_of_a_shared_parameter_is_the_sum_of_its_uses() -> None:
    """f(x) = w * (w * x), so df/dw = 2 * w * x."""
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    nn.Sequential(layer, layer)(Tensor([[5.0]])).sum().backward()
    assert layer.weight.grad.item() == 30.0


def test_cycles_end() -> None:
    parent, child = nn.Module(), nn.Linear(1, 1)
    parent.child = child
    child.parent = parent
    loop: list[Any] = [child]
    loop.append(loop)
    parent.loop = loop
    assert len(list(parent.modules())) == 2
    assert set(parent.state_dict()) == {"child.weight", "child.bias", "loop.0.weight", "loop.0.bias"}
    assert "..." in repr(parent)
    parent.eval()
    assert not child.training


def test_train_and_eval_reach_every_descendant() -> None:
    net = Net()
    net.deep = nn.Sequential(nn.Sequential(nn.Sequential(nn.Dropout())))
    assert net.eval() is net
    assert not net.deep[0][0][0].training
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(TypeError, match="mode"):
        net.train("yes")  # type: ignore[arg-type]


def test_buffers() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", Tensor([1.0]))
            self.register_buffer("scratch", Tensor([2.0]), persistent=False)
            self.register_buffer("absent", None)

    model = nn.Sequential(Counter())
    assert [name for name, _ in model.named_buffers()] == ["0.mean", "0.scratch"]
    assert list(model.state_dict()) == ["0.mean"]
    model[0].mean = Tensor([9.0])
    assert model.state_dict()["0.mean"].item() == 9.0
    assert list(model.parameters()) == []
    assert model.get_buffer("0.scratch").item() == 2.0


@pytest.mark.parametrize("method", ["register_buffer", "register_parameter", "add_module"])
def test_registering_refuses_other_types_and_names_with_dots(method: str) -> None:
    net = nn.Module()
    with pytest.raises(TypeError, match="must be a"):
        getattr(net, method)("x", 3)
    with pytest.raises(ValueError, match="without a dot"):
        getattr(net, method)("a.b", None)


def test_lookup_by_name() -> None:
    net = Net()
    assert net.get_submodule("row.0") is net.row[0]
    assert net.get_submodule("") is net
    assert net.get_parameter("named.head.weight") is net.named["head"].weight
    with pytest.raises(AttributeError, match=r"Net has no parameter named 'nothing'"):
        net.get_parameter("nothing")


def test_a_module_is_put_at_a_dotted_name() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.heads = {"a": [nn.Linear(2, 1)], "b": nn.ModuleDict({"c": nn.Linear(2, 3)})}
            self.fixed = (nn.Identity(),)

    net = Net()
    for name in ("body.1", "heads.a.0", "heads.b.c", "body", "added"):
        module = nn.Tanh()
        net.set_submodule(name, module)
        assert net.get_submodule(name) is module
    net.set_submodule("heads.b.c", nn.ReLU(), strict=True)
    for wrong in ("nothing.x", "heads.a.7", "heads.a.0.x.y"):
        with pytest.raises(AttributeError, match="no module"):
            net.set_submodule(wrong, nn.ReLU())
    with pytest.raises(AttributeError, match="no module named 'new'"):
        net.set_submodule("new", nn.ReLU(), strict=True)
    with pytest.raises(TypeError, match="stands in a tuple"):
        net.set_submodule("fixed.0", nn.ReLU())
    with pytest.raises(ValueError, match="a name and a Module"):
        net.set_submodule("", nn.ReLU())
    net.register_module("other", nn.ReLU())
    assert isinstance(net.get_submodule("other"), nn.ReLU)


def test_zero_grad_drops_or_zeroes() -> None:
    layer = nn.Linear(2, 1)
    layer(Tensor([[1.0, 2.0]])).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.numpy().tolist() == [[0.0, 0.0]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_frozen_parameters_get_no_gradient() -> None:
    model = nn.Sequential(nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 1))
    model(Tensor([[1.0, 2.0]])).sum().backward()
    assert model[0].weight.grad is None
    assert model[1].weight.grad is not None


def test_apply_visits_children_first_and_each_once() -> None:
    layer = nn.Linear(1, 1)
    model = nn.Sequential(layer, nn.Sequential(layer))
    seen: list[nn.Module] = []
    assert model.apply(seen.append) is model
    assert seen == [layer, model[1], model]


def test_to_converts_floating_parts_and_keeps_the_objects() -> None:
    net = nn.Linear(2, 2)
    net.register_buffer("steps", Tensor([1], dtype=nd.int64))
    weight = net.weight
    net(Tensor([[1.0, 2.0]])).sum().backward()
    assert net.to(nd.float64) is net
    assert net.weight is weight
    assert weight.dtype == weight.grad.dtype == nd.float64
    assert net.steps.dtype == nd.int64
    assert net.float().weight.dtype == nd.float32
    assert net.double().weight.dtype == nd.float64
    assert net.to(Tensor([1.0])).weight.dtype == nd.float32
    with pytest.raises(nd.DTypeError, match="int64"):
        net.to(nd.int64)
    assert net.to(dtype="float64").weight.dtype == nd.float64
    with pytest.raises(nd.DTypeError, match="int64"):
        net.to(dtype="int64")


def test_to_moves_between_devices() -> None:
    net = nn.Linear(2, 2, device="cpu")
    before = net.weight.numpy().copy()
    net(Tensor([[1.0, 2.0]], device="cpu")).sum().backward()
    net.to("numpy", nd.float64)
    assert net.weight.device == net.weight.grad.device == net.bias.device == "numpy"
    np.testing.assert_array_equal(net.weight.numpy(), before.astype(np.float64))
    assert net(Tensor([[1.0, 2.0]], dtype=nd.float64, device="numpy")).device == "numpy"


def test_deepcopy_shares_nothing_but_keeps_ties() -> None:
    layer = nn.Linear(2, 2)
    model = nn.Sequential(layer, layer)
    model.register_buffer("mean", Tensor([1.0]))
    twin = copy.deepcopy(model)
    assert isinstance(twin[0].weight, nn.Parameter)
    assert twin[0] is twin[1]
    nn.init.zeros_(twin[0].weight)
    twin.mean.data[...] = 7.0
    assert layer.weight.numpy().any()
    assert model.mean.item() == 1.0
    assert twin[0].weight.requires_grad


def test_forward_hooks_see_and_change_arguments_and_results() -> None:
    layer = nn.Identity()
    calls: list[str] = []
    layer.register_forward_pre_hook(lambda module, args: calls.append("pre"))
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    handle = layer.register_forward_hook(lambda module, args, output: output * 10)
    layer.register_forward_hook(lambda module, args, output: calls.append(f"saw {output}"), prepend=True)
    assert layer(1) == 20
    assert calls == ["pre", "saw 2"]
    handle.remove()
    handle.remove()
    assert layer(1) == 2


def test_hooks_with_keyword_arguments() -> None:
    class Scale(nn.Module):
        def forward(self, x: float, by: float = 1.0) -> float:
            return x * by

    layer = Scale()
    with layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": 3.0}), with_kwargs=True):
        assert layer(2.0, by=5.0) == 6.0
    layer.register_forward_hook(lambda m, args, kwargs, output: (output, kwargs), with_kwargs=True)
    assert layer(2.0, by=5.0) == (10.0, {"by": 5.0})


def test_hooks_of_one_module_do_not_reach_another() -> None:
    first, second = nn.Identity(), nn.Identity()
    first.register_forward_hook(lambda module, args, output: "hooked")
    assert (first(1), second(1)) == ("hooked", 1)


def test_calling_a_module_without_forward_names_the_class() -> None:
    with pytest.raises(TypeError, match=r"ModuleList defines no forward"):
        nn.ModuleList()(1)


def test_modules_are_freed_by_reference_counting() -> None:
    gc.disable()
    try:
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        model(Tensor([[1.0, 2.0]])).sum().backward()
        alive = weakref.ref(model[0])
        del model
        assert alive() is None
    finally:
        gc.enable()


def test_repr_matches_pytorch(torch: Any) -> None:
    def build(library: Any) -> Any:
        inner = library.Sequential(library.Linear(3, 4, bias=False), library.ReLU(), library.ReLU(inplace=True))
        rest = [library.Dropout(0.25), library.Flatten(), library.Identity(), library.CrossEntropyLoss()]
        same = library.ModuleList([library.Linear(2, 2), library.Linear(2, 2), library.ReLU()])
        table = library.ModuleDict({"a": inner, "b": library.MSELoss()})
        return library.Sequential(inner, *rest, same, table, library.ModuleList())

    assert repr(build(nn)) == repr(build(torch.nn))


@pytest.mark.parametrize("value", [Tensor([[1.0]]), [[1.0]], 1.0], ids=["tensor", "list", "number"])
def test_a_parameter_is_not_replaced_by_what_would_not_be_learnt(value: Any) -> None:
    layer = nn.Linear(1, 1)
    with pytest.raises(TypeError, match=r"Linear.weight is a parameter.*assign a Parameter"):
        layer.weight = value
    layer.weight = nn.Parameter([[2.0]])
    layer.bias = None
    assert list(layer.state_dict()) == ["weight"]
    with pytest.raises(TypeError, match="buffer 'running_mean' must be a Tensor or None"):
        nn.BatchNorm1d(1).running_mean = value if not isinstance(value, Tensor) else "x"  # type: ignore[assignment]


def test_a_hook_must_be_callable() -> None:
    with pytest.raises(TypeError, match="a hook must be callable, not NoneType"):
        nn.Linear(1, 1).register_forward_hook(None)  # type: ignore[arg-type]


def test_a_gpu_is_named_by_its_number() -> None:
    with pytest.raises(nd.TreadleError, match="cuda"):
        nn.Linear(2, 2).cuda(99)
