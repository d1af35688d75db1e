"""Every function of the op table and of treadle.autograd as C, against Python: results, gradients, nasty numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library
from packages.autograd.tests.export.comparing import assert_as_good, assert_like, operand_tensors, outputs_of
from packages.autograd.tests.export.drawing import Case, collect, nasty
from packages.autograd.tests.export.samples import SAMPLERS, WITHOUT

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd import ExportError
from treadle.autograd.export import trace
from treadle.ndarray.opset import OPS

COUNTS = (3, 2)
"""Cases of a function's results, and of its gradients."""

BITS = ("max", "min", "relu", "sign", "abs", "maximum", "minimum")
"""Functions that round nothing."""


def test_no_function_is_left_out() -> None:
    known = {*SAMPLERS, *WITHOUT}
    assert set(ag.functions.__all__) - known == set() == set(OPS) - known
    assert known <= set(ag.functions.__all__)


class Suite:
    """A program for every sampler's results, and one for its gradients: several cases each, in one library."""

    def __init__(
        self, folder: Any, samplers: Mapping[str, Any] = SAMPLERS, counts: tuple[int, int] = COUNTS, **options: Any
    ) -> None:
        self.library = Library(folder)
        self.options = options
        self.forward: dict[str, list[Case]] = {}
        self.backward: dict[str, list[Case]] = {}
        self.faults: dict[str, list[Exception]] = {name: [] for name in samplers}
        for name, sampler in samplers.items():
            self.forward[name] = self._made(name, self._forward, collect(sampler, counts[0]))
            cases = collect(sampler, counts[1], constants=False)
            self.backward[name] = self._made(name, self._backward, [each for each in cases if _has_gradient(each)])

    def _made(self, name: str, make: Any, cases: list[Case]) -> list[Case]:
        """The cases, if they could be exported; the error is that of the function's own test."""
        try:
            if cases:
                make(name, cases)
            return cases
        except Exception as error:
            self.faults[name].append(error)
            return []

    def _forward(self, name: str, cases: list[Case]) -> None:
        groups = [operand_tensors(case) for case in cases]
        places = [(at, number) for at, case in enumerate(cases) for number in given_of(case)]

        def function(*given: ag.Tensor) -> Any:
            stands = dict(zip(places, given, strict=True))
            found: list[ag.Tensor] = []
            for at, (case, group) in enumerate(zip(cases, groups, strict=True)):
                result = case.function(*[stands.get((at, number), each) for number, each in enumerate(group)])
                found += result if isinstance(result, tuple) else (result,)
            return tuple(found)

        self.library.add(f"f_{name}", trace(function, [groups[at][number] for at, number in places]), **self.options)

    def _backward(self, name: str, cases: list[Case]) -> None:
        groups = [operand_tensors(case) for case in cases]
        leaves = [each for group in groups for each in group if each.dtype.kind == "f"]
        for each in leaves:
            each.requires_grad = True

        def loss(*given: ag.Tensor) -> ag.Tensor:
            rest = iter(given)
            total: Any = 0.0
            for case, group in zip(cases, groups, strict=True):
                total = total + _loss(case, [each if each.requires_grad else next(rest) for each in group])
            return total

        program = trace(
            loss, [each for group in groups for each in group if not each.requires_grad], parameters=leaves,
            names=[f"p{at}" for at in range(len(leaves))], update=lambda parameter, gradient: (gradient,),
            slots=[[] for _ in leaves],
        )  # fmt: skip
        self.library.add(f"g_{name}", program, **self.options)


def given_of(case: Case) -> list[int]:
    """The operands that are inputs of the program."""
    return [at for at in range(len(case.operands)) if at not in case.constants]


def _first(result: Any) -> ag.Tensor:
    return result[0] if isinstance(result, tuple) else result


def _has_gradient(case: Case) -> bool:
    tensors = [ag.Tensor(nd.asarray(each), requires_grad=each.dtype.kind == "f") for each in case.operands]
    return case.differentiable and _first(case.function(*tensors)).requires_grad


def _loss(case: Case, tensors: Sequence[ag.Tensor]) -> ag.Tensor:
    """The result times fixed random weights, summed."""
    result = _first(case.function(*tensors))
    weights = np.random.default_rng(case.seed).normal(size=result.shape).astype("float32")
    return ag.sum(result * ag.Tensor(nd.asarray(weights)))


def assert_results(suite: Suite, name: str) -> None:
    """The error of a function's cases is that of Python, or the bits are."""
    cases = suite.forward[name]
    results = iter(suite.library.call(f"f_{name}", [case.operands[at] for case in cases for at in given_of(case)]))
    for case in cases:
        python = outputs_of(case.function, case.operands)
        exact = outputs_of(case.function, _wide(case.operands))
        sizes = outputs_of(case.function, [np.abs(each) for each in _wide(case.operands)]) if case.linear else exact
        for own, better, size in zip(python, exact, sizes, strict=True):
            if case.exact:
                assert_like(next(results), own)
            else:
                assert_as_good(next(results), own, better, size, case.per_element)


def assert_gradients(suite: Suite, name: str) -> None:
    """The same of its gradients."""
    cases = suite.backward[name]
    if not cases:
        return
    suite.library.call(f"g_{name}", [each for case in cases for each in case.operands if each.dtype.kind != "f"])
    got = iter(suite.library.states(f"g_{name}").values())
    for case in cases:
        exact = _gradients(case, _wide(case.operands))
        # Where a gradient nearly vanishes, it is a difference of larger numbers, such as another operand's gradient.
        least = max([0.25, *(float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in exact)])
        for own, better in zip(_gradients(case, case.operands), exact, strict=True):
            assert_as_good(next(got), own, better, np.maximum(np.abs(better), least), False)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with np.errstate(all="ignore"):
        found = Suite(tmp_path_factory.mktemp("functions"))
        found.library.load()
        yield found


def _wide(operands: list[np.ndarray]) -> list[np.ndarray]:
    return [each.astype("float64") if each.dtype == np.float32 else each for each in operands]


@pytest.mark.parametrize("name", SAMPLERS)
def test_everything_exports(suite: Suite, name: str) -> None:
    for error in suite.faults[name]:
        raise error


@pytest.mark.parametrize("name", SAMPLERS)
def test_results(suite: Suite, name: str) -> None:
    assert_results(suite, name)


@pytest.mark.parametrize("name", SAMPLERS)
def test_nasty_numbers(suite: Suite, name: str) -> None:
    cases = suite.forward[name]
    drawn = [[nasty(each, case.seed + at) for at, each in enumerate(case.operands)] for case in cases]
    for operands, case in zip(drawn, cases, strict=True):
        for at in case.constants:
            operands[at] = case.operands[at]
    given = [operands[at] for operands, case in zip(drawn, cases, strict=True) for at in given_of(case)]
    results = iter(suite.library.call(f"f_{name}", given))
    for operands, case in zip(drawn, cases, strict=True):
        for python in outputs_of(case.function, operands):
            got = next(results)
            if case.exact or name in BITS:
                assert_like(got, python)
            elif case.nasty:
                np.testing.assert_allclose(got, python, rtol=3e-5 if got.dtype == np.float32 else 1e-12, atol=1e-44)


@pytest.mark.parametrize("name", SAMPLERS)
def test_gradients(suite: Suite, name: str) -> None:
    assert_gradients(suite, name)


def test_nothing_undefined_happens(suite: Suite) -> None:
    """All of it once more in an executable with sanitizers, on nasty numbers: the same bits, and no complaint."""
    inputs = {
        f"f_{name}": [nasty(case.operands[at], case.seed) for case in cases for at in given_of(case)]
        for name, cases in suite.forward.items() if cases
    }  # fmt: skip
    inputs |= {
        f"g_{name}": [each for case in cases for each in case.operands if each.dtype.kind != "f"]
        for name, cases in suite.backward.items() if cases
    }  # fmt: skip
    for name, found in suite.library.call_sanitized(inputs).items():
        if name.startswith("g_"):
            continue  # the library's states are no longer the first ones
        for one, other in zip(found, suite.library.call(name, inputs[name]), strict=True):
            assert_like(np.frombuffer(one, other.dtype).reshape(other.shape), other, name)


def _gradients(case: Case, operands: list[np.ndarray]) -> list[np.ndarray]:
    tensors = [ag.Tensor(nd.asarray(each, copy=True), requires_grad=each.dtype.kind == "f") for each in operands]
    _loss(case, tensors).backward()
    leaves = [each for each in tensors if each.requires_grad]
    return [each.grad.numpy() if each.grad is not None else np.zeros(each.shape, each.dtype.name) for each in leaves]


LINALG = {
    "matmul": lambda x: ag.linalg.matmul(x, x), "matrix_transpose": ag.linalg.matrix_transpose,
    "vector_norm": lambda x: ag.linalg.vector_norm(x, ord=3, axis=0), "diagonal": ag.linalg.diagonal,
    "trace": ag.linalg.trace, "outer": lambda x: ag.linalg.outer(x[0], x[1]),
    "vecdot": lambda x: ag.linalg.vecdot(x, x),
    "tensordot": lambda x: ag.linalg.tensordot(x, x, axes=1), "cross": lambda x: ag.linalg.cross(x, x[::-1]),
    "matrix_power": lambda x: ag.linalg.matrix_power(x, 3), "multi_dot": lambda x: ag.linalg.multi_dot([x, x, x[0]]),
    "matrix_norm": lambda x: ag.linalg.matrix_norm(x, ord=1, keepdims=True),
}  # fmt: skip
REFUSED = {
    "inv": ag.linalg.inv, "det": ag.linalg.det, "slogdet": lambda x: ag.linalg.slogdet(x).logabsdet,
    "cholesky": lambda x: ag.linalg.cholesky(x @ ag.matrix_transpose(x) + ag.eye(3)),
    "eigh": lambda x: ag.linalg.eigh(x + ag.matrix_transpose(x)).eigenvalues,
    "eigvalsh": lambda x: ag.linalg.eigvalsh(x + ag.matrix_transpose(x)), "svd": lambda x: ag.linalg.svd(x).S,
    "svdvals": ag.linalg.svdvals, "qr": lambda x: ag.linalg.qr(x).Q, "pinv": ag.linalg.pinv,
    "solve": lambda x: ag.linalg.solve(x, x), "eig": lambda x: ag.abs(ag.linalg.eig(x).eigenvalues),
    "eigvals": lambda x: ag.abs(ag.linalg.eigvals(x)), "matrix_exp": ag.linalg.matrix_exp,
    "householder_product": lambda x: ag.linalg.householder_product(x, x[0]), "cond": ag.linalg.cond,
    "lstsq": lambda x: ag.linalg.lstsq(x, x).solution,
    "solve_triangular": lambda x: ag.linalg.solve_triangular(x, x, upper=True),
}  # fmt: skip


def test_every_function_of_linalg_exports_or_says_that_it_does_not(tmp_path: Any) -> None:
    assert {*LINALG, *REFUSED} == set(ag.linalg.__all__)
    x = np.random.default_rng(0).normal(size=(3, 3)).astype("float32")
    library = Library(tmp_path)
    for name, function in LINALG.items():
        library.add(f"linalg_{name}", trace(function, [ag.Tensor(x)]))
    for name, function in LINALG.items():
        (got,), (python,) = library.call(f"linalg_{name}", [x]), outputs_of(function, [x])
        np.testing.assert_allclose(got, python, rtol=1e-5, atol=1e-6)
    for function in REFUSED.values():
        with pytest.raises(ExportError, match=r"(?s)test_every_function.*has no form in C|which C99 lacks"):
            library.add("refused", trace(function, [ag.Tensor(x)]))
