"""Parametrizations, fused batch norms, parameters as vectors and calls with other parameters, against PyTorch."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import Sample, array_of, assert_close, compare_modules, randomize, to_torch, torch

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.nn import utils

IMAGES = ((2, 4, 6, 5),)
TOOLS: dict[str, tuple[str, dict[str, Any], str, tuple[Any, ...], Any]] = {
    "weight_norm": ("weight_norm", {}, "Linear", (4, 3), ((5, 4),)),
    "weight_norm, dim 1": ("weight_norm", {"dim": 1}, "Conv2d", (4, 3, 3), IMAGES),
    "weight_norm, dim None": ("weight_norm", {"dim": None}, "Conv2d", (4, 3, 3), IMAGES),
    "weight_norm, bias": ("weight_norm", {"name": "bias"}, "Linear", (4, 3), ((5, 4),)),
    "spectral_norm": ("spectral_norm", {}, "Linear", (4, 3), ((5, 4),)),
    "spectral_norm, more": ("spectral_norm", {"n_power_iterations": 3, "dim": 1}, "Conv2d", (4, 3, 3), IMAGES),
    "spectral_norm, transposed": ("spectral_norm", {}, "ConvTranspose2d", (4, 3, 3), IMAGES),
    "spectral_norm, bias": ("spectral_norm", {"name": "bias"}, "Linear", (4, 3), ((5, 4),)),
}


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", TOOLS)
def test_parametrizations(case: str, dtype: str, train: bool) -> None:
    tool, options, layer, arguments, inputs = TOOLS[case]
    ours = getattr(utils.parametrizations, tool)(getattr(nn, layer)(*arguments, dtype=nd.dtype(dtype)), **options)
    built = getattr(torch.nn, layer)(*arguments, dtype=getattr(torch, dtype))
    theirs = getattr(torch.nn.utils.parametrizations, tool)(built, **options)
    assert type(ours).__name__ == type(theirs).__name__
    compare_modules(ours, theirs, Sample(inputs=inputs, train=train), dtype)


def test_a_parametrized_module_keeps_its_value_and_becomes_plain_again() -> None:
    layer = nn.Linear(4, 3)
    weight, bias = layer.weight.numpy().copy(), layer.bias
    utils.parametrizations.weight_norm(layer)
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-6)
    assert utils.parametrize.is_parametrized(layer, "weight")
    assert not utils.parametrize.is_parametrized(layer, "bias")
    twin = copy.deepcopy(layer)
    assert isinstance(layer, nn.Linear)
    assert type(twin) is type(layer)
    utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.bias is bias
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-6)
    np.testing.assert_allclose(twin.weight.numpy(), weight, rtol=1e-6)
    twin.weight = Tensor(2.0 * weight)  # type: ignore[assignment]
    np.testing.assert_allclose(twin.weight.numpy(), 2.0 * weight, rtol=1e-6)


class Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2.0


class Shorter(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:1]


def test_own_parametrizations_in_a_row() -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight.numpy().copy()
    for _ in range(2):
        utils.parametrize.register_parametrization(layer, "weight", Doubled())
    utils.parametrize.register_parametrization(layer, "bias", Doubled())
    np.testing.assert_allclose(layer.weight.numpy(), 4.0 * weight)
    assert [name for name, _ in layer.named_parameters()] == [
        "parametrizations.weight.original",
        "parametrizations.bias.original",
    ]
    layer(Tensor([[1.0, 2.0]])).sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    with pytest.raises(NotImplementedError, match="Doubled has no right_inverse"):
        layer.weight = Tensor(weight)  # type: ignore[assignment]
    utils.parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    np.testing.assert_allclose(layer.weight.numpy(), weight)
    assert type(layer).__name__ == "ParametrizedLinear", "the bias still is"
    for name, parametrization in (("weight", Shorter()), ("bias", Shorter())):
        with pytest.raises(ValueError, match=r"gives \(1,.* and the parameter has \(2,"):
            utils.parametrize.register_parametrization(layer, name, parametrization)
    with pytest.raises(ValueError, match="no parameter 'nothing'"):
        utils.parametrize.register_parametrization(layer, "nothing", Doubled())
    with pytest.raises(ValueError, match="no parametrization of 'weight'"):
        utils.parametrize.remove_parametrizations(layer, "weight")


# --- vectors and norms -----------------------------------------------------------------------------------------------
def test_parameters_as_a_vector() -> None:
    ours, theirs = nn.Linear(4, 3), torch.nn.Linear(4, 3)
    theirs.load_state_dict({name: to_torch(value) for name, value in ours.state_dict().items()})
    vector = utils.parameters_to_vector(ours.parameters())
    assert_close(vector, torch.nn.utils.parameters_to_vector(theirs.parameters()), "vector")
    vector.sum().backward()
    assert ours.bias.grad is not None
    values = np.arange(15, dtype="f4")
    utils.vector_to_parameters(Tensor(values), ours.parameters())
    torch.nn.utils.vector_to_parameters(torch.from_numpy(values), theirs.parameters())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_close(mine, other, "parameter")
    with pytest.raises(nd.ShapeError, match=r"shape \(3,\) for 15 elements"):
        utils.vector_to_parameters(Tensor(values[:3]), ours.parameters())
    with pytest.raises(ValueError, match="no parameters"):
        utils.parameters_to_vector([])


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
def test_total_norms(norm_type: float) -> None:
    arrays = [np.random.default_rng(seed).normal(size=(3, seed + 1)) for seed in range(3)]
    found = utils.get_total_norm([Tensor(each) for each in arrays], norm_type)
    expected = torch.nn.utils.get_total_norm([torch.from_numpy(each) for each in arrays], norm_type)
    assert_close(found, expected, "norm")
    ours = [Tensor(each.copy(), requires_grad=True) for each in arrays]
    theirs = [torch.from_numpy(each.copy()).requires_grad_() for each in arrays]
    for mine, other, array in zip(ours, theirs, arrays, strict=True):
        mine.grad, other.grad = Tensor(array.copy()), torch.from_numpy(array.copy())
    utils.clip_grads_with_norm_(ours, 0.5, found)
    torch.nn.utils.clip_grads_with_norm_(theirs, 0.5, expected)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine.grad, other.grad, "gradient")


# --- batch norms -----------------------------------------------------------------------------------------------------
LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int, bool]] = {
    "Linear": (lambda library: library.Linear(4, 3), (5, 4), 1, False),
    "Conv1d": (lambda library: library.Conv1d(4, 6, 3, groups=2, bias=False), (2, 4, 7), 1, False),
    "Conv2d": (lambda library: library.Conv2d(4, 3, 3), (2, 4, 6, 5), 2, False),
    "ConvTranspose2d": (lambda library: library.ConvTranspose2d(4, 3, 3), (2, 4, 6, 5), 2, True),
}


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_fused_batch_norms(name: str, affine: bool) -> None:
    build, shape, axes, transpose = LAYERS[name]
    fuse = "fuse_linear_bn_eval" if name == "Linear" else "fuse_conv_bn_eval"
    channels = 6 if name == "Conv1d" else 3
    pairs = []
    for library in (nn, torch.nn):
        pairs.append([build(library), getattr(library, f"BatchNorm{axes}d")(channels, affine=affine)])
    for mine, other in zip(*pairs, strict=True):
        other.double()
        randomize(other, 3)
        mine.to(nd.float64).load_state_dict({key: value.numpy() for key, value in other.state_dict().items()})
        mine.eval()
        other.eval()
    options = {"transpose": True} if transpose else {}
    ours = getattr(utils, fuse)(*pairs[0], **options)
    if affine or name != "Linear":  # which PyTorch's cannot do without a weight
        theirs = getattr(torch.nn.utils, fuse)(*pairs[1], **options)
        for key, value in theirs.state_dict().items():
            assert_close(ours.state_dict()[key], value, key)
    x = Tensor(np.random.default_rng(0).normal(size=shape))
    np.testing.assert_allclose(ours(x).numpy(), pairs[0][1](pairs[0][0](x)).numpy(), rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="evaluation mode"):
        getattr(utils, fuse)(pairs[0][0].train(), pairs[0][1])


# --- other parameters ------------------------------------------------------------------------------------------------
class Listed(nn.Module):
    def __init__(self) -> None:
        self.layers = [nn.Linear(2, 2), nn.BatchNorm1d(2)]
        self.scales = [nn.Parameter([1.0, 2.0])]
        self.tied = self.scales[0]

    def forward(self, x: Tensor, shift: float = 0.0) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x * self.scales[0] + self.tied + shift


def test_calls_with_other_parameters() -> None:
    ours, theirs = nn.Linear(4, 3), torch.nn.Linear(4, 3)
    weight, x = np.ones((3, 4), "f4"), np.arange(8, dtype="f4").reshape(2, 4)
    theirs.load_state_dict({name: to_torch(value) for name, value in ours.state_dict().items()})
    mine = Tensor(weight, requires_grad=True)
    found = utils.stateless.functional_call(ours, {"weight": mine * 2.0}, Tensor(x))
    expected = torch.func.functional_call(theirs, {"weight": torch.from_numpy(weight * 2.0)}, torch.from_numpy(x))
    assert_close(found, expected, "result")
    found.sum().backward()
    assert mine.grad is not None
    assert ours.weight.grad is None
    np.testing.assert_array_equal(array_of(ours.weight), array_of(theirs.weight))


def test_other_parameters_in_lists_and_shared_ones() -> None:
    model = Listed()
    own = {name: tensor.numpy().copy() for name, tensor in model.state_dict().items()}
    x = Tensor([[1.0, 2.0], [3.0, 5.0]])
    zero = {"scales.0": Tensor([0.0, 0.0])}
    assert utils.stateless.functional_call(model, zero, (x,), {"shift": 3.0}).tolist() == [[3.0, 3.0]] * 2
    with pytest.raises(nn.StateDictError, match="Listed has no weight"):
        utils.stateless.functional_call(model, {"weight": x}, x)
    with pytest.raises(nn.StateDictError, match=r"Listed also has layers\.0\.weight, layers\.0\.bias"):
        utils.stateless.functional_call(model, zero, x, strict=True)
    with pytest.raises(nd.ShapeError):
        utils.stateless.functional_call(model, {"layers.0.weight": x[:, :1]}, x)
    assert model.scales[0] is model.tied
    np.testing.assert_array_equal(model.state_dict()["layers.0.weight"].numpy(), own["layers.0.weight"])


@pytest.mark.parametrize("name", [name for name in utils.__all__ if callable(getattr(utils, name))])
def test_arguments_are_those_of_pytorch(name: str) -> None:
    import inspect

    ours = inspect.signature(getattr(utils, name)).parameters
    theirs = inspect.signature(getattr(torch.nn.utils, name)).parameters
    assert [each for each in ours] == [each for each in theirs if each != "foreach"]
    for each, parameter in ours.items():
        assert parameter.default == theirs[each].default
