"""Ops of the user's own: what forward and backward must give, and what they are told."""

from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


def _leaf(*values: float) -> ag.Tensor:
    return ag.Tensor(list(values), requires_grad=True, dtype="float64")


def _grad(x: ag.Tensor) -> list[float]:
    assert x.grad is not None
    result: list[float] = x.grad.tolist()
    return result


class Custom(ag.Op):
    """Gives back whatever the test wants."""

    def __init__(self, gradients: Any = None, result: Any = None) -> None:
        self.gradients = gradients
        self.result = result

    def forward(self, xp: Any, *arrays: Any) -> Any:
        return (arrays[0] * 1.0, ()) if self.result is None else self.result

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return self.gradients


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        ((nd.ones(2, dtype="float64"),), r"Custom\(.*\): backward gave 1 gradients for 2 inputs"),
        (
            (nd.ones(2, dtype="float64"), nd.ones(3, dtype="float64")),
            r"gradient of input 1: expected NDArray of shape \(2,\), dtype float64, got shape \(3,\), dtype float64",
        ),
        (
            (nd.ones(2, dtype="float32"), nd.ones(2, dtype="float64")),
            r"gradient of input 0: expected NDArray of shape \(2,\), dtype float64, got shape \(2,\), dtype float32",
        ),
        ((None, nd.ones(2, dtype="float64")), r"gradient of input 0: .* got None"),
        ((ag.ones(2, dtype="float64"), nd.ones(2, dtype="float64")), r"gradient of input 0: .* got Tensor"),
        ((1.0, nd.ones(2, dtype="float64")), r"gradient of input 0: .* got float"),
    ],
)
def test_results_of_rules_are_checked(gradients: Any, message: str) -> None:
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    z = Custom(gradients)(x, y)
    with pytest.raises(ag.OpContractError, match=message + r".*, built at .*test_own_ops\.py:\d+: z = Custom"):
        z.backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_results_of_rules_on_another_device_are_refused(create_graph: bool) -> None:
    elsewhere: Any = nd.ones(1, dtype="float64", device="numpy")
    with nd.use_device("cpu"):
        z = Custom((ag.Tensor(elsewhere) if create_graph else elsewhere,))(_leaf(1.0))
        with pytest.raises(
            ag.OpContractError, match=r"input 0: expected .*, device cpu, got .*, device numpy, built at"
        ):
            z.backward(create_graph=create_graph)


def test_list_and_bare_results_are_taken() -> None:
    x, y = _leaf(1.0), _leaf(2.0)
    Custom([nd.ones(1, dtype="float64"), nd.zeros(1, dtype="float64")])(x, y).backward()
    Custom(nd.ones(1, dtype="float64"))(x).backward()
    assert (_grad(x), _grad(y)) == ([2.0], [0.0])


@pytest.mark.parametrize("result", [nd.ones(1), (1.0, ()), (nd.ones(1), (), 3), (nd.ones(1), [1])])
def test_results_of_forward_are_checked(result: Any) -> None:
    with pytest.raises(ag.OpContractError, match="Custom"):
        Custom(result=result)(_leaf(1.0))


def test_incomplete_ops_say_what_is_missing() -> None:
    class Empty(ag.Op):
        pass

    for use, name in (
        (lambda: Empty()(_leaf(1.0)), "forward"),
        (lambda: Empty().backward(nd, None, None), "backward"),
        (lambda: Empty().infer((), ()), "infer"),
    ):
        with pytest.raises(ag.OpContractError, match=f"Empty defines no {name}"):
            use()


def test_an_op_object_serves_many_calls() -> None:
    op = ag.ops.Multiply()
    a, b, c = _leaf(2.0), _leaf(3.0), _leaf(5.0)
    op(op(a, b), c).backward()
    assert (_grad(a), _grad(b), _grad(c)) == ([15.0], [10.0], [6.0])


def test_rules_are_told_what_is_needed() -> None:
    asked: list[tuple[bool, bool]] = []

    class Product(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
            return arrays[0] * arrays[1], arrays

        def backward(self, xp: Any, grad: Any, node: Any) -> Any:
            asked.append((node.needs_grad(0), node.needs_grad(1)))
            x, y = node.saved
            return grad * y if node.needs_grad(0) else None, grad * x if node.needs_grad(1) else None

    x, c = _leaf(2.0), ag.Tensor([3.0], dtype="float64")
    Product()(x, c).backward()
    Product()(c, x).backward(create_graph=True)
    assert asked == [(True, False), (False, True)]
    assert _grad(x) == [6.0]
    assert ag.gradgradcheck(Product(), (_leaf(2.0), _leaf(3.0)))


def test_saved_plain_values_and_many_of_them() -> None:
    class Scale(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
            (x,) = arrays
            return x * x, (3, None, "text", x, *range(20))

        def backward(self, xp: Any, grad: Any, node: Any) -> Any:
            three, nothing, text, x, *_rest = node.saved
            assert (three, nothing, text) == (3, None, "text")
            return grad * x * 2.0

    assert ag.gradgradcheck(Scale(), _leaf(2.0, 3.0))


def test_an_op_of_two_functions_saves_its_operands_and_differentiates_twice() -> None:
    def scaled(xp: Any, x: Any, y: Any) -> Any:
        return x * y * y

    op = ag.function_op(scaled, lambda xp, grad, x, y: (grad * y * y, grad * 2.0 * x * y))
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    y = ag.Tensor([3.0, -1.0], requires_grad=True)
    assert str(op(x, y).op) == "scaled()"
    assert ag.gradcheck(op, [x, y]) and ag.gradgradcheck(op, [x, y])


def test_an_op_of_two_functions_is_checked_like_any_other() -> None:
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    wrong = ag.function_op(lambda xp, x: (x * 2.0, (3,)), lambda xp, grad, three: (grad, grad), name="Wrong")
    with pytest.raises(ag.OpContractError, match=r"Wrong\(\): backward gave 2 gradients for 1 inputs"):
        wrong(x).sum().backward()
    with pytest.raises(ag.OpContractError, match="no backward"):
        ag.function_op(lambda xp, x: x * 2.0)(x).sum().backward()
    with pytest.raises(ag.GradientCheckError):
        ag.gradcheck(ag.function_op(lambda xp, x: x * x, lambda xp, grad, x: grad * x), x)


class _Doubled(ag.ops.Multiply):
    """Overrides what the compiled base has a short cut for."""

    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        out, saved = super().forward(xp, *arrays)
        return out * 2.0, saved

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        return tuple(None if each is None else each * 2.0 for each in super().backward(xp, grad, node))


class _Shifted(ag.ops.Exp):
    def forward(self, xp: Any, *arrays: Any) -> tuple[Any, tuple[Any, ...]]:
        out, saved = super().forward(xp, *arrays)
        return out + 1.0, saved


def test_subclasses_of_elementwise_ops_are_not_passed_over(device: str) -> None:
    x, y = (ag.Tensor(values, requires_grad=True) for values in ([2.0, 3.0], [5.0, 7.0]))
    z = _Doubled()(x, y)
    assert z.tolist() == [20.0, 42.0]
    z.sum().backward()
    assert x.grad is not None and y.grad is not None
    assert (x.grad.tolist(), y.grad.tolist()) == ([10.0, 14.0], [4.0, 6.0])
    zero = ag.Tensor([0.0], requires_grad=True)
    _Shifted()(zero).backward()
    assert _Shifted()(zero).tolist() == [2.0] and zero.grad is not None and zero.grad.tolist() == [1.0]


def test_elementwise_ops_refuse_another_number_of_operands() -> None:
    x = ag.Tensor([1.0])
    for op, inputs in (
        (ag.ops.Multiply(), (x,)),
        (ag.ops.Multiply(), (x, x, x)),
        (ag.ops.Multiply(right=2.0), (x, x)),
        (ag.ops.Exp(), (x, x)),
        (ag.ops.Exp(), ()),
    ):
        with ag.lazy(False), pytest.raises(ag.OpContractError, match=f"not {len(inputs)}"):
            op(*inputs)


class Scaled(ag.Op):
    """An op whose rule multiplies what does not fit."""

    def forward(self, xp: Any, x: Any, w: Any) -> Any:
        return x @ w, (x, w)

    def backward(self, xp: Any, grad: Any, node: Any) -> Any:
        x, w = node.saved
        return grad @ w, x.T @ grad  # should be grad @ w.T


def test_an_error_in_a_rule_names_the_op_and_the_line_that_called_it() -> None:
    result = Scaled()(ag.ones((2, 3)) * 1.0, ag.Tensor([[1.0, 2.0]] * 3, requires_grad=True))  # this line
    with pytest.raises(nd.ShapeError, match="matmul: shapes") as caught:
        result.sum().backward()
    (note,) = caught.value.__notes__
    assert note.startswith("in the backward pass of Scaled(), built at ")
    assert note.endswith("# this line")


def test_operands_are_no_configuration() -> None:
    x = ag.ones((2, 2))
    with pytest.raises(TypeError, match=r"Scaled\(...\) makes the op, and takes no operands; .* Scaled\(\)\(\.\.\.\)"):
        Scaled(x, x)
    assert repr(Scaled()) == "Scaled()"
    made: tuple[Any, ...] = (ag.ops.Add, ag.ops.Relu, ag.ops.Where, ag.ops.Solve)
    for each in made:
        with pytest.raises(TypeError, match=rf"call the op on them: {each.__name__}\(\)\(\.\.\.\)"):
            each(x, x)


def test_operands_are_no_configuration_of_ops_that_have_one() -> None:
    x = ag.ones((2, 2))
    configured: tuple[Any, ...] = (ag.ops.Sum, ag.ops.Softmax, ag.ops.Concat, ag.ops.MatMul, ag.ops.Einsum, ag.ops.Conv)
    for each in configured:  # Sum(x) kept x for its axis
        with pytest.raises(TypeError, match=rf"call the op on them: {each.__name__}\(\)\(\.\.\.\)"):
            each(x)


def test_an_op_may_be_configured_by_a_tensor() -> None:
    class Weighted(ag.Op):
        def __init__(self, weight: ag.Tensor) -> None:
            self.weight = weight

        def forward(self, xp: Any, x: Any) -> Any:
            return x * self.weight.data, ()

    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert Weighted(ag.Tensor(2.0))(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert ag.ops.GetItem(ag.Tensor([1, 0]))(x).tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_an_array_of_another_library_is_called_so() -> None:
    class Foreign(ag.Op):
        def forward(self, xp: Any, x: Any) -> Any:
            return x.numpy(), ()

    with pytest.raises(ag.OpContractError, match=r"a tuple of \(numpy.ndarray, tuple\)"):
        Foreign()(ag.ones(2))
