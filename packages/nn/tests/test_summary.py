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


def test_operations() -> None:
    """A product of (7, 64) and (64, 32) with a bias: 2 * 7 * 64 * 32 + 7 * 32; a rectifier one for each element."""
    summary = model().summary(Tensor(np.zeros((7, 1, 8, 8), "f4")))
    linear, last = 2 * 7 * 64 * 32 + 7 * 32, 2 * 7 * 32 * 10 + 7 * 10
    assert [row.flops for row in summary.rows] == [linear + 7 * 32 + last, 0, linear, 7 * 32, 0, last]
    assert summary.flops == summary.rows[0].flops
    assert f"{summary.flops:,} FLOPs" in str(summary)


def test_operations_of_a_recurrent_layer() -> None:
    """5 steps of 3 sequences: 4 gates of 6 from 4 inputs and 6 states; the elementwise part is less than a tenth."""
    summary = nn.LSTM(4, 6).summary(Tensor(np.zeros((5, 3, 4), "f4")))
    products = 2 * 5 * 3 * (24 * 4 + 24 * 6)
    assert products < summary.flops < 1.3 * products


def test_a_module_that_is_called_twice_counts_twice() -> None:
    layer = nn.Linear(4, 4, bias=False)
    summary = nn.Sequential(layer, layer).summary(Tensor(np.zeros((2, 4), "f4")))
    assert [row.flops for row in summary.rows] == [128, 128]
