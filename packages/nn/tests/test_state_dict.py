"""State dicts: exact names and values, readable differences, nothing loaded by halves."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))


def values(module: nn.Module) -> dict[str, Any]:
    return {name: tensor.numpy().copy() for name, tensor in module.state_dict().items()}


def test_round_trip(device: Any) -> None:
    source, target = model(), model()
    result = target.load_state_dict(source.state_dict())
    assert result == ([], [])
    for name, value in values(source).items():
        np.testing.assert_array_equal(values(target)[name], value)


def test_the_tensors_share_memory_and_have_no_graph() -> None:
    source = model()
    state = source.state_dict()
    assert not state["0.weight"].requires_grad
    state["0.weight"].data[...] = 4.0
    assert (source[0].weight.numpy() == 4.0).all()
    assert source.state_dict(keep_vars=True)["0.weight"] is source[0].weight
    assert next(iter(source.state_dict(prefix="net."))) == "net.0.weight"


def test_loading_copies() -> None:
    source, target = model(), model()
    target.load_state_dict(source.state_dict())
    target[0].weight.data[...] = 0.0
    assert source[0].weight.numpy().any()


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"0.weight": np.zeros((1, 3), "f4")}, ["0.weight: the module has (2, 3), the state dict (1, 3)"]),
        ({"0.bias": np.zeros((), "f4")}, ["0.bias: the module has (2,), the state dict ()"]),
        ({"2.weight": None}, ["missing:", "2.weight (1, 2)"]),
        ({"0.bias": "text"}, ["0.bias: ", "str is no number"]),
        ({"epoch": 3}, ["unexpected:", "epoch (int)"]),
        ({"3.weight": np.zeros((5, 6), "f4")}, ["unexpected:", "3.weight (5, 6)"]),
        (
            {"2.weight": None, "2.weights": np.zeros((1, 2), "f4")},
            ["2.weight (1, 2) (the state dict has 2.weights)", "2.weights (1, 2)"],
        ),
    ],
)
def test_differences_are_listed_and_nothing_is_loaded(change: dict[str, Any], lines: list[str]) -> None:
    target = model()
    before = values(target)
    state: dict[str, Any] = {name: value + 1 for name, value in before.items()}
    state.update(change)
    state = {name: value for name, value in state.items() if value is not None}
    with pytest.raises(nn.StateDictError, match="does not fit Sequential; nothing was loaded") as caught:
        target.load_state_dict(state)
    assert [line for line in lines if line not in str(caught.value)] == []
    for name, value in values(target).items():
        np.testing.assert_array_equal(value, before[name])


def test_all_differences_come_at_once_and_long_lists_are_cut() -> None:
    state = {f"layer{number}.weight": np.zeros(1) for number in range(50)}
    with pytest.raises(nn.StateDictError) as caught:
        model().load_state_dict(state)
    text = str(caught.value)
    assert "missing:" in text
    assert "... and 30 more" in text


def test_loading_by_name_only_reports_the_rest_but_shapes_must_fit() -> None:
    target = model()
    state = {"0.bias": np.array([1.0, 2.0], "f4"), "extra": np.zeros(1)}
    missing, unexpected = target.load_state_dict(state, strict=False)
    assert missing == ["0.weight", "2.weight", "2.bias"]
    assert unexpected == ["extra"]
    assert target[0].bias.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(nn.StateDictError, match=r"0.bias: .* \(2,\), the state dict \(1,\)"):
        target.load_state_dict({"0.bias": np.zeros(1)}, strict=False)


def test_dtype_and_device_of_the_module_stay() -> None:
    target = nn.Linear(2, 1, device="numpy")
    weight = target.weight
    bias = nd.asarray([3.5], dtype=nd.float64, device="cpu")
    target.load_state_dict({"weight": np.array([[1.5, 2.5]]), "bias": bias})
    assert target.weight is weight
    assert weight.dtype == nd.float32
    assert weight.device == "numpy"
    assert weight.numpy().tolist() == [[1.5, 2.5]]


def test_read_only_memory_is_refused_before_anything_is_written() -> None:
    target = nn.Linear(2, 1)
    frozen = np.zeros((1,), "f4")
    frozen.flags.writeable = False
    target.bias = nn.Parameter(nd.asarray(frozen, copy=False))
    before = target.weight.numpy().copy()
    with pytest.raises(nn.StateDictError, match="bias: the module's memory is read-only"):
        target.load_state_dict({"weight": np.ones((1, 2)), "bias": np.ones(1)})
    np.testing.assert_array_equal(target.weight.numpy(), before)


def test_names_that_collide_are_an_error() -> None:
    module = nn.Module()
    module.table = {"a.b": nn.Parameter([1.0]), "a": {"b": nn.Parameter([2.0])}}
    with pytest.raises(ValueError, match=r"two tensors .* 'table.a.b'"):
        module.state_dict()


def test_other_things_than_mappings_are_refused() -> None:
    with pytest.raises(TypeError, match="not list"):
        model().load_state_dict([Tensor([1.0])])  # type: ignore[arg-type]


def test_weights_go_to_pytorch_and_back(torch: Any) -> None:
    ours, theirs = model(), torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    ours.load_state_dict({name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("f4")
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(Tensor(x)).numpy(), expected, rtol=1e-5, atol=1e-6)
    theirs.load_state_dict({name: torch.from_numpy(value) for name, value in values(ours).items()})


def test_assigning_a_state_takes_over_its_memory_and_dtype() -> None:
    layer, optimizer_holds = nn.Linear(2, 2), []
    optimizer_holds += list(layer.parameters())
    state = {"weight": Tensor(np.ones((2, 2))), "bias": Tensor(np.zeros(2))}
    layer.load_state_dict(state, assign=True)
    assert layer.weight.dtype is nd.float64 and layer.weight is optimizer_holds[0]
    state["weight"].data[0, 0] = 5.0
    assert layer.weight.numpy()[0, 0] == 5.0
    with pytest.raises(nn.StateDictError, match="nothing was loaded"):
        layer.load_state_dict({"weight": np.ones((3, 2))}, assign=True)


def test_states_that_overlap_the_module_in_other_ways() -> None:
    """Views of the own memory: transposed, reversed, shifted."""
    for view in (lambda w: w.T, lambda w: w[::-1], lambda w: np.roll(w, 1, 0)):
        layer = nn.Linear(3, 3, bias=False)
        expected = view(layer.weight.numpy()).copy()
        layer.load_state_dict({"weight": view(layer.weight.numpy())})
        np.testing.assert_array_equal(layer.weight.numpy(), expected)


@pytest.mark.parametrize("first", [0, 1])
def test_entries_change_places_wherever_they_lie(first: int) -> None:
    """Two parameters in one piece of memory, the first of them at its start or at its end."""
    memory = nd.asarray(np.arange(8.0).reshape(2, 2, 2))
    module = nn.ParameterDict()
    for name, at in (("a", first), ("b", 1 - first)):
        module[name] = nn.Parameter(memory[at])
    before = values(module)
    state = module.state_dict()
    module.load_state_dict({"a": state["b"], "b": state["a"]})
    np.testing.assert_array_equal(module["a"].numpy(), before["b"])
    np.testing.assert_array_equal(module["b"].numpy(), before["a"])
