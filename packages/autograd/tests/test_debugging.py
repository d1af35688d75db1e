"""The debugging tools: why, the stepper, anomalies, connections, memory by line, health of gradients."""

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd.debugging.reproduction import reproduction


def _leaf(*values: float, name: str | None = None) -> ag.Tensor:
    return ag.Tensor(list(values), requires_grad=True, dtype="float64", name=name)


def _model(x: ag.Tensor, w: ag.Tensor) -> ag.Tensor:
    hidden = ag.tanh(x @ w)
    return (hidden * hidden + ag.exp(hidden) * ag.sum(hidden) + hidden @ ag.matrix_transpose(w) @ w).sum()


# --- why -------------------------------------------------------------------------------------------------------------
def test_edges_add_up_to_the_gradient_bit_for_bit(device: str) -> None:
    generator = np.random.default_rng(0)
    w = ag.Tensor(generator.normal(size=(4, 4)).astype("float32"), requires_grad=True)
    x = ag.Tensor(generator.normal(size=(3, 4)).astype("float32"))
    loss = _model(x, w)
    reasons = ag.why(w, loss)
    assert w.grad is None
    loss.backward()
    assert w.grad is not None
    assert reasons.gradient.numpy().tobytes() == w.grad.numpy().tobytes()
    assert len(reasons.edges) == 3
    magnitudes = [each.magnitude for each in reasons.edges]
    assert magnitudes == sorted(magnitudes, reverse=True)
    assert "test_debugging.py" in str(reasons) and "MatMul" in str(reasons)


def test_repeated_operands_are_edges_of_their_own() -> None:
    x = _leaf(3.0)
    reasons = ag.why(x, x * x)
    assert [(each.index, each.gradient.tolist()) for each in reasons.edges] == [(0, [3.0]), (1, [3.0])]


def test_paths_add_up_and_are_the_largest() -> None:
    x = _leaf(1.0, 2.0)
    y = x * 2.0
    loss = (y * 3.0 + y * 100.0 + x * 7.0).sum()
    paths = ag.why(x, loss).paths(k=2)
    assert paths.count == 3
    assert [each.gradient.tolist() for each in paths.largest] == [[200.0, 200.0], [7.0, 7.0]]
    assert paths.remainder.tolist() == [6.0, 6.0]
    assert "1 other paths" in str(paths)
    assert [str(node.op) for node in paths.largest[0].nodes][-2:] == ["Multiply(right=2.0)", "None"]


def test_paths_of_a_diamond_of_depth_60_are_counted_without_walking_each() -> None:
    x = _leaf(1.0)
    y: Any = x
    for _ in range(60):
        y = y * 0.75 + y * 0.25
    paths = ag.why(x, y).paths(k=3, beam=8)
    assert paths.count == 2**60
    assert paths.largest[0].magnitude == pytest.approx(0.75**60)
    total = float(paths.remainder) + sum(float(each.gradient) for each in paths.largest)
    assert abs(total - 1.0) <= 1e-6


def test_why_of_an_inner_tensor_the_output_and_a_stranger() -> None:
    x = _leaf(1.0, 2.0)
    y = x * 3.0
    loss = (y * y).sum()
    assert ag.why(y, loss).gradient.tolist() == [6.0, 12.0]
    assert ag.why(loss, loss).gradient.item() == 1.0
    with pytest.raises(ag.GradientError, match="connection"):
        ag.why(_leaf(1.0), loss)
    with pytest.raises(ag.GradientError, match="require grad"):
        ag.why(ag.ones(1), loss)


def test_hooks_run_and_the_tensors_own_are_told_apart() -> None:
    def build() -> tuple[ag.Tensor, ag.Tensor]:
        x = _leaf(1.0, 2.0, name="x")
        y = ag.tanh(x)
        y.register_hook(lambda grad: grad * 3.0)
        z = y * x
        z.register_op_hook(lambda node, gradients, grad: (gradients[0] * 2.0, gradients[1]))
        return x, z.sum()

    x, loss = build()
    reasons = ag.why(x, loss)
    stepper = ag.Stepper(loss)
    list(stepper.backward())
    loss.backward(retain_graph=True)
    assert x.grad is not None and not np.allclose(x.grad.numpy(), np.tanh([1, 2]) + [1, 2] * (1 - np.tanh([1, 2]) ** 2))
    assert reasons.gradient.numpy().tobytes() == x.grad.numpy().tobytes()
    assert stepper.gradient_of(x).numpy().tobytes() == x.grad.numpy().tobytes()  # type: ignore[union-attr]
    x.grad = None
    x.register_hook(lambda grad: grad * 10.0)
    reasons = ag.why(x, loss)
    list(stepper.backward())
    loss.backward()
    assert reasons.result.tolist() == x.grad.tolist() == stepper.gradient_of(x).tolist()  # type: ignore[union-attr, attr-defined]
    assert (reasons.gradient * 10.0).tolist() == reasons.result.tolist() and "hooks of the tensor" in str(reasons)


def test_a_checkpoint_is_one_edge_and_no_more() -> None:
    x, w = _leaf(3.0), _leaf(2.0)
    y = (ag.checkpoint(lambda a: a * w * w, x) + w).sum()
    reasons = ag.why(w, y)
    assert [each.magnitude for each in reasons.edges] == [12.0, 1.0] and reasons.paths().count == 2
    y.backward()
    assert w.grad is not None and reasons.gradient.tolist() == w.grad.tolist() == [13.0]


def test_long_answers_are_cut() -> None:
    x = _leaf(0.5, name="x")
    y: Any = x
    for _ in range(500):
        y = ag.tanh(y) * x
    assert len(str(ag.why(x, y)).splitlines()) == 22 and "481 other uses" in str(ag.why(x, y))
    y = x
    for _ in range(500):
        y = y * 0.5 + y * 0.5
    shown = str(ag.why(x, y).paths(k=1, beam=2))
    assert "980 ops" in shown and "about 10^151 other paths" in shown and len(shown) < 1000


# --- the stepper -----------------------------------------------------------------------------------------------------
def test_the_stepper_computes_what_the_engine_computes() -> None:
    generator = np.random.default_rng(1)
    w = ag.Tensor(generator.normal(size=(4, 4)).astype("float32"), requires_grad=True, name="w")
    x = ag.Tensor(generator.normal(size=(3, 4)).astype("float32"), requires_grad=True)
    loss = _model(x, w)
    stepper = ag.Stepper(loss)
    steps = list(stepper.forward())
    assert [step.number for step in steps] == list(range(len(steps)))
    assert all(step.value.numpy().tobytes() == step.node.tensor.data.numpy().tobytes() for step in steps)
    assert stepper.value_of(loss) is steps[-1].value
    assert stepper.backward().run() is None
    loss.backward()
    for each in (w, x):
        gradient = stepper.gradient_of(each)
        assert gradient is not None and each.grad is not None
        assert gradient.numpy().tobytes() == each.grad.numpy().tobytes()


def test_forward_steps_take_the_present_values_of_leaves() -> None:
    x = _leaf(1.0)
    y = x * 2.0
    x.data = nd.asarray([5.0], dtype=nd.float64)
    assert [step.value.tolist() for step in ag.Stepper(y).forward()] == [[10.0]]
    assert y.tolist() == [2.0]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"op": ag.ops.Tanh}, "Tanh()"),
        ({"op": "Exp"}, "Exp()"),
        ({"shape": ()}, "Sum()"),
        ({"norm_above": 100.0}, "Exp()"),
        ({"when": lambda step: step.number == 1}, "Tanh()"),
    ],
)
def test_breakpoints_stop_the_walk(conditions: Any, expected: str) -> None:
    x = _leaf(1.0, 2.0, name="x")
    stepper = ag.Stepper(ag.exp(ag.tanh(x * 0.5) * 10.0).sum())
    made = stepper.break_on(**conditions)
    step = stepper.forward().run()
    assert step is not None and str(step.op) == expected and step.hit is made
    assert expected in str(step) and "stopped by" in str(step)


def test_a_walk_must_be_begun_and_a_breakpoint_shows_what_was_given() -> None:
    x = _leaf(1.0)
    stepper = ag.Stepper(x * 2.0)
    for use in (stepper.step, stepper.run, lambda: list(stepper)):
        with pytest.raises(ag.GradientError, match="begin a walk"):
            use()
    assert str(stepper.break_on(op="Exp", norm_above=2.0)) == "Breakpoint(op='Exp', norm_above=2.0)"
    with pytest.raises(TypeError, match="nonsense"):
        stepper.break_on(nonsense=1)


def test_breakpoints_on_names_and_bad_values_in_backward() -> None:
    x = _leaf(0.0, 4.0, name="x")
    loss = ag.sqrt(x).sum()
    stepper = ag.Stepper(loss)
    stepper.break_on(nonfinite=True)
    step = stepper.backward().run()
    assert step is not None and isinstance(step.op, ag.ops.Sqrt) and step.direction == "backward"
    stepper.breakpoints.clear()
    stepper.break_on(name="x")
    step = stepper.backward().run()
    assert step is not None and step.node.tensor is x and stepper.run() is None


def test_single_steps_and_the_debugger_inside_a_rule() -> None:
    program = """
import treadle.autograd as ag

class Twice(ag.Op):
    def forward(self, xp, x):
        return x * 2.0, ()

    def backward(self, xp, grad, node):
        doubled = grad * 2.0
        return doubled

x = ag.Tensor([1.0], requires_grad=True)
stepper = ag.Stepper(Twice()(x)).backward()
stepper.step(into=True)
print("gradient", stepper.gradient_of(x).tolist())
"""
    commands = "next\nnext\nprint('seen', doubled.tolist())\ncontinue\n"
    done = subprocess.run([sys.executable, "-c", program], input=commands, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "seen [2.0]" in done.stdout and "gradient [2.0]" in done.stdout


def test_a_breakpoint_in_a_rule_stops_the_engine_too() -> None:
    program = """
import treadle.autograd as ag

class Twice(ag.Op):
    def forward(self, xp, x):
        return x * 2.0, ()
    def backward(self, xp, grad, node):
        breakpoint()
        return grad * 2.0

x = ag.Tensor([1.0], requires_grad=True)
Twice()(x).sum().backward()
print("gradient", x.grad.tolist())
"""
    commands = "print('seen', grad.tolist(), node.shape)\ncontinue\n"
    done = subprocess.run([sys.executable, "-c", program], input=commands, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "seen [1.0] (1,)" in done.stdout and "gradient [2.0]" in done.stdout


@pytest.mark.parametrize("op", ["Tanh", "MatMul", "Sum", "Multiply"])
def test_the_debugger_stops_inside_the_rules_of_treadle(op: str) -> None:
    program = f"""
import treadle.autograd as ag
x = ag.Tensor([[0.5]], requires_grad=True)
y = dict(Tanh=ag.tanh(x), MatMul=x @ x, Sum=x.sum(), Multiply=x * x)["{op}"]
ag.Stepper(y).backward().step(into=True)
"""
    commands = "print('stopped in', type(self).__name__, grad.tolist())\ncontinue\n"
    done = subprocess.run([sys.executable, "-c", program], input=commands, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"stopped in {op} " in done.stdout, done.stdout + done.stderr


# --- NaN and infinities ----------------------------------------------------------------------------------------------
def test_the_first_bad_op_is_found_after_the_fact() -> None:
    x = _leaf(-1.0, 4.0)
    finding = ag.first_nonfinite((ag.exp(ag.log(x)) + 1.0).sum())
    assert finding is not None and str(finding.op) == "Log()" and finding.introduced
    assert "from -1 to 4" in str(finding) and "1 NaN" in str(finding) and "ag.log(x)" in str(finding)
    assert ag.first_nonfinite((x * 2.0).sum()) is None


@pytest.mark.eager_only("values are looked at when they are computed, not when the op is called")
def test_anomalies_are_caught_when_they_happen() -> None:
    x = _leaf(0.0, 4.0)
    with ag.detect_anomaly():
        y = ag.sqrt(x)
        with pytest.raises(ag.NonFiniteError, match=r"Log\(\) made the first") as caught:
            ag.log(x)
        assert caught.value.finding.inputs[0] is x  # type: ignore[attr-defined]
        with pytest.raises(ag.NonFiniteError, match=r"backward rule of Sqrt\(\).*input 0"):
            y.sum().backward()
        ag.log(ag.Tensor([float("nan")]))  # what comes in bad is not this op's fault
    ag.log(x)


def test_a_finding_is_written_as_a_test_that_fails(tmp_path: Path) -> None:
    x = ag.Tensor(np.array([[1.0, -3.0], [0.5, float("inf")]], dtype="float32"), requires_grad=True)
    finding = ag.first_nonfinite(ag.sum(ag.log(x * 1.0), axis=1))
    assert finding is not None
    path = finding.write_test(tmp_path / "test_reproduced.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout

    class Own(ag.Op):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            return xp.log(arrays[0]), ()

    own = ag.first_nonfinite(Own()(_leaf(-1.0)))
    assert own is not None
    with pytest.raises(ValueError, match="Own"):
        own.write_test(tmp_path / "other.py")


def test_an_op_with_several_results_is_blamed_by_its_name() -> None:
    x = ag.Tensor([[0.0, 0.0], [0.0, 0.0]], requires_grad=True)

    class Halves(ag.TupleOp):
        def forward(self, xp: Any, *arrays: Any) -> Any:
            return (arrays[0] * 0.5, 1.0 / arrays[0]), ()

    first, second = Halves()(x)
    finding = ag.first_nonfinite((first * second).sum())
    assert finding is not None and type(finding.op).__name__ == "Halves" and finding.introduced
    assert "result 0: shape (2, 2), float32, from 0 to 0" in str(finding) and "result 1" in str(finding)
    finding = ag.first_nonfinite(first.sum())  # the other result is bad, though nobody uses it
    assert finding is not None and type(finding.op).__name__ == "Halves"


def test_any_configuration_is_written_exactly() -> None:
    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    bad = x / 0.0
    rows = nd.asarray([1, 0])
    results = [
        x * float("nan"), float("inf") * x, bad.astype("float64"), bad[:, rows], bad[..., 0:1, None], bad.reshape(4),
        ag.sum(bad, axis=(0, 1)), ag.clip(bad, float("-inf"), float("inf")), ag.pad(bad, ((1, 0), (0, 1))),
        ag.einsum("ij,jk->ik", bad, x), ag.concat([x, bad]), ag.max_pool(bad.reshape((1, 1, 2, 2)), 2),
        ag.matmul(bad, x), ag.softmax(bad, axis=0), ag.cumsum(bad, axis=0),
    ]  # fmt: skip
    for result in results:
        assert result.op is not None
        names: dict[str, Any] = {}
        exec(reproduction(result.op, result.inputs), names)
        with pytest.raises(AssertionError):
            names["test_result_is_finite"]()
    finite: dict[str, Any] = {}
    exec(reproduction(x.sum().op, (x,)), finite)  # type: ignore[arg-type]
    finite["test_result_is_finite"]()


# --- connections -----------------------------------------------------------------------------------------------------
def test_connections_say_where_they_are_cut() -> None:
    w = _leaf(1.0, 2.0)
    assert ag.connection(w, (w * 2.0).sum())
    cut = ag.connection(w, (ag.exp(w * 1.0).detach() * 3.0 + 1.0).sum())
    assert not cut and [each.reason for each in cut.breaks] == ["detach()"]
    assert "detach() * 3.0" in str(cut)
    with ag.no_grad():
        y = w * 2.0
        y = ag.exp(y)
    cut = ag.connection(w, (y * ag.Tensor([1.0, 1.0], dtype="float64", requires_grad=True)).sum())
    assert not cut and "no_grad" in cut.breaks[0].reason and "y = w * 2.0" in str(cut)
    cut = ag.connection(w, w.astype("int64").sum())
    assert not cut and "int64" in cut.breaks[0].reason
    cut = ag.connection(w, ag.floor(w).sum())
    assert not cut and "floor() has no gradient" in cut.breaks[0].reason


def test_connections_without_a_record_say_so() -> None:
    w = _leaf(1.0)
    assert "no cut is on record" in str(ag.connection(w, _leaf(2.0) * 3.0))
    constant = ag.ones(1)
    assert "requires_grad=False" in str(ag.connection(constant, constant * 2.0))


def test_breaks_keep_nothing_alive() -> None:
    gc.collect()
    before = ag.live_tensor_count()
    w = _leaf(1.0)
    cut = (w * 2.0).detach()
    assert ag.live_tensor_count() == before + 2
    answer = ag.connection(w, cut * 1.0)
    assert not answer and not answer.breaks[0].certain and "gone" in str(answer)


# --- memory and health -----------------------------------------------------------------------------------------------
@pytest.mark.eager_only("what was not computed holds no bytes")
def test_memory_by_line() -> None:
    kept = []
    with ag.track_memory() as memory:
        for _ in range(4):
            kept.append(ag.ones((10, 10)) * 2.0)
        _ = ag.ones(3) * 1.0
        del _
    lines = memory.live()
    assert [(line.count, line.nbytes) for line in lines] == [(4, 1600)]
    assert "kept.append" in str(memory)
    del kept
    assert memory.live() == []


def test_gradient_health_names_the_sick() -> None:
    parameters = {name: _leaf(1.0, -2.0, 3.0, name=name) for name in "abcdef"}
    a, b, c, d, e, _ = parameters.values()
    loss = (a * 2.0).sum() + (b * 1e9).sum() + (c * 1e-12).sum() + (d * 0.0).sum() + (e * float("nan")).sum()
    loss.backward()
    verdicts = {each.name: each.verdict for each in ag.gradient_health(parameters)}
    assert verdicts == {
        "a": "ok", "b": "exploding", "c": "vanishing", "d": "zero", "e": "not finite", "f": "no gradient",
    }  # fmt: skip
    with pytest.raises(nd.DTypeError, match="pairs of a name and a Tensor"):
        ag.gradient_health([a])  # type: ignore[list-item]
    assert "exploding" in "\n".join(str(each) for each in ag.gradient_health(parameters.items()))


def test_the_health_of_what_has_no_names_or_is_complex() -> None:
    """A module, a tensor or tensors without names are told what is wanted; complex gradients have magnitudes."""
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    wrong: Any
    for wrong in (x, x.sum(), [x], object(), [("a", x, x)]):
        with pytest.raises(nd.DTypeError, match="pairs of a name and a Tensor"):
            ag.gradient_health(wrong)
    z = ag.Tensor([3.0 + 4.0j], requires_grad=True)
    ag.sum(ag.real(z * 1j)).backward()
    (found,) = ag.gradient_health({"z": z})
    assert (found.norm, found.ratio, found.verdict) == (1.0, 0.2, "ok")


def test_steps_over_complex_values(device: str) -> None:
    x = ag.Tensor([3.0 + 4.0j], requires_grad=True, device=device)
    stepper = ag.Stepper(ag.sum(ag.abs(x * 2.0)))
    assert "norm 10 " in str(next(iter(stepper.forward())))
    assert ["norm" in str(each) for each in stepper.backward()] == [True] * 4
    gradient = stepper.gradient_of(x)
    assert gradient is not None and gradient.tolist() == pytest.approx([1.2 + 1.6j])
