"""What PyTorch has and treadle has not, name by name: nothing that is missing goes unnoticed.

The guide (docs/data-and-training.md, "What is otherwise than in PyTorch") says what to write instead.
"""

import importlib
import inspect
from typing import Any

import pytest
from packages.nn.tests.parity.compare import torch

from treadle import data, nn, optim
from treadle.nn import functional, init, utils
from treadle.optim import lr_scheduler, swa_utils

PAIRS: dict[str, tuple[Any, Any]] = {
    "nn": (nn, torch.nn),
    "functional": (functional, torch.nn.functional),
    "init": (init, torch.nn.init),
    "utils": (utils, torch.nn.utils),
    "rnn": (utils.rnn, torch.nn.utils.rnn),
    "parametrize": (utils.parametrize, torch.nn.utils.parametrize),
    "parametrizations": (utils.parametrizations, torch.nn.utils.parametrizations),
    "prune": (utils.prune, importlib.import_module("torch.nn.utils.prune")),
    "optim": (optim, torch.optim),
    "lr_scheduler": (lr_scheduler, torch.optim.lr_scheduler),
    "swa_utils": (swa_utils, torch.optim.swa_utils),
    "data": (data, torch.utils.data),
}
LEFT_OUT: dict[str, dict[str, str]] = {
    "nn": {
        "sizes are given": (
            "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
            "LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
            "LazyLinear UninitializedBuffer UninitializedParameter"
        ),
        "bases and old names": "Container CrossMapLRN2d NLLLoss2d RNNBase RNNCellBase factory_kwargs",
        "one process": "DataParallel SyncBatchNorm",
        "register_buffer": "Buffer",
        "cross_entropy of linear": "LinearCrossEntropyLoss LinearCrossEntropyOptions",
    },
    "functional": {
        "nothing is in place": "celu_ elu_ hardtanh_ leaky_relu_ relu_ rrelu_ selu_ threshold_",
        "return_indices": (
            "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
            "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices max_pool1d_with_indices "
            "max_pool2d_with_indices max_pool3d_with_indices"
        ),
        "interpolate": "upsample upsample_bilinear upsample_nearest",
        "parts of modules": "multi_head_attention_forward linear_cross_entropy",
        "entries of kernels": "conv_tbc grouped_mm native_channel_shuffle scaled_grouped_mm scaled_mm",
        "its own machinery": (
            "assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary "
            "has_torch_function_variadic ScalingType SwizzleType"
        ),
    },
    "init": {
        "deprecated": (
            "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal "
            "xavier_uniform"
        ),
    },
    "utils": {
        "parametrizations": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
        "deprecated": "clip_grad_norm",
        "its own machinery": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format skip_init",
    },
    "rnn": {"its own machinery": "invert_permutation"},
    "parametrize": {"one's own": "cached transfer_parametrizations_and_params type_before_parametrizations"},
    "prune": {
        "a mask is a parametrization": (
            "BasePruningMethod CustomFromMask Identity LnStructured PruningContainer RandomStructured"
        ),
    },
    "optim": {
        "gradients are dense": "SparseAdam",
        "its own machinery": "swap_in_optimizer_params_and_state",
    },
    "swa_utils": {"avg_fn": "get_ema_multi_avg_fn get_swa_multi_avg_fn"},
    "data": {
        "IterableDataset": (
            "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe "
            "guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled"
        ),
        "one process": "DistributedSampler",
    },
}
"""For each namespace the names that are left out, by the reason or what to use."""


def public_names(namespace: Any) -> set[str]:
    """``__all__``, or the functions and classes that are its own."""
    listed = getattr(namespace, "__all__", None)
    if listed is not None:
        return {name for name in listed if not name.startswith("_")}
    home = namespace.__name__.partition(".")[0]
    found = {name: getattr(namespace, name) for name in dir(namespace) if not name.startswith("_")}
    return {
        name
        for name, value in found.items()
        if (inspect.isclass(value) or callable(value)) and str(getattr(value, "__module__", home)).startswith(home)
    }


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_missing_is_left_out_on_purpose(name: str) -> None:
    ours, theirs = PAIRS[name]
    missing = {each for each in public_names(theirs) if not hasattr(ours, each)} - {"Tensor", "DType"}
    assert missing == {each for names in LEFT_OUT.get(name, {}).values() for each in names.split()}
