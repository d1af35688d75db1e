"""The summary of a module."""

import numpy as np

from treadle import nn
from treadle.autograd import Tensor


def model() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10))


def test_counts_and_shapes() -> None:
    summary = model().summary(Tensor(np.zeros((7, 1, 8, 8), "f4")))
    assert [(row.name, row.kind, row.output, row.parameters) for row in summary.rows] == [
        ("", "Sequential", "(7, 10)", 0),
        ("0", "Flatten", "(7, 64)", 0),
        ("1", "Linear", "(7, 32)", 64 * 32 + 32),
        ("2", "ReLU", "(7, 32)", 0),
        ("3", "Dropout", "(7, 32)", 0),
        ("4", "Linear", "(7, 10)", 32 * 10 + 10),
    ]
    assert summary.parameters == summary.trainable == 2410
    assert summary.nbytes == 4 * 2410
    assert "2,410 parameters, 2,410 of them trainable, 9.4 KiB" in str(summary)


def test_it_leaves_no_trace() -> None:
    net = model()
    net[3].eval()
    net.summary(Tensor(np.zeros((1, 64), "f4")))
    assert [module.training for module in net] == [True, True, True, False, True]
    assert not any(module._forward_hooks for module in net.modules())


def test_without_inputs_there_are_no_shapes() -> None:
    assert {row.output for row in model().summary().rows} == {""}


def test_shared_and_frozen_parameters() -> None:
    first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    second.weight = first.weight
    frozen = nn.Linear(4, 2, bias=False).requires_grad_(False)
    summary = nn.Sequential(first, second, frozen).summary()
    assert (summary.parameters, summary.trainable) == (24, 16)
    assert [row.shared for row in summary.rows] == [False, False, True, False]
    assert "shared" in str(summary)


def test_several_outputs() -> None:
    class Twins(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, int]:
            return x, 3

    assert Twins().summary(Tensor([1.0])).rows[0].output == "(1,), int"
