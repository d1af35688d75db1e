"""Hooks on tensors and on nodes."""

from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def _leaf(*values: float) -> ag.Tensor:
    return ag.Tensor(list(values), requires_grad=True, dtype="float64")


def test_a_hook_sees_the_whole_gradient_once_and_may_change_it(device: str) -> None:
    x = _leaf(1.0, 2.0)
    y = x * 3.0
    seen: list[Any] = []
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    y.register_hook(lambda grad: grad * 2.0)
    (y * y + y).sum().backward()
    assert seen == [[7.0, 13.0]]
    assert x.grad is not None and x.grad.tolist() == [42.0, 78.0]


def test_hooks_of_leaves_run_before_accumulation_and_in_grad() -> None:
    x = _leaf(2.0)
    with x.register_hook(lambda grad: grad + 1.0) as handle:
        (x * x).backward()
        assert x.grad is not None and x.grad.tolist() == [5.0]
        (gradient,) = ag.grad((x * x).sum(), x)
        assert gradient is not None and gradient.tolist() == [5.0]
    handle.remove()
    (x * x).backward()
    assert x.grad.tolist() == [9.0]


def test_a_removed_hook_leaves_the_others() -> None:
    x = _leaf(1.0)
    first = x.register_hook(lambda grad: grad * 2.0)
    x.register_hook(lambda grad: grad * 3.0)
    first.remove()
    x.register_hook(lambda grad: grad * 5.0)
    (x * 1.0).backward()
    assert x.grad is not None and x.grad.tolist() == [15.0]


def test_hooks_are_differentiated_under_create_graph() -> None:
    x = _leaf(3.0)
    y = x * x
    y.register_hook(lambda grad: grad * x)
    (first,) = ag.grad(y.sum(), x, create_graph=True)
    assert first is not None and first.tolist() == [18.0]  # x * 2x
    (second,) = ag.grad(first.sum(), x)
    assert second is not None and second.tolist() == [12.0]


@pytest.mark.parametrize("bad", [3.0, ag.ones(3, dtype="float64"), ag.ones(1)])
def test_a_wrong_result_of_a_hook_names_it(bad: Any) -> None:
    x = _leaf(1.0)
    x.register_hook(lambda grad: bad)
    with pytest.raises(ag.OpContractError, match="hook"):
        (x * 2.0).backward()


def test_hooks_need_a_gradient_and_a_callable() -> None:
    with pytest.raises(ag.GradientError, match="register_hook"):
        ag.ones(1).register_hook(print)
    with pytest.raises(ag.OpContractError, match="callable"):
        _leaf(1.0).register_hook(3)
    with pytest.raises(ag.GradientError, match="register_op_hook"):
        _leaf(1.0).register_op_hook(print)


def test_op_hooks_see_and_change_the_results_of_a_rule(device: str) -> None:
    x, y = _leaf(2.0), _leaf(5.0)
    z = x * y
    seen: list[Any] = []

    def hook(node: ag.Tensor, gradients: Any, grad: ag.Tensor) -> Any:
        seen.append((node is z, [each.tolist() for each in gradients], grad.tolist()))
        return gradients[0] * 10.0, gradients[1]

    z.register_op_hook(hook)
    z.backward(ag.Tensor([2.0], dtype="float64"))
    assert seen == [(True, [[10.0], [4.0]], [2.0])]
    assert x.grad is not None and x.grad.tolist() == [100.0]
    assert y.grad is not None and y.grad.tolist() == [4.0]


def test_an_op_hook_of_the_wrong_arity_or_shape_is_refused() -> None:
    x = _leaf(2.0)
    z = x * 2.0
    handle = z.register_op_hook(lambda node, gradients, grad: (None, None))
    with pytest.raises(ag.OpContractError, match="2 gradients for 1"):
        z.backward(retain_graph=True)
    handle.remove()
    z.register_op_hook(lambda node, gradients, grad: (ag.ones(7),))
    with pytest.raises(ag.OpContractError, match=r"\(7,\)"):
        z.backward()


def test_op_hooks_see_the_gradients_of_several_results_as_tuples() -> None:
    x = ag.Tensor([[2.0, 1.0], [0.5, 3.0]], dtype="float64", requires_grad=True)
    seen: list[Any] = []
    for create_graph in (False, True):
        r = ag.linalg.qr(x).R
        r.register_op_hook(lambda node, gradients, grad: seen.append((gradients, grad)))
        r.inputs[0].register_op_hook(lambda node, gradients, grad: seen.append((gradients, grad)))
        r.sum().backward(create_graph=create_graph)
        (items, own), (whole, both) = seen[-2:]
        assert len(items) == 1 and items[0][0] is None and items[0][1].tolist() == own.tolist() == [[1.0, 1.0]] * 2
        assert type(whole[0]) is ag.Tensor and both[0] is None and both[1].tolist() == own.tolist()
    expected = x.grad
    x.grad = None
    r = ag.linalg.qr(x).R
    r.register_op_hook(lambda node, gradients, grad: ((None, gradients[0][1] * 4.0),))
    r.sum().backward()
    assert x.grad is not None and expected is not None
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy() * 2.0)


def test_all_results_together_take_no_hook_and_no_gradient_of_another_kind() -> None:
    x = ag.Tensor([[2.0, 1.0], [0.5, 3.0]], requires_grad=True)
    r = ag.linalg.qr(x).R
    bundle = r.inputs[0]
    for use in (bundle.retain_grad, lambda: bundle.register_hook(print), lambda: ag.grad(r, bundle)):
        with pytest.raises(ag.GradientError, match="together"):
            use()
    for wrong in ((None, ag.ones(3)), (None,), (None, ag.ones((2, 2), dtype="float64")), ag.ones((2, 2))):
        handle = r.register_op_hook(lambda node, gradients, grad, wrong=wrong: (wrong,))
        with pytest.raises(ag.OpContractError, match="TupleItem"):
            r.backward(retain_graph=True)
        handle.remove()


def test_inference_mode_wins_over_enable_grad() -> None:
    x = _leaf(1.0)
    with ag.inference_mode():
        assert ag.is_inference_mode_enabled()
        with ag.enable_grad():
            assert not (x * 2.0).requires_grad
    assert not ag.is_inference_mode_enabled() and (x * 2.0).requires_grad
    with ag.inference_mode(False):
        assert (x * 2.0).requires_grad
    assert not ag.inference_mode()(lambda: x * 2.0)().requires_grad
    assert ag.is_grad_enabled()


def test_to_moves_values_and_gradients() -> None:
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    y = x.to("numpy", nd.float64)
    assert (y.device, y.dtype) == ("numpy", "float64")
    (y * y).sum().backward()
    assert x.grad is not None and (x.grad.device, x.grad.dtype) == ("cpu", "float32")
    assert x.grad.tolist() == [2.0, 4.0]
