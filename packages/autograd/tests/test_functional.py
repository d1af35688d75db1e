"""The functional API against formulas, central differences and its own identities."""

import gc
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import functional as F


def _tensor(values: Any, **options: Any) -> ag.Tensor:
    return ag.Tensor(np.asarray(values, dtype="float64"), **options)


def _function(x: ag.Tensor, y: ag.Tensor) -> ag.Tensor:
    return ag.tanh(x @ y) * ag.sum(x, axis=1, keepdims=True)


X = np.array([[0.5, -0.2, 0.1], [0.3, 0.7, -0.4]])
Y = np.array([[0.2, 0.1], [-0.3, 0.6], [0.9, -0.8]])


def test_value_and_grad_by_one_or_several_arguments() -> None:
    def loss(x: ag.Tensor, y: ag.Tensor, scale: float) -> ag.Tensor:
        return (x * y).sum() * scale

    x, y = _tensor([1.0, 2.0]), _tensor([3.0, 5.0])
    value, gradient = F.value_and_grad(loss)(x, y, 2.0)
    assert (value.item(), gradient.tolist()) == (26.0, [6.0, 10.0])
    _, gradients = F.value_and_grad(loss, argnums=(1, 0))(x, y, scale=2.0)
    assert [each.tolist() for each in gradients] == [[2.0, 4.0], [6.0, 10.0]]
    assert not value.requires_grad and x.grad is None


def test_aux_and_unused_arguments() -> None:
    gradients, aux = F.grad(lambda x, y: ((x * x).sum(), "aux"), argnums=(0, 1), has_aux=True)(
        _tensor([3.0]), _tensor([1.0])
    )
    assert aux == "aux" and [each.tolist() for each in gradients] == [[6.0], [0.0]]
    assert F.grad(lambda x: ag.ones((), dtype="float64"))(_tensor([3.0])).tolist() == [0.0]


def test_gradients_nest() -> None:
    f = F.grad(F.grad(F.grad(lambda x: x**4)))
    assert f(_tensor(2.0)).item() == 48.0
    x = _tensor(2.0, requires_grad=True)
    F.grad(lambda x: x**3)(x).backward()
    assert x.grad is not None and x.grad.item() == 12.0


def test_vjp_and_jvp_agree_with_the_jacobian() -> None:
    x, y = _tensor(X), _tensor(Y)
    j_x, j_y = F.jacobian(_function, argnums=(0, 1))(x, y)
    assert j_x.shape == (2, 2, 2, 3) and j_y.shape == (2, 2, 3, 2)
    result, pullback = F.vjp(_function, x, y)
    np.testing.assert_allclose(result.numpy(), np.tanh(X @ Y) * X.sum(1, keepdims=True), rtol=1e-14)
    v = np.array([[1.0, -2.0], [0.5, 3.0]])
    for _ in range(2):
        g_x, g_y = pullback(_tensor(v))
        np.testing.assert_allclose(g_x.numpy(), np.einsum("ij,ijkl->kl", v, j_x.numpy()), rtol=1e-12)
        np.testing.assert_allclose(g_y.numpy(), np.einsum("ij,ijkl->kl", v, j_y.numpy()), rtol=1e-12)
    t_x, t_y = X[::-1] * 2.0, Y[::-1] - 0.5
    value, moved = F.jvp(_function, [x, y], [_tensor(t_x), _tensor(t_y)])
    np.testing.assert_allclose(value.numpy(), result.numpy())
    expected = np.einsum("ijkl,kl->ij", j_x.numpy(), t_x) + np.einsum("ijkl,kl->ij", j_y.numpy(), t_y)
    np.testing.assert_allclose(moved.numpy(), expected, rtol=1e-12)


def test_jacobian_against_central_differences() -> None:
    x, y, h = _tensor(X), _tensor(Y), 1e-6
    jacobian = F.jacobian(_function)(x, y).numpy()
    for index in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[index] = h
        difference = (_function(_tensor(X + step), y).numpy() - _function(_tensor(X - step), y).numpy()) / (2 * h)
        np.testing.assert_allclose(jacobian[(..., *index)], difference, atol=1e-8)


def test_hessian_and_hvp() -> None:
    def rosenbrock(x: ag.Tensor) -> ag.Tensor:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    point = np.array([1.2, 0.8, -0.5])
    hessian = F.hessian(rosenbrock)(_tensor(point)).numpy()
    a, b, c = point
    expected = np.array(
        [
            [1200 * a**2 - 400 * b + 2, -400 * a, 0.0],
            [-400 * a, 1200 * b**2 - 400 * c + 2 + 200, -400 * b],
            [0.0, -400 * b, 200.0],
        ]
    )
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)
    direction = np.array([1.0, -1.0, 0.5])
    value, (product,) = F.hvp(rosenbrock, [_tensor(point)], [_tensor(direction)])
    np.testing.assert_allclose(product.numpy(), expected @ direction, rtol=1e-12)
    assert value.item() == pytest.approx(rosenbrock(_tensor(point)).item())


def test_linear_functions_have_zero_second_derivatives() -> None:
    assert F.hessian(lambda x: x.sum())(_tensor([1.0, 2.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert F.hvp(lambda x: x.sum(), [_tensor([1.0])], [_tensor([1.0])])[1][0].tolist() == [0.0]
    assert F.jvp(lambda x: ag.ones(2), [_tensor([1.0])], [_tensor([1.0])])[1].tolist() == [0.0, 0.0]


def test_mixed_second_derivatives_as_the_error_of_hessian_says() -> None:
    x, y = _tensor([1.0, 2.0]), _tensor([3.0, 5.0])
    mixed = F.jacobian(F.grad(lambda x, y: (x * x * y).sum(), 0), 1)(x, y)
    assert mixed.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_empty_results_and_arguments() -> None:
    assert F.jacobian(lambda x: x[:0])(_tensor([1.0, 2.0])).shape == (0, 2)
    assert F.jacobian(lambda x: x.sum())(_tensor(np.zeros((0, 3)))).shape == (0, 3)


def test_errors_name_the_function() -> None:
    with pytest.raises(nd.ShapeError, match="value_and_grad"):
        F.grad(lambda x: x)(_tensor([1.0, 2.0]))
    with pytest.raises(nd.ShapeError, match=r"hessian: .* \(2,\), .* see jacobian"):
        F.hessian(lambda x: x * x)(_tensor([1.0, 2.0]))
    with pytest.raises(nd.DTypeError, match=r"hessian: .* not float"):
        F.hessian(lambda x: 3.0)(_tensor([1.0]))
    with pytest.raises(nd.ArgumentError, match=r"hessian: argnums is \(0, 1\); pass one int"):
        F.hessian(lambda x, y: (x * y).sum(), argnums=(0, 1))  # type: ignore[arg-type]
    with pytest.raises(nd.ShapeError, match=r"hvp: .* scalar"):
        F.hvp(lambda x: x * x, [_tensor([1.0, 2.0])], [_tensor([1.0, 2.0])])
    with pytest.raises(nd.DTypeError, match="int64"):
        F.grad(lambda x: x.sum())(ag.Tensor([1, 2]))
    with pytest.raises(ag.GradientError, match="argnums"):
        F.grad(lambda x: x.sum(), argnums=1)(_tensor([1.0]))
    with pytest.raises(nd.ShapeError, match="tangent"):
        F.jvp(lambda x: x, [_tensor([1.0])], [_tensor([1.0, 2.0])])
    with pytest.raises(nd.DTypeError, match="float"):
        F.vjp(lambda x: 3.0, _tensor([1.0]))


# --- checkpoint ------------------------------------------------------------------------------------------------------
def test_checkpoint_gives_the_same_gradients_and_holds_no_inner_values() -> None:
    w = _tensor(Y, requires_grad=True)

    def block(x: ag.Tensor) -> ag.Tensor:
        return ag.tanh(ag.exp(x @ w) * 2.0) @ ag.matrix_transpose(w)

    x = _tensor(X, requires_grad=True)
    plain = ag.grad(block(block(x)).sum(), [x, w])
    gc.collect()
    before = ag.live_tensor_count()
    y = ag.checkpoint(block, ag.checkpoint(block, x)).sum()
    assert ag.live_tensor_count() - before == 3
    again = ag.grad(y, [x, w])
    for one, other in zip(plain, again, strict=True):
        assert one is not None and other is not None
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-14)  # w's parts are added in another order


def test_checkpoint_repeats_random_numbers_and_keeps_the_stream() -> None:
    def dropped(x: ag.Tensor) -> ag.Tensor:
        return x * ag.Tensor(nd.astype(nd.random.bernoulli(0.5, x.shape), nd.float64))

    nd.random.manual_seed(3)
    x = ag.ones(50, dtype="float64").requires_grad_()
    y = ag.checkpoint(dropped, x)
    following = nd.random.bits((1,)).tolist()
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
    nd.random.manual_seed(3)
    dropped(x)
    assert nd.random.bits((1,)).tolist() == following


def test_checkpoint_is_differentiable_twice_and_checked() -> None:
    w = _tensor([0.3, -0.7], requires_grad=True)
    x = _tensor([0.5, 1.5], requires_grad=True)
    function = lambda x, w: ag.checkpoint(lambda x: ag.exp(x * w) * w, x)  # noqa: E731
    assert ag.gradcheck(function, [x, w]) and ag.gradgradcheck(function, [x, w])


def test_checkpoint_without_gradient_and_with_wrong_results() -> None:
    x = _tensor([1.0])
    assert not ag.checkpoint(ag.exp, x).requires_grad
    with ag.no_grad():
        assert ag.checkpoint(ag.exp, x.requires_grad_()).is_leaf
    with pytest.raises(ag.OpContractError, match="one Tensor"):
        ag.checkpoint(lambda x: (x, x), x)


def test_checkpoint_notices_overwritten_operands() -> None:
    x = _tensor([1.0], requires_grad=True)
    y = ag.checkpoint(ag.exp, x)
    x.data[0] = 5.0
    with pytest.raises(ag.SavedValueError, match="Checkpoint"):
        y.backward()
