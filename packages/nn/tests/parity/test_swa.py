"""Averages of models, their schedule and their batch norms, against PyTorch."""

from inspect import signature
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import assert_close, randomize, torch

import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor
from treadle.optim import swa_utils

THEIRS = torch.optim.swa_utils


def models() -> tuple[Any, Any]:
    built = [
        library.Sequential(library.Linear(4, 3), library.BatchNorm1d(3), library.Linear(3, 2))
        for library in (nn, torch.nn)
    ]
    return built[0].to(nd.float64), built[1].double()


def same(ours: Any, theirs: Any) -> None:
    found, expected = ours.state_dict(), theirs.state_dict()
    assert set(found) == set(expected)
    for name, value in expected.items():
        if value.dtype.is_floating_point:
            assert_close(found[name], value, name)
        else:
            assert found[name].item() == value.item(), name


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("kind", ["swa", "ema"])
def test_averages(kind: str, use_buffers: bool) -> None:
    ours, theirs = models()
    functions = [
        library.get_swa_avg_fn() if kind == "swa" else library.get_ema_avg_fn(0.7) for library in (swa_utils, THEIRS)
    ]
    mine = swa_utils.AveragedModel(ours, avg_fn=functions[0], use_buffers=use_buffers)
    other = THEIRS.AveragedModel(theirs, avg_fn=functions[1], use_buffers=use_buffers)
    for seed in range(4):
        randomize(theirs, seed)
        theirs[1].num_batches_tracked.fill_(seed)
        ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
        mine.update_parameters(ours)
        other.update_parameters(theirs)
        if not (use_buffers and seed):  # PyTorch averages whole numbers too, and cuts them
            same(mine, other)
    assert mine.n_averaged.item() == 4
    x = np.random.default_rng(0).normal(size=(5, 4))
    if not use_buffers:
        assert_close(mine.eval()(Tensor(x)), other.eval()(torch.from_numpy(x)), "output")
    with pytest.raises(ValueError, match="other parameters"):
        mine.update_parameters(nn.Linear(2, 2))


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 7])
@pytest.mark.parametrize("rate", [0.05, [0.05, 0.2]])
def test_schedule(strategy: str, epochs: int, rate: Any) -> None:
    groups = [
        [{"params": [kind([0.0])], "lr": lr} for lr in (0.1, 0.7)]
        for kind in (
            lambda value: Tensor(value, requires_grad=True),
            lambda value: torch.tensor(value).requires_grad_(),
        )
    ]
    ours = swa_utils.SWALR(optim.SGD(groups[0]), rate, epochs, strategy)
    theirs = THEIRS.SWALR(torch.optim.SGD(groups[1]), rate, epochs, strategy)
    for _ in range(12):
        np.testing.assert_allclose(ours.get_last_lr(), theirs.get_last_lr(), rtol=1e-12)
        theirs.optimizer.step()
        ours.step()
        theirs.step()


def test_batch_norms_of_the_average() -> None:
    ours, theirs = models()
    theirs[1].momentum = ours[1].momentum = 0.3
    randomize(theirs, 1)
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    ours.eval()
    theirs.eval()
    batches = [np.random.default_rng(seed).normal(size=(5, 4)) for seed in range(3)]
    swa_utils.update_bn([(Tensor(each), None) for each in batches], ours, device="cpu")
    THEIRS.update_bn([torch.from_numpy(each) for each in batches], theirs)
    same(ours, theirs)
    assert ours[1].momentum == 0.3
    assert not ours[1].training
    swa_utils.update_bn([], nn.Linear(1, 1))


@pytest.mark.parametrize("name", swa_utils.__all__)
def test_arguments_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (signature(getattr(library, name)).parameters for library in (swa_utils, THEIRS))
    assert list(ours) == [each for each in theirs if each != "multi_avg_fn"]
    for each, parameter in ours.items():
        assert parameter.default == theirs[each].default
    with pytest.raises(ValueError, match="'cos' or 'linear'"):
        swa_utils.SWALR(optim.SGD([Tensor([0.0])]), 0.1, anneal_strategy="steps")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        optim.nothing  # noqa: B018
