"""Every loss, module and function, against PyTorch: values and gradients; those it lacks against their paper."""

import math
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import (
    assert_close,
    combinations,
    missing,
    public_classes,
    to_torch,
    to_treadle,
    torch,
)

import treadle.autograd as ag
from treadle import nn
from treadle.nn import functional

Maker = Callable[[np.random.Generator], Any]


def normal(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.normal(size=shape))


def positive(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.uniform(0.1, 2.0, size=shape))


def probabilities(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.uniform(0.02, 0.98, size=shape))


def signs(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.integers(0, 2, shape) * 2.0 - 1.0)


def bits(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.integers(0, 2, shape) * 1.0)


def counts(*shape: int) -> Maker:
    return lambda generator: np.asarray(generator.integers(1, 6, shape) * 1.0)


def labels(number: int, *shape: int, ignored: bool = False) -> Maker:
    def make(generator: np.random.Generator) -> Any:
        values = np.asarray(generator.integers(0, number, shape))
        if ignored:
            values.flat[values.size // 2] = -100
        return values

    return make


def simplex(*shape: int, axis: int = 1, logarithms: bool = False) -> Maker:
    def make(generator: np.random.Generator) -> Any:
        values = generator.uniform(0.1, 1.0, size=shape)
        values /= values.sum(axis=axis, keepdims=True)
        return np.log(values) if logarithms else values

    return make


def fixed(values: Any) -> Maker:
    return lambda generator: np.asarray(values)


def tensor_of(values: Any) -> Any:
    """A weight: built in the dtype and library of the test."""
    return Weight(np.asarray(values, "f8"))


class Weight:
    """An argument that is a tensor."""

    def __init__(self, values: Any) -> None:
        self.values = values


PAIR = [normal(4, 3), normal(4, 3)]
REDUCTION = [{}, {"reduction": "sum"}, {"reduction": "none"}]
FOUR = tensor_of([0.5, 2.0, 0.0, 1.0])

Grid = tuple[list[list[Maker]], list[list[dict[str, Any]]]]
GRIDS: dict[str, Grid] = {
    "MSELoss": ([PAIR, [normal(), normal()]], [REDUCTION]),
    "L1Loss": ([PAIR, [normal(), normal()]], [REDUCTION]),
    "SmoothL1Loss": ([PAIR], [REDUCTION, [{}, {"beta": 0.3}, {"beta": 0.0}]]),
    "HuberLoss": ([PAIR], [REDUCTION, [{}, {"delta": 0.3}]]),
    "NLLLoss": (
        [
            [simplex(6, 4, logarithms=True), labels(4, 6, ignored=True)],
            [simplex(4, axis=0, logarithms=True), labels(4)],
            [simplex(2, 4, 3, 2, logarithms=True), labels(4, 2, 3, 2, ignored=True)],
        ],
        [REDUCTION, [{}, {"weight": FOUR}], [{}, {"ignore_index": 2}]],
    ),
    "CrossEntropyLoss": (
        [
            [normal(6, 4), labels(4, 6, ignored=True)],
            [normal(4), labels(4)],
            [normal(2, 4, 3, 2), labels(4, 2, 3, 2, ignored=True)],
        ],
        [REDUCTION, [{}, {"weight": FOUR}], [{}, {"ignore_index": 2}], [{}, {"label_smoothing": 0.1}]],
    ),
    "BCELoss": ([[probabilities(3, 4), probabilities(3, 4)]], [REDUCTION, [{}, {"weight": FOUR}]]),
    "BCEWithLogitsLoss": (
        [[normal(3, 4), probabilities(3, 4)], [normal(3, 4), bits(3, 4)]],
        [REDUCTION, [{}, {"weight": FOUR}], [{}, {"pos_weight": tensor_of([3.0, 1.0, 0.5, 0.0])}]],
    ),
    "KLDivLoss": (
        [[simplex(3, 4, logarithms=True), simplex(3, 4)], [simplex(4, axis=0, logarithms=True), simplex(4, axis=0)]],
        [[*REDUCTION, {"reduction": "batchmean"}], [{}, {"log_target": True}]],
    ),
    "HingeEmbeddingLoss": ([[positive(4, 3), signs(4, 3)]], [REDUCTION, [{}, {"margin": 0.4}]]),
    "MultiMarginLoss": (
        [[normal(5, 4), labels(4, 5)], [normal(4), labels(4)]],
        [REDUCTION, [{}, {"p": 2}], [{}, {"margin": 0.3}], [{}, {"weight": FOUR}]],
    ),
    "MultiLabelMarginLoss": (
        [[normal(3, 4), fixed([[0, 3, -1, 2], [1, -1, -1, 0], [-1, 0, 1, 2]])], [normal(4), fixed([3, 0, -1, 1])]],
        [REDUCTION],
    ),
    "SoftMarginLoss": ([[normal(4, 3), signs(4, 3)]], [REDUCTION]),
    "MultiLabelSoftMarginLoss": ([[normal(3, 4), bits(3, 4)]], [REDUCTION, [{}, {"weight": FOUR}]]),
    "MarginRankingLoss": ([[normal(5), normal(5), signs(5)]], [REDUCTION, [{}, {"margin": 0.5}]]),
    "CosineEmbeddingLoss": (
        [[normal(5, 3), normal(5, 3), signs(5)], [normal(3), normal(3), signs()]],
        [REDUCTION, [{}, {"margin": 0.2}]],
    ),
    "TripletMarginLoss": (
        [[normal(5, 3), normal(5, 3), normal(5, 3)], [normal(3), normal(3), normal(3)]],
        [
            REDUCTION,
            [{}, {"margin": 0.3}],
            [{}, {"p": 1.0}, {"p": 3.0}, {"p": math.inf}],
            [{}, {"swap": True}],
            [{}, {"eps": 0.1}],
        ],
    ),
    "TripletMarginWithDistanceLoss": (
        [[normal(5, 3), normal(5, 3), normal(5, 3)]],
        [
            REDUCTION,
            [{}, {"margin": 0.3}],
            [{}, {"swap": True}],
            [{}, {"distance_function": lambda x, y: ((x - y) * (x - y) * 0.5).sum(-1)}],
        ],
    ),
    "PoissonNLLLoss": (
        [[positive(4, 3), counts(4, 3)]],
        [REDUCTION, [{}, {"log_input": False}], [{}, {"full": True}], [{}, {"eps": 0.1}]],
    ),
    "GaussianNLLLoss": (
        [
            [normal(4, 3), normal(4, 3), positive(4, 3)],
            [normal(4, 3), normal(4, 3), positive(4, 1)],
            [normal(4, 3), normal(4, 3), positive(4)],
            [normal(4, 3, 2), normal(4, 3, 2), positive(4, 1, 2)],
            [normal(4, 3), normal(4, 3), lambda generator: 0.7],
        ],
        [REDUCTION, [{}, {"full": True}], [{}, {"eps": 0.5}]],
    ),
    "CTCLoss": (
        [
            [
                simplex(7, 3, 4, axis=2, logarithms=True),
                fixed([[1, 2, 2], [3, 1, 2], [3, 3, 3]]),
                fixed([7, 6, 5]),
                fixed([3, 2, 0]),
            ],
            [simplex(9, 2, 4, axis=2, logarithms=True), fixed([1, 1, 2, 3, 3]), fixed([9, 8]), fixed([3, 2])],
            [simplex(6, 4, axis=1, logarithms=True), fixed([2, 2]), fixed(6), fixed(2)],
            [simplex(5, 2, 4, axis=2, logarithms=True), fixed([[1, 2], [3, 3]]), [5, 5], [2, 2]],
        ],
        [REDUCTION, [{}, {"blank": 3}], [{}, {"zero_infinity": True}]],
    ),
}
"""For each loss of PyTorch the inputs, and the alternatives whose every combination is run."""

OF_PROBABILITIES: dict[str, Grid] = {
    "CrossEntropyLoss": (
        [
            [normal(6, 4), simplex(6, 4)],
            [normal(4), simplex(4, axis=0)],
            [normal(2, 4, 3, 2), simplex(2, 4, 3, 2)],
        ],
        [REDUCTION, [{}, {"weight": FOUR}], [{}, {"label_smoothing": 0.1}]],
    )
}
"""Further inputs, with which not every option goes."""

FUNCTIONS = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss": "cross_entropy",
    "KLDivLoss": "kl_div",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "CTCLoss": "ctc_loss",
    "NLLLoss": "nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
}
"""The function of a class, where its name is not the class's in small letters."""


def function_of(name: str) -> str:
    letters = (f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return FUNCTIONS.get(name, "".join(letters).lstrip("_"))


CASES = [
    pytest.param(name, inputs, options, id=f"{name}-{number}-{position}")
    for name, (samples, grid) in [*GRIDS.items(), *OF_PROBABILITIES.items()]
    for number, inputs in enumerate(samples)
    for position, options in enumerate(combinations(grid))
]


def arguments(makers: list[Any], dtype: str) -> list[Any]:
    generator = np.random.default_rng(1)
    values = [maker(generator) if callable(maker) else maker for maker in makers]
    return [value.astype(dtype) if is_floating(value) else value for value in values]


def is_floating(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def converted(values: list[Any], convert: Callable[[Any], Any], constant: int | None = None) -> list[Any]:
    """Floating arrays as leaves, which want a gradient but for the one at ``constant``."""
    tensors = [convert(value) if isinstance(value, np.ndarray) else value for value in values]
    for place, (value, tensor) in enumerate(zip(values, tensors, strict=True)):
        if is_floating(value) and place != constant:
            tensor.requires_grad_(True)
    return tensors


def options_for(options: dict[str, Any], dtype: str, convert: Callable[[Any], Any]) -> dict[str, Any]:
    return {
        name: convert(value.values.astype(dtype)) if isinstance(value, Weight) else value
        for name, value in options.items()
    }


def run(loss: Callable[..., Any], tensors: list[Any]) -> Any:
    """The loss; the gradient of its sum, weighted by 1, 2, 3, ..., arrives at the tensors."""
    result = loss(*tensors)
    total = result
    if result.ndim:
        weights = np.arange(1.0, 1.0 + math.prod(result.shape)).reshape(tuple(result.shape))
        weights = weights.astype(np.asarray(result.detach().numpy()).dtype)
        total = (result * (to_torch(weights) if isinstance(result, torch.Tensor) else to_treadle(weights))).sum()
    total.backward()
    return result


TOLERANCES = {"float32": 1e-5, "float64": 1e-10}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # PyTorch's advice on KLDivLoss
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("name", "makers", "options"), CASES)
def test_loss(name: str, makers: list[Any], options: dict[str, Any], dtype: str) -> None:
    """Module and function."""
    values = arguments(makers, dtype)
    if options.get("log_target"):
        values[1] = np.log(values[1])
    if "ignore_index" in options and values[1].dtype.kind == "i":
        values[1] = np.where(values[1] == -100, options["ignore_index"], values[1])
    if "blank" in options:  # no label is the blank
        values[1] = np.where(values[1] == options["blank"], 0, values[1])
    constant = 1 if name == "SoftMarginLoss" else None  # whose target has no gradient in PyTorch
    theirs = converted(values, to_torch, constant)
    expected = run(getattr(torch.nn, name)(**options_for(options, dtype, to_torch)), theirs)
    given = options_for(options, dtype, to_treadle)
    function = getattr(functional, function_of(name))
    for loss in (getattr(nn, name)(**given), lambda *inputs: function(*inputs, **given)):
        ours = converted(values, to_treadle, constant)
        found = run(loss, ours)
        assert_close(found, expected, "value", TOLERANCES[dtype])
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            if isinstance(other, torch.Tensor) and other.requires_grad and other.grad is not None:
                assert_close(mine.grad, other.grad, f"gradient of input {number}", TOLERANCES[dtype])


def test_every_public_loss_is_compared() -> None:
    classes = set(public_classes(nn, nn.Loss)) - {"Loss", "WeightedLoss"}
    assert missing(classes, GRIDS, PAPERS) == []
    names = {function_of(name) for name in classes}
    assert {name for name in functional.__all__ if name.endswith(("_loss", "_div"))} <= names
    lacking = {name for name in torch.nn.modules.loss.__all__ if name not in classes}
    assert lacking <= {"NLLLoss2d", "LinearCrossEntropyLoss"}  # a name of the past; a layer and a loss in one


@pytest.mark.parametrize("name", GRIDS)
def test_every_argument_is_compared(name: str) -> None:
    varied = {option for options in combinations(GRIDS[name][1]) for option in options}
    theirs = signature(getattr(torch.nn, name)).parameters
    ours = signature(getattr(nn, name)).parameters
    assert list(ours) == [option for option in theirs if option not in ("size_average", "reduce")]
    assert set(ours) == varied
    assert all(parameter.default == theirs[option].default for option, parameter in ours.items())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_elements(name: str, reduction: str) -> None:
    x, y, weight = arguments([normal(4, 3), normal(4, 3), positive(4, 3)], "float64")
    found = getattr(functional, name)(to_treadle(x), to_treadle(y), reduction=reduction, weight=to_treadle(weight))
    expected = getattr(torch.nn.functional, name)(
        to_torch(x), to_torch(y), reduction=reduction, weight=to_torch(weight)
    )
    assert_close(found, expected, "value")


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, math.inf])
def test_distances(p: float, keepdim: bool) -> None:
    x, y = arguments([normal(4, 3), normal(4, 3)], "float64")
    found = functional.pairwise_distance(to_treadle(x), to_treadle(y), p, keepdim=keepdim)
    assert_close(found, torch.nn.functional.pairwise_distance(to_torch(x), to_torch(y), p, keepdim=keepdim), "distance")
    cosine = functional.cosine_similarity(to_treadle(x), to_treadle(y), dim=0)
    assert_close(cosine, torch.nn.functional.cosine_similarity(to_torch(x), to_torch(y), dim=0), "cosine")


@pytest.mark.parametrize("name", ["BCEWithLogitsLoss", "SoftMarginLoss", "MultiLabelSoftMarginLoss", "BCELoss"])
def test_extremes(name: str) -> None:
    """Logits as large as they come in float32, and probabilities of exactly 0 and 1, against float64."""
    x = np.asarray([[-1e30, -200.0, -100.0, -20.0, 0.0, 20.0, 100.0, 200.0, 1e30]], "f4")
    if name == "BCELoss":
        x = np.asarray([[0.0, 0.0, 1.0, 1.0, 1e-30, 1e-8, 1.0 - 1e-7, 0.5, 1.0]], "f4")
    y = np.asarray([[0, 1, 0, 1, 1, 0, 1, 0, 1]], "f4")
    y = y * 2 - 1 if name == "SoftMarginLoss" else y
    results = []
    for convert, library, dtype in ((to_treadle, nn, "f4"), (to_torch, torch.nn, "f8")):
        (tensor,) = converted([x.astype(dtype)], convert)
        loss = getattr(library, name)(reduction="none")(tensor, convert(y.astype(dtype)))
        loss.sum().backward()
        results.append((loss.detach().numpy(), tensor.grad.numpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_labels_that_do_not_fit(zero_infinity: bool) -> None:
    """Two equal labels need a blank between them: three steps."""
    scores, targets = arguments([simplex(2, 2, 3, axis=2, logarithms=True), fixed([[1, 1], [1, 2]])], "float64")
    results = []
    for convert, library in ((to_treadle, functional), (to_torch, torch.nn.functional)):
        (tensor,) = converted([scores], convert)
        lengths = convert(np.asarray([2, 2]))
        loss = library.ctc_loss(
            tensor, convert(targets), lengths, lengths, reduction="none", zero_infinity=zero_infinity
        )
        loss.sum().backward()
        results.append((loss, tensor.grad))
    assert_close(results[0][0], results[1][0], "value")
    assert_close(results[0][1], results[1][1], "gradient")


# --- what PyTorch lacks, by the papers' formulas ---------------------------------------------------------------------
def dice(p: Any, g: Any, axis: Any, smooth: float) -> Any:
    """Milletari, Navab and Ahmadi 2016, section 3."""
    return 1 - (2 * (p * g).sum(axis) + smooth) / ((p**2).sum(axis) + (g**2).sum(axis) + smooth)


PAPERS = {"DiceLoss": dice}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smooth", [0.0, 1.0])
@pytest.mark.parametrize("dim", [None, (1, 2), 2])
def test_dice(dim: Any, smooth: float, reduction: str) -> None:
    p, g = arguments([probabilities(3, 4, 5), bits(3, 4, 5)], "float64")
    expected = dice(p, g, (1, 2) if dim is None else dim, smooth)
    expected = {"mean": expected.mean, "sum": expected.sum, "none": lambda: expected}[reduction]()
    (ours,) = converted([p], to_treadle)
    loss = nn.DiceLoss(dim=dim, smooth=smooth, reduction=reduction)
    np.testing.assert_allclose(loss(ours, to_treadle(g)).numpy(), expected, rtol=1e-10)
    assert ag.gradcheck(lambda x: loss(x, to_treadle(g)), ours)
