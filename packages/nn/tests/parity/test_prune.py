"""Pruning gives the weights and gradients that PyTorch's gives, once and again."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.nn.utils import prune

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.nn.utils.prune")


def layers() -> tuple[Any, Any]:
    ours, other = nn.Linear(6, 5), torch.nn.Linear(6, 5)
    other.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    return ours, other


def agree(ours: Any, other: Any, name: str = "weight") -> None:
    np.testing.assert_array_equal(getattr(ours, name).numpy(), getattr(other, name).detach().numpy())


@pytest.mark.parametrize("amount", [0, 7, 0.0, 0.35, 1.0])
def test_small_elements(amount: float) -> None:
    ours, other = layers()
    for _ in range(2 if amount != 1.0 else 1):  # the second among what is left
        assert prune.l1_unstructured(ours, "weight", amount) is ours
        theirs.l1_unstructured(other, "weight", amount)
        agree(ours, other)
    x = np.random.default_rng(0).normal(size=(3, 6)).astype("float32")
    nn.functional.mse_loss(ours(Tensor(x)), Tensor(np.zeros((3, 5), "float32"))).backward()
    torch.nn.functional.mse_loss(other(torch.tensor(x)), torch.zeros(3, 5)).backward()
    found = ours.parametrizations.weight.original.grad.numpy()
    np.testing.assert_allclose(found, other.weight_orig.grad.numpy(), atol=1e-6)
    assert prune.is_pruned(nn.Sequential(copy.deepcopy(ours)))
    prune.remove(ours, "weight")
    theirs.remove(other, "weight")
    agree(ours, other)
    assert (prune.is_pruned(ours), list(ours.state_dict())) == (False, ["bias", "weight"])


@pytest.mark.parametrize("n", [1, 2, float("inf")])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("amount", [2, 0.4])
def test_channels(amount: float, dim: int, n: float) -> None:
    ours, other = layers()
    for step in range(2):
        prune.ln_structured(ours, "weight", amount, n, dim)
        theirs.ln_structured(other, "weight", amount, n, dim)
        agree(ours, other)
        if step == 0:
            prune.l1_unstructured(ours, "weight", 3)
            theirs.l1_unstructured(other, "weight", 3)


def test_importance_masks_and_several_parameters() -> None:
    ours, other = layers()
    scores = np.random.default_rng(0).permutation(30).reshape(5, 6).astype("float32")
    prune.l1_unstructured(ours, "weight", 0.5, importance_scores=Tensor(scores))
    theirs.l1_unstructured(other, "weight", 0.5, importance_scores=torch.tensor(scores))
    agree(ours, other)
    mask = (scores % 3 > 0).astype("float32")
    prune.custom_from_mask(prune.identity(ours, "weight"), "weight", Tensor(mask))
    theirs.custom_from_mask(other, "weight", torch.tensor(mask))
    agree(ours, other)
    pairs = [layers(), layers()]
    prune.global_unstructured(
        [(each, name) for each, _ in pairs for name in ("weight", "bias")], prune.L1Unstructured, amount=0.6
    )
    theirs.global_unstructured(
        [(each, name) for _, each in pairs for name in ("weight", "bias")], theirs.L1Unstructured, amount=0.6
    )
    for pair in pairs:
        agree(*pair)
        agree(*pair, "bias")


def test_chance_prunes_as_many_as_it_should() -> None:
    layer: Any = nn.Linear(8, 8)
    for left in (48, 36, 27):
        prune.random_unstructured(layer, "weight", 0.25)
        assert int((layer.weight.data != 0).sum().item()) == left
    layer = prune.random_structured(nn.Linear(8, 8), "weight", 3, dim=1)
    assert sorted((layer.weight.numpy() != 0).sum(axis=0).tolist()) == [0] * 3 + [8] * 5


def test_a_state_goes_over_and_errors_say_what_is_wrong() -> None:
    layer: Any = prune.l1_unstructured(nn.Linear(4, 4), "weight", 5)
    other: Any = prune.identity(nn.Linear(4, 4), "weight")
    other.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(other.weight.numpy(), layer.weight.numpy())
    assert layer.to(nd.float64).weight.dtype == nd.float64
    for amount in (-1, 12, 1.5, float("nan")):
        with pytest.raises(ValueError, match="amount"):
            prune.l1_unstructured(layer, "weight", amount)
    with pytest.raises(ValueError, match="no parameter 'other'"):
        prune.identity(layer, "other")
    with pytest.raises(ValueError, match="no pruned 'bias'"):
        prune.remove(layer, "bias")
    with pytest.raises(nd.ShapeError, match="mask"):
        prune.custom_from_mask(layer, "weight", Tensor([1.0]))


def test_amounts_of_other_kinds() -> None:
    cases: list[tuple[Any, int]] = [(np.int64(1), 29), (np.int32(30), 0), (np.float32(0.5), 15)]
    for amount, left in cases:
        ours, other = layers()
        prune.l1_unstructured(ours, "weight", amount)
        theirs.l1_unstructured(other, "weight", amount)
        agree(ours, other)
        assert (ours.weight.data != 0.0).sum().item() == left
    wrong: Any
    for wrong in (True, "0.5", float("nan"), 1.5, -1, 31, None):
        with pytest.raises(ValueError, match="amount must be a share"):
            prune.l1_unstructured(nn.Linear(6, 5), "weight", wrong)
    wrong = [[1], [0]]
    with pytest.raises(nd.DTypeError, match="mask is a list"):
        prune.custom_from_mask(nn.Linear(1, 2), "weight", wrong)


def test_what_is_masked_need_not_be_finite() -> None:
    """0 * inf is no 0: weights that overflowed are pruned as others are."""
    layer: Any = nn.Linear(3, 1, bias=False)
    layer.weight.data[...] = nd.asarray([[float("inf"), float("nan"), 2.0]])
    prune.custom_from_mask(layer, "weight", Tensor([[0.0, 0.0, 1.0]]))
    output = layer(Tensor([[1.0, 1.0, 5.0]]))
    output.sum().backward()
    assert (layer.weight.tolist(), output.tolist()) == ([[0.0, 0.0, 2.0]], [[10.0]])
    assert layer.parametrizations.weight.original.grad.tolist() == [[0.0, 0.0, 5.0]]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_parametrized_modules_can_be_pickled(protocol: int) -> None:
    """pytorch/pytorch#37322: such a model goes to another process, or into a copy."""
    kinds = nn.utils.parametrizations
    first = prune.l1_unstructured(nn.Linear(3, 3), "weight", 3)
    model = nn.Sequential(first, kinds.weight_norm(nn.Linear(3, 3)), kinds.orthogonal(nn.Linear(3, 3)))
    x = Tensor(np.random.default_rng(0).normal(size=(2, 3)).astype("float32"))
    for other in (pickle.loads(pickle.dumps(model, protocol)), copy.deepcopy(model)):
        assert (other(x).tolist(), list(other.state_dict())) == (model(x).tolist(), list(model.state_dict()))
        prune.remove(other[0], "weight")
        assert type(other[0]) is nn.Linear and prune.is_pruned(model)
