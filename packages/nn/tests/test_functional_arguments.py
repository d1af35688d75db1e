"""Lists and arrays where functions take tensors: each function, each argument."""

import inspect
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional as F


def t(*shape: int) -> Tensor:
    return Tensor(np.abs(np.random.default_rng(0).normal(size=shape)).astype("f4") * 0.5)


def i(*values: Any) -> Tensor:
    return Tensor(np.array(values))


ELEMENTWISE = (
    "alpha_dropout celu dropout elu flatten gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish "
    "normalize pdist relu relu6 rrelu selu sigmoid silu softplus softshrink softsign tanh tanhshrink gumbel_softmax"
)
PAIRS = (
    "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity dice_loss hinge_embedding_loss huber_loss "
    "kl_div l1_loss mse_loss multilabel_soft_margin_loss pairwise_distance poisson_nll_loss smooth_l1_loss "
    "soft_margin_loss attention_weights"
)
TRIPLES = "scaled_dot_product_attention triplet_margin_loss triplet_margin_with_distance_loss gaussian_nll_loss"
CALLS: dict[str, list[Any]] = {
    **{name: [t(2, 3)] for name in ELEMENTWISE.split()},
    **{name: [t(2, 3), t(2, 3)] for name in PAIRS.split()},
    **{name: [t(2, 3), t(2, 3), t(2, 3)] for name in TRIPLES.split()},
    **{f"conv{n}d": [t(1, 2, *(4,) * n), t(3, 2, *(2,) * n), t(3)] for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": [t(1, 2, *(4,) * n), t(2, 3, *(2,) * n), t(3)] for n in (1, 2, 3)},
    **{f"dropout{n}d": [t(1, 2, *(4,) * n)] for n in (1, 2, 3)},
    **{
        f"{kind}_pool{n}d": [t(1, 2, *(4,) * n), 2]
        for kind in ("max", "avg", "adaptive_avg", "adaptive_max") for n in (1, 2, 3)
    },
    **{f"lp_pool{n}d": [t(1, 2, *(4,) * n), 2.0, 2] for n in (1, 2, 3)},
    **{f"max_unpool{n}d": [t(1, 1, *(1,) * n), i(*[0]).reshape(1, 1, *(1,) * n), 2] for n in (1, 2, 3)},
    **{f"fractional_max_pool{n}d": [t(1, 2, *(4,) * n), 2, 2] for n in (2, 3)},
    "affine_grid": [t(1, 2, 3), (1, 1, 2, 2)], "batch_norm": [t(4, 3), t(3), t(3), t(3), t(3)],
    "bilinear": [t(2, 3), t(2, 4), t(5, 3, 4), t(5)], "channel_shuffle": [t(1, 4, 2), 2],
    "cosine_embedding_loss": [t(2, 3), t(2, 3), t(2)], "cross_entropy": [t(2, 3), i(0, 1), t(3)],
    "ctc_loss": [F.log_softmax(t(4, 1, 3), -1), i([1, 2]), (4,), (2,)], "embedding": [i(0, 1), t(2, 3)],
    "embedding_bag": [i(0, 1), t(2, 3), i(0)], "feature_alpha_dropout": [t(1, 2, 3)],
    "fold": [t(1, 4, 4), (3, 3), 2], "glu": [t(2, 4)], "grid_sample": [t(1, 1, 3, 3), t(1, 2, 2, 2)],
    "group_norm": [t(2, 4, 3), 2, t(4), t(4)], "gru": [t(3, 2, 6), t(2, 2), t(6, 2), t(6)],
    "instance_norm": [t(2, 3, 4)], "interpolate": [t(1, 2, 4), 6], "layer_norm": [t(2, 3), (3,), t(3), t(3)],
    "linear": [t(2, 3), t(4, 3), t(4)], "local_response_norm": [t(1, 3, 4), 3], "log_softmax": [t(2, 3), 1],
    "lstm": [t(3, 2, 8), t(2, 2), t(2, 2), t(8, 2)], "margin_ranking_loss": [t(2), t(2), t(2)],
    "multi_margin_loss": [t(2, 3), i(0, 1)], "multilabel_margin_loss": [t(1, 3), i([0, -1, -1])],
    "nll_loss": [t(2, 3), i(0, 1), t(3)], "one_hot": [i(0, 1)], "pad": [t(2, 3), (1, 1)],
    "pixel_shuffle": [t(1, 4, 2, 2), 2], "pixel_unshuffle": [t(1, 1, 4, 4), 2], "prelu": [t(2, 3), t(3)],
    "rms_norm": [t(2, 3), (3,), t(3)], "rnn": [t(3, 2, 2), t(2, 2), t(2, 2)], "softmax": [t(2, 3), 1],
    "softmin": [t(2, 3), 1], "threshold": [t(2), 0.1, 1.0], "unflatten": [t(4), 0, (2, 2)],
    "unfold": [t(1, 2, 4, 4), 2],
}  # fmt: skip
FORMS: dict[str, Any] = {"list": Tensor.tolist, "ndarray": Tensor.numpy, "NDArray": lambda x: x.data}
LENIENT = {
    "alpha_dropout", "feature_alpha_dropout", "one_hot", "cosine_embedding_loss", "gaussian_nll_loss",
    "hinge_embedding_loss", "multilabel_margin_loss", "nll_loss",
}  # fmt: skip
"""Functions that take some arrays as they are."""


def test_every_function_is_called() -> None:
    assert set(CALLS) == set(F.__all__) - {"causal_mask"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_tensor_is_a_dtype_error(name: str, form: str) -> None:
    function, arguments = getattr(F, name), CALLS[name]
    function(*arguments)
    for at, argument in enumerate(arguments):
        if isinstance(argument, Tensor):
            given = [*arguments[:at], FORMS[form](argument), *arguments[at + 1 :]]
            try:
                function(*given)
            except nd.DTypeError as error:
                assert form in str(error)
                assert "write Tensor(...)" in str(error) or "wrap it with Tensor(...)" in str(error)
            else:
                assert name in LENIENT


@pytest.mark.parametrize("given", [None, 3, "x", (1.0, 2.0), {}])
def test_other_objects_are_a_dtype_error_too(given: Any) -> None:
    for function, rest in ((F.gelu, ()), (F.dropout, ()), (F.layer_norm, ((3,),)), (F.max_pool2d, (2,))):
        with pytest.raises(nd.DTypeError, match=f"{type(given).__name__}.* (where|not) a Tensor"):
            function(given, *rest)
    with pytest.raises(nd.DTypeError, match="NoneType where a Tensor is needed"):
        F.conv2d(t(1, 2, 4, 4), None)  # type: ignore[arg-type]


def test_other_errors_of_functions_stay_what_they_are() -> None:
    with pytest.raises(TypeError, match="missing 1 required") as caught:
        F.pad(t(2))  # type: ignore[call-arg]
    assert not isinstance(caught.value, nd.DTypeError)
    with pytest.raises(nd.ShapeError):
        F.layer_norm(t(2, 3), [4])
    assert list(inspect.signature(F.pad).parameters) == ["input", "pad", "mode", "value"]
