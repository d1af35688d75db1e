"""Numerical gradients and the checks built on them: they must be right, and must notice what is wrong."""

import math
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def test_numerical_gradient_agrees_to_1e_minus_8(device: str) -> None:
    x = ag.Tensor(np.linspace(-1.0, 1.0, 12).reshape(3, 4), requires_grad=True, device=device)

    def function(x: ag.Tensor) -> ag.Tensor:
        return (ag.sin(x) * ag.exp(x) + x**3).sum()

    function(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(ag.numerical_gradient(function, x).numpy(), x.grad.numpy(), atol=1e-8, rtol=0)


def test_a_known_derivative() -> None:
    x = ag.Tensor(0.5, dtype="float64", requires_grad=True)
    value = ag.sin(ag.exp(2 * x))
    value.backward()
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(-4.9567, abs=5e-5)
    assert ag.numerical_gradient(lambda x: ag.sin(ag.exp(2 * x)), x).item() == pytest.approx(x.grad.item(), abs=1e-7)


def test_float32_is_computed_in_float64_and_put_back() -> None:
    x = ag.Tensor([1.0, 2.0, 3.0])
    held = x.data
    gradient = ag.numerical_gradient(lambda x: (x * x * x).sum(), x)
    assert gradient.dtype is nd.float64
    np.testing.assert_allclose(gradient.numpy(), [3.0, 12.0, 27.0], atol=1e-8)
    assert x.data is held and x.data.version == 0 and x.tolist() == [1.0, 2.0, 3.0]


def test_every_element_counts() -> None:
    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    weights = ag.Tensor([[1.0, 0.0], [0.0, -2.0]])
    np.testing.assert_allclose(
        ag.numerical_gradient(lambda x: (x * weights).sum(), x).numpy(), weights.numpy(), atol=1e-9
    )


def test_a_function_may_refer_to_the_tensor() -> None:
    w, x = ag.Tensor([1.0, 2.0], requires_grad=True), ag.Tensor([3.0, 4.0])
    np.testing.assert_allclose(ag.numerical_gradient(lambda _: (w * x).sum(), w).numpy(), [3.0, 4.0], atol=1e-8)


def test_values_are_put_back_when_the_function_fails() -> None:
    x = ag.Tensor([1.0, 2.0])
    held = x.data

    def fail(x: ag.Tensor) -> ag.Tensor:
        raise KeyError

    with pytest.raises(KeyError):
        ag.numerical_gradient(fail, x)
    assert x.data is held and x.tolist() == [1.0, 2.0]


def test_refusals() -> None:
    x = ag.Tensor([1.0, 2.0])
    with pytest.raises(nd.ShapeError, match=r"shape \(2,\); it must be a scalar"):
        ag.numerical_gradient(lambda x: x * 2, x)
    with pytest.raises(nd.DTypeError, match="int64"):
        ag.numerical_gradient(lambda x: x.sum(), ag.Tensor([1]))
    with pytest.raises(nd.DTypeError, match="wrap it"):
        ag.numerical_gradient(lambda x: x.sum(), [1.0])  # type: ignore[arg-type]
    with pytest.raises(ag.GradientError, match="no input requires grad"):
        ag.gradcheck(lambda x: x, x)
    with pytest.raises(ag.GradientError, match="graph broken"):
        ag.gradcheck(lambda x: x.detach(), ag.Tensor([1.0], requires_grad=True))


class Wrong(ag.Op):
    """x * x with a gradient that is wrong at one element only."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays[0] * arrays[0], (arrays[0],)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        (x,) = node.saved
        flaw = nd.zeros_like(x if xp is nd else x.data)
        flaw[1, 1] = 0.01
        return grad * (x * 2.0 + (flaw if xp is nd else ag.Tensor(flaw)))


def test_one_wrong_element_is_found_and_named() -> None:
    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with pytest.raises(ag.GradientCheckError, match=r"input 0 at \(1, 1\): the rules give .*, the central difference"):
        ag.gradcheck(Wrong(), x)


class Detached(ag.Op):
    """x * x whose gradient is right, and forgets how it depends on x."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        return arrays[0] * arrays[0], (arrays[0] * 2.0,)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return grad * node.saved[0]


def test_wrong_second_derivative_is_found() -> None:
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    assert ag.gradcheck(Detached(), x)
    with pytest.raises(ag.GradientCheckError, match="input 0"):
        ag.gradgradcheck(Detached(), x)


def test_nan_is_no_agreement() -> None:
    with pytest.raises(ag.GradientCheckError):
        ag.gradcheck(lambda x: x * math.nan, ag.Tensor([1.0], requires_grad=True))


@pytest.mark.eager_only("lazy mode notices the write itself, with another error")
def test_writing_into_an_input_is_noticed() -> None:
    def write(x: ag.Tensor) -> ag.Tensor:
        y = x * 1.0
        x.data[0] = x.data[0].item()
        return y

    with pytest.raises(ag.GradientError, match="writes into an input"):
        ag.gradcheck(write, ag.Tensor([1.0], requires_grad=True))


def test_several_inputs_and_outputs() -> None:
    a = ag.Tensor([1.0, 2.0], requires_grad=True)
    b = ag.Tensor([[3.0], [4.0]], requires_grad=True)
    index = ag.Tensor([0, 1, 1])
    assert ag.gradcheck(lambda a, b, index: (a * b, ag.sin(a)[index], index), (a, b, index))
    assert ag.gradgradcheck(lambda a, b: (a * b, ag.sin(a)), (a, b))


def test_the_op_whose_rule_is_wrong_is_named_inside_a_composed_function() -> None:
    class Wrong(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            return xp.square(arrays[0]), (arrays[0],)

        def backward(self, xp: Any, grad: Any, node: Any) -> Any:
            return grad * node.saved[0]  # lacks the factor 2

    x = ag.Tensor([0.5, 1.5], requires_grad=True)
    y = Wrong()(ag.sin(x) + 1.0)
    (fault,) = ag.check_rules(ag.exp(y).sum())
    assert "Wrong()" in str(fault) and "y = Wrong()" in str(fault) and "central difference" in str(fault)
    assert x.grad is None


def test_rules_of_ops_with_several_results_and_integer_operands_are_checked() -> None:
    x = ag.Tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    q, r = ag.linalg.qr(x)
    assert ag.check_rules((q @ r)[ag.Tensor([0, 1, 1])].sum()) == []


class _WrongExp(ag.Op):
    def forward(self, xp, x):  # type: ignore[no-untyped-def, override]
        return xp.exp(x), ()

    def backward(self, xp, grad, node):  # type: ignore[no-untyped-def]
        return grad * 2.0


def test_gradcheck_names_the_rule_at_fault_inside_a_function() -> None:
    x = ag.Tensor([0.5, 1.0], requires_grad=True)
    with pytest.raises(ag.GradientCheckError) as caught:
        ag.gradcheck(lambda x: ag.sin(_WrongExp()(x * 0.5)).sum() + ag.tanh(x).sum(), x)
    message = str(caught.value)
    assert "the rule at fault:\n  _WrongExp(), built at" in message and message.count("_WrongExp()(x * 0.5)") == 1
    assert "Sin" not in message.partition("fault")[2].partition("built at")[0]
    with pytest.raises(ag.GradientCheckError, match=r"each op holds by itself.*detach"):
        ag.gradcheck(lambda x: (x * x.detach()).sum(), x)


def test_rules_inside_a_checkpoint_are_checked() -> None:
    x, w = (ag.Tensor([0.5, 1.0], requires_grad=True) for _ in range(2))
    assert ag.check_rules(ag.checkpoint(lambda x: ag.exp(x * w), x).sum()) == []
    (fault,) = ag.check_rules(ag.checkpoint(lambda x: _WrongExp()(x * w), x).sum())
    assert str(fault).startswith("_WrongExp(), built at")


def test_rules_of_symmetric_operands_are_checked_as_such() -> None:
    x = ag.Tensor([[2.0, 0.5], [0.5, 3.0]], requires_grad=True)
    values, vectors = ag.linalg.eigh(x)
    assert ag.check_rules(values.sum() + (vectors * vectors).sum() + ag.linalg.cholesky(x).sum()) == []


def test_a_function_that_differentiates_inside_is_checked() -> None:
    def slope(x: ag.Tensor) -> ag.Tensor:
        (gradient,) = ag.grad((x * x * x).sum(), (x,), create_graph=True)
        return gradient * ag.sin(x)

    assert ag.gradcheck(lambda x: slope(x * 1.0), ag.Tensor([0.5, 2.0], requires_grad=True))
    x = ag.Tensor([2.0], requires_grad=True)
    expected = 6 * 2.0 * math.sin(2.0) + 12.0 * math.cos(2.0)
    assert ag.numerical_gradient(lambda x: slope(x).sum(), x).item() == pytest.approx(expected, abs=1e-8)


def test_large_values_are_moved_by_more() -> None:
    """At 1e8 a step of 1e-6 is less than the rounding of the square, and a rule that is right was blamed."""
    x = ag.Tensor([1e8, -3e5, 0.5], requires_grad=True)
    assert ag.gradcheck(lambda x: x**2, x)
    cube = ag.numerical_gradient(lambda x: (x**3).sum(), ag.Tensor([1e6]))
    assert cube.item() == pytest.approx(3e12, rel=1e-8)
    z = ag.Tensor([1e7 + 2e7j], requires_grad=True)
    assert ag.gradcheck(lambda z: ag.real(z * ag.conj(z)), z)


@pytest.mark.parametrize("given", [None, 1.0, "text", [None]])
def test_a_function_that_gives_no_tensor_is_told(given: Any) -> None:
    with pytest.raises(nd.DTypeError, match="not a Tensor or several"):
        ag.gradcheck(lambda x: given, ag.Tensor([1.0], requires_grad=True))


def test_a_function_that_returns_nothing_is_told() -> None:
    with pytest.raises(nd.DTypeError, match="must return its value"):
        ag.numerical_gradient(lambda x: None, ag.Tensor([1.0]))


@pytest.mark.parametrize("step", [0.0, -1e-5, math.nan, math.inf])
def test_a_step_that_is_none_is_refused(step: float) -> None:
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ag.GradientError, match="it must be above 0"):
        ag.numerical_gradient(lambda x: (x * x).sum(), x, h=step)
    with pytest.raises(ag.GradientError, match="it must be above 0"):
        ag.gradcheck(lambda x: x * x, x, h=step)


def test_the_second_check_needs_a_gradient_too() -> None:
    """It said that all was well of a function without one."""
    with pytest.raises(ag.GradientError, match="no output of the function requires grad"):
        ag.gradgradcheck(lambda x: x > 0, ag.Tensor([1.0], requires_grad=True))
