"""The functional forms against PyTorch's: every signature, and the values of those that no layer stands for."""

import inspect
import re
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import assert_close, to_torch, torch

from treadle.autograd import Tensor
from treadle.nn import functional

F = torch.nn.functional
OURS = {
    "attention_weights": "what scaled_dot_product_attention multiplies the values with",
    "causal_mask": "",
    "dice_loss": "",
    "flatten": "torch.flatten",
    "gru": "torch.gru is another function",
    "lstm": "torch.lstm is another function",
    "rnn": "one direction of one layer",
    "unflatten": "torch.unflatten",
}
"""Functions that PyTorch does not have, or elsewhere."""
LEFT_OUT = {"size_average", "reduce", "_stacklevel", "antialias", "out", "sparse"}
"""Arguments that are deprecated there, or have no meaning here."""
DIFFERENT = {
    "gumbel_softmax": "its eps is deprecated and ignored",
    "adaptive_max_pool1d": "", "adaptive_max_pool2d": "", "adaptive_max_pool3d": "",  # hidden behind *args
    "fractional_max_pool2d": "", "fractional_max_pool3d": "",
    "max_pool1d": "", "max_pool2d": "", "max_pool3d": "",
}  # fmt: skip


def signature_of(function: Any) -> inspect.Signature | None:
    """The signature, read off the first line of the docstring where the function is compiled."""
    try:
        return inspect.signature(function)
    except ValueError:
        found = re.match(r"\s*\w+\((.*?)\)\s*(->|$)", function.__doc__ or "", re.DOTALL | re.MULTILINE)
        if found is None or "..." in found[1]:
            return None
        return inspect.signature(eval(f"lambda {' '.join(found[1].split())}: None"))


@pytest.mark.parametrize("name", [name for name in functional.__all__ if name not in OURS])
def test_signature(name: str) -> None:
    ours = inspect.signature(getattr(functional, name))
    theirs = signature_of(getattr(F, name))
    if theirs is None or name in DIFFERENT:
        return
    known = [each for each in theirs.parameters.values() if each.name not in LEFT_OUT]
    mine = [each for each in ours.parameters.values() if each.name not in LEFT_OUT][: len(known)]
    assert [each.name for each in mine] == [each.name for each in known]
    empty = inspect.Parameter.empty
    for own, other in zip(mine, known, strict=True):
        assert (own.default is empty) == (other.default is empty), own.name
        assert own.default is empty or own.default == other.default, own.name


def test_only_what_pytorch_lacks_is_left_out() -> None:
    assert [name for name in functional.__all__ if not hasattr(F, name) and name not in OURS] == []


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def uniform(*shape: int) -> Any:
    return np.random.default_rng(5).uniform(size=shape)


IMAGE = draw(2, 3, 5, 4)
CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "pad": [
        ((IMAGE, (1, 2, 0, 3)), {"value": 1.5}),
        ((IMAGE, (1, -2, -1, 3)), {}),
        ((IMAGE, (1, 2, 3, 2)), {"mode": "reflect"}),
        ((IMAGE, (1, 2, 7, 2)), {"mode": "replicate"}),
        ((IMAGE, (4, 2, 0, 2)), {"mode": "circular"}),
        ((IMAGE, (1, 0)), {}),
    ],
    "scaled_dot_product_attention": [
        ((draw(2, 4, 5, 8), draw(2, 4, 3, 8, seed=1), draw(2, 4, 3, 6, seed=2)), {}),
        ((draw(2, 4, 5, 8), draw(2, 4, 3, 8, seed=1), draw(2, 4, 3, 6, seed=2)), {"scale": 0.3, "is_causal": True}),
        ((draw(2, 4, 5, 8), draw(2, 2, 3, 8, seed=1), draw(2, 2, 3, 8, seed=2)), {"enable_gqa": True}),
        ((draw(5, 8), draw(3, 8, seed=1), draw(3, 8, seed=2)), {"attn_mask": draw(5, 3) > -0.2}),
        ((draw(2, 5, 8), draw(2, 3, 8, seed=1), draw(2, 3, 8, seed=2)), {"attn_mask": draw(2, 1, 3)}),
    ],
    "normalize": [
        ((IMAGE,), {}),
        ((IMAGE, 1.0, 0), {}),
        ((IMAGE,), {"p": 3.0, "dim": -1}),
        ((IMAGE, float("inf")), {}),
    ],
    "cosine_similarity": [
        ((IMAGE, draw(2, 3, 5, 4, seed=1)), {}),
        ((IMAGE, draw(4, seed=1)), {"dim": -1}),
        ((IMAGE, draw(2, 1, 5, 4, seed=1)), {}),
        ((draw(1, 1, 4, seed=1), IMAGE), {"dim": -2}),
        ((IMAGE, draw(4, seed=1)), {"dim": 0}),
    ],
    "pairwise_distance": [((draw(3, 4), draw(3, 4, seed=1)), {"p": 3.0}), ((draw(3, 4), draw(4, seed=1)), {})],
    "one_hot": [((np.array([[0, 2], [1, 1]]),), {}), ((np.array([0, 2]), 5), {})],
    "interpolate": [
        ((IMAGE, (3, 9)), {"mode": "area"}),
        ((IMAGE,), {"scale_factor": 0.6}),
        ((IMAGE,), {"scale_factor": 0.6, "mode": "bicubic"}),
        ((IMAGE,), {"scale_factor": 2.5, "mode": "nearest-exact"}),
        *(
            ((IMAGE, size), {"mode": mode, "antialias": True, "align_corners": aligned})
            for mode in ("bilinear", "bicubic")
            for size in ((2, 3), (1, 2), (3, 9), (11, 2))  # of width 1 PyTorch's are not those of the transposed image
            for aligned in (False, True)
        ),
        ((IMAGE,), {"scale_factor": 0.6, "mode": "bicubic", "antialias": True}),
    ],
    "affine_grid": [
        ((draw(2, 2, 3), (2, 3, 4, 5)), {"align_corners": False}),
        ((draw(2, 2, 3), (2, 3, 4, 5)), {"align_corners": True}),
        ((draw(2, 3, 4), (2, 3, 4, 1, 2)), {"align_corners": False}),
    ],
    "embedding_bag": [
        ((np.array([0, 2, 2]), draw(3, 4), np.array([0, 2])), {"mode": "sum", "per_sample_weights": draw(3, seed=3)}),
        ((np.array([[0, 2], [1, 1]]), draw(3, 4)), {"mode": "max"}),
        ((np.zeros(0, "i8"), draw(3, 4), np.array([0, 0])), {"mode": "max"}),
    ],
    "fractional_max_pool2d": [
        ((draw(2, 3, 9, 7), (2, 3)), {"output_size": (4, 3), "_random_samples": uniform(2, 3, 2)}),
        ((draw(2, 3, 9, 7), 2), {"output_ratio": (0.5, 0.7), "_random_samples": uniform(2, 3, 2)}),
    ],
    "fractional_max_pool3d": [
        ((draw(2, 3, 9, 7, 8), (2, 3, 1)), {"output_size": (4, 3, 5), "_random_samples": uniform(2, 3, 3)}),
    ],
    "grid_sample": [
        ((IMAGE, 0.9 * draw(2, 4, 3, 2, seed=2)), {"mode": mode, "padding_mode": padding, "align_corners": aligned})
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for aligned in (False, True)
    ]
    + [
        (
            (draw(2, 3, 5, 4, 6), 0.9 * draw(2, 4, 3, 2, 3, seed=2)),
            {"mode": mode, "padding_mode": padding, "align_corners": False},
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
    ]
    + [((draw(1, 2, 1, 1), draw(1, 3, 3, 2, seed=2)), {"padding_mode": "reflection", "align_corners": True})],
    "pdist": [((draw(5, 3),), {"p": p}) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))],
    "lp_pool2d": [((np.abs(IMAGE), 1.5, 2), {}), ((np.array([[[[-1.0, -2.0], [-3.0, 1.0]]]]), 3, 2), {})],
    "glu": [((IMAGE,), {})],
    "rrelu": [((IMAGE,), {})],
    "softmax": [((IMAGE.astype("f4"), -1), {"dtype": "float64"})],
    "log_softmax": [((IMAGE.astype("f4"), 1), {"dtype": "float64"})],
}


@pytest.mark.parametrize(
    ("name", "position"), [(name, at) for name, calls in CALLS.items() for at in range(len(calls))]
)
def test_values_and_gradients(name: str, position: int) -> None:
    arguments, options = CALLS[name][position]

    def convert(value: Any, library: str) -> Any:
        if not isinstance(value, np.ndarray):
            return getattr(torch, value) if value == "float64" and library == "torch" else value
        if library == "torch":
            return to_torch(value).requires_grad_(value.dtype.kind == "f")
        return Tensor(value.copy(), requires_grad=value.dtype.kind == "f")

    called = []
    for library, functions in (("treadle", functional), ("torch", F)):
        given = [convert(each, library) for each in arguments]
        more = {key: convert(each, library) for key, each in options.items()}
        if "_random_samples" in more:
            more["_random_samples"] = more["_random_samples"].detach()
        called.append((getattr(functions, name)(*given, **more), [*given, *more.values()]))
    (found, mine), (expected, others) = called
    assert_close(found, expected, name)
    if expected.requires_grad:
        weights = draw(*expected.shape, seed=7)
        (found * Tensor(weights)).sum().backward()
        (expected * torch.from_numpy(weights)).sum().backward()
        for first, second in zip(mine, others, strict=True):
            if isinstance(second, torch.Tensor) and second.grad is not None:
                if first.grad is None:  # that of rounding, for one
                    assert not second.grad.any()
                else:
                    assert_close(first.grad, second.grad, f"gradient of {name}")
