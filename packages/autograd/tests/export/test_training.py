"""Steps of training on the device against the optimizers' formulas in float64.

Sources: D. Kingma, J. Ba, Adam (2015), algorithm 1; pytorch/pytorch, ``torch.optim.SGD`` with nesterov.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library, by_name

import treadle.autograd as ag
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, capture

STEPS = 5
START = np.asarray([0.5, -1.0, 2.0])
INPUTS = np.random.default_rng(0).normal(size=(STEPS, 3)).astype("float32")


def _nesterov(p: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    velocity = np.zeros(3)
    for gradient in gradients:
        decayed = gradient + 0.01 * p
        velocity = 0.9 * velocity + decayed
        p = p - 0.1 * (decayed + 0.9 * velocity)
    return p


def _adam(beta2: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def steps(p: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        first, second = np.zeros(3), np.zeros(3)
        for turn, gradient in enumerate(gradients, 1):
            first, second = 0.9 * first + 0.1 * gradient, beta2 * second + (1 - beta2) * gradient**2
            p = p - 0.1 * first / (1 - 0.9**turn) / (np.sqrt(second / (1 - beta2**turn)) + 1e-8)
        return p

    return steps


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        (SGD(0.1, momentum=0.9, weight_decay=0.01, nesterov=True), _nesterov),
        (Adam(0.1), _adam(0.999)), (Adam(0.1, beta2=0.999999), _adam(0.999999)),
    ],
    ids=["nesterov", "adam", "adam of long memory"],
)  # fmt: skip
def test_steps_are_those_of_the_formula(update: Any, wanted: Any, tmp_path: Path) -> None:
    """In float32 1 - 0.999999 has one right digit, unless it is never computed as a difference."""
    w = ag.Tensor(START.astype("float32"), requires_grad=True, name="w")
    library = Library(tmp_path)
    library.add("step", capture(lambda x: ag.sum(x * w), ag.Tensor(INPUTS[0]), train=update))
    for each in INPUTS:
        library.call("step", [each])
    found = by_name(library.states("step"), "step")["w"]
    np.testing.assert_allclose(found, wanted(START, INPUTS.astype("float64")), rtol=2e-6)


def test_what_the_loss_does_not_depend_on_stays() -> None:
    """As an optimizer skips parameters without a gradient, weight decay and all, and takes no memory for them."""
    w, unused = (ag.Tensor([1.0, 2.0], requires_grad=True, name=each) for each in ("w", "unused"))
    given = {"w": w, "unused": unused}
    program = capture(lambda x: ag.sum(x * w), ag.ones((2,)), train=SGD(0.1, weight_decay=0.5), parameters=given)
    assert [each.name for each in program.states] == ["w"]
    with pytest.raises(ExportError, match="nothing to train"):
        capture(lambda x: ag.sum(x * w), ag.ones((2,)), train=SGD(0.1), parameters={"unused": unused})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: SGD(-1.0), "lr must lie in"), (lambda: SGD(float("nan")), "lr must lie in"),
        (lambda: SGD(0.1, momentum=-0.5), "momentum"), (lambda: SGD(0.1, nesterov=True), "nesterov needs"),
        (lambda: Adam(beta1=1.0), r"beta1 must lie in \[0, 1\)"), (lambda: Adam(beta2=-0.1), "beta2"),
        (lambda: Adam(eps=-1.0), "eps"),
    ],
)  # fmt: skip
def test_options_out_of_their_range(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
