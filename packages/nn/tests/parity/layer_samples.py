"""How every public layer is built and called in the parity tests: at least one sample a class."""

from typing import Any

import numpy as np
from packages.nn.tests.parity.compare import Sample

__all__ = ["ELSEWHERE", "LAYERS"]

VECTORS = ((3, 4),)
SERIES = ((2, 4, 7),)
IMAGES = ((2, 4, 6, 5),)
VOLUMES = ((2, 4, 3, 4, 5),)
SPATIAL = {1: SERIES, 2: IMAGES, 3: VOLUMES}

ELSEWHERE = {
    "KeyValueCache": "no module",
    "ModuleDict": "no forward: test_containers",
    "ModuleList": "no forward: test_containers",
    "ParameterDict": "no forward: test_parameter_containers",
    "ParameterList": "no forward: test_parameter_containers",
    "Residual": "not PyTorch's: test_layers",
    "RotaryPositionalEncoding": "not PyTorch's: test_positional",
    "Sequential": "test_containers, and of torch modules: test_layers",
    "SinusoidalPositionalEncoding": "not PyTorch's: test_positional",
}
"""Classes that this table has no entry for, and what tests them."""


def activation(*arguments: Any, scale: float = 3.0, **options: Any) -> Sample:
    return Sample(arguments, options, inputs=((3, 4, 5),), scale=scale)


def spatial(
    name: str, counts: tuple[int, ...], *samples: tuple[tuple[Any, ...], dict[str, Any]]
) -> dict[str, list[Sample]]:
    """The same samples for several numbers of axes."""
    return {
        f"{name}{count}d": [Sample(arguments, options, inputs=SPATIAL[count]) for arguments, options in samples]
        for count in counts
    }


ACTIVATIONS: dict[str, list[Sample]] = {
    "CELU": [activation(), activation(0.5)],
    "ELU": [activation(), activation(0.5)],
    "GELU": [activation(), activation("tanh"), activation(approximate="none")],
    "GLU": [Sample((), {}, [(3, 4)]), Sample((1,), {}, [(3, 4, 5)])],
    "Hardshrink": [activation(), activation(1.5)],
    "Hardsigmoid": [
        Sample(inputs=((3, 4, 5),), scale=3.0, tolerance=1e-7)
    ],  # PyTorch's 1/6 is a float32 in float64 too
    "Hardswish": [activation()],
    "Hardtanh": [activation(), activation(-2.0, 0.5)],
    "LeakyReLU": [activation(), activation(0.2)],
    "LogSigmoid": [activation(), activation(scale=50.0)],
    "LogSoftmax": [activation(-1), activation(dim=1)],
    "Mish": [activation()],
    "PReLU": [activation(), activation(4), activation(1, 0.5)],
    "RReLU": [Sample((0.1, 0.4), {}, train=False)],
    "ReLU": [activation()],
    "ReLU6": [activation()],
    "SELU": [activation()],
    "SiLU": [activation()],
    "Sigmoid": [activation()],
    "Softmax": [activation(-1), activation(dim=0)],
    "Softmax2d": [Sample(inputs=IMAGES), Sample(inputs=[(3, 4, 5)])],
    "Softmin": [activation(-1)],
    "Softplus": [activation(), activation(2.0, 3.0), activation(scale=30.0)],
    "Softshrink": [activation(), activation(1.5)],
    "Softsign": [activation()],
    "Tanh": [activation()],
    "Tanhshrink": [activation()],
    "Threshold": [activation(0.1, 20.0)],
}

CONVOLUTIONS: dict[str, list[Sample]] = {
    **spatial(
        "Conv",
        (1, 2, 3),
        ((4, 6, 3), {}),
        ((4, 6, 2), {"stride": 2, "padding": 1, "dilation": 2, "bias": False}),
        ((4, 6, 3), {"groups": 2, "padding": "same"}),
        ((4, 4, 2), {"groups": 4, "padding": "same", "padding_mode": "replicate"}),
        ((4, 2, 3), {"padding": "valid"}),
        ((4, 2, 3), {"padding": 1, "padding_mode": "reflect"}),
        ((4, 2, 3), {"padding": 1, "padding_mode": "circular", "stride": 2}),
    ),
    **spatial(
        "ConvTranspose",
        (1, 2, 3),
        ((4, 6, 3), {}),
        ((4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}),
        ((4, 6, 2), {"stride": 3, "dilation": 2, "bias": False}),
    ),
}
CONVOLUTIONS["Conv1d"].append(Sample((4, 3, 3), inputs=[(4, 7)]))
CONVOLUTIONS["Conv2d"] += [
    Sample((4, 3, (3, 1), (2, 1), (1, 0), (1, 2)), inputs=IMAGES),
    Sample((4, 3, 3), inputs=[(4, 6, 5)]),
]
CONVOLUTIONS["ConvTranspose2d"] += [
    Sample((4, 3, 2), {"stride": 2}, inputs=IMAGES, call={"output_size": (13, 11)}),
    Sample((4, 3, 2), inputs=[(4, 6, 5)]),
]

POOLING: dict[str, list[Sample]] = {
    **spatial(
        "MaxPool",
        (1, 2, 3),
        ((2,), {}),
        ((3,), {"stride": 2, "padding": 1, "ceil_mode": True}),
        ((2,), {"stride": 1, "dilation": 2}),
        ((2,), {"stride": 2, "return_indices": True}),
    ),
    **spatial(
        "AvgPool",
        (1, 2, 3),
        ((2,), {}),
        ((3,), {"stride": 2, "padding": 1, "ceil_mode": True}),
        ((3,), {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}),
    ),
    **spatial("AdaptiveAvgPool", (1, 2, 3), ((3,), {}), ((1,), {})),
    **spatial("AdaptiveMaxPool", (1, 2, 3), ((3,), {}), ((2,), {"return_indices": True})),
}
for axes in (1, 2, 3):
    POOLING[f"LPPool{axes}d"] = [
        Sample((2, 2), inputs=SPATIAL[axes]),
        Sample((3.0, 2), {"stride": 1, "ceil_mode": True}, SPATIAL[axes]),
        Sample((2.0, 2), inputs=[SPATIAL[axes][0][1:]]),
    ]
POOLING["FractionalMaxPool2d"] = [
    # Where the windows' step is a whole number nothing depends on what is drawn.
    Sample((2,), {"output_size": (3, 2), "return_indices": True}, [(2, 4, 6, 5)]),
    Sample(((2, 1),), {"output_ratio": (0.5, 0.6)}, [(4, 6, 5)]),
]
POOLING["FractionalMaxPool3d"] = [Sample((1,), {"output_size": (2, 2, 3), "return_indices": True}, [(2, 4, 3, 4, 5)])]
POOLING["AvgPool2d"].append(Sample((2,), {"divisor_override": 3}, inputs=IMAGES))
POOLING["AdaptiveAvgPool2d"] += [Sample(((2, None),), inputs=IMAGES), Sample(((3, 5),), inputs=[(4, 6, 5)])]
POOLING["AdaptiveMaxPool2d"].append(Sample(((None, 4),), inputs=IMAGES))
for axes in (1, 2, 3):
    indices = np.arange(4 * 2**axes).reshape(1, 2, 2, *(2,) * axes)[:, 0] % 2**axes * 3 % 4**axes
    POOLING[f"MaxUnpool{axes}d"] = [Sample((2,), inputs=[(1, 2, *(2,) * axes), indices])]

PADDING: dict[str, list[Sample]] = {}
for kind, more in {"Zero": (), "Constant": (1.5,), "Reflection": (), "Replication": (), "Circular": ()}.items():
    for axes in (1, 2, 3):
        uneven = tuple(range(1, 3)) * axes
        PADDING[f"{kind}Pad{axes}d"] = [
            Sample((1, *more), inputs=SPATIAL[axes]),
            Sample((uneven, *more), inputs=SPATIAL[axes]),
        ]
PADDING["ZeroPad2d"].append(Sample(((1, -1, -2, 0),), inputs=IMAGES))

RESIZING: dict[str, list[Sample]] = {
    "Upsample": [
        Sample((), {"scale_factor": 2}, SERIES),
        Sample((), {"size": (9, 11)}, IMAGES),
        Sample((), {"scale_factor": 1.7, "mode": "linear"}, SERIES),
        Sample((), {"scale_factor": (2, 1.5), "mode": "bilinear"}, IMAGES),
        Sample((), {"size": (9, 3), "mode": "bilinear", "align_corners": True}, IMAGES),
        Sample((), {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True}, IMAGES),
        Sample((), {"scale_factor": 2, "mode": "bicubic"}, IMAGES),
        Sample((), {"size": (4, 9), "mode": "bicubic", "align_corners": True}, IMAGES),
        Sample((), {"scale_factor": 2, "mode": "trilinear", "align_corners": True}, VOLUMES),
        Sample((), {"size": (5, 3, 7), "mode": "trilinear"}, VOLUMES),
        Sample((), {"size": 4, "mode": "nearest-exact"}, SERIES),
    ],
    "UpsamplingBilinear2d": [Sample((), {"scale_factor": 2}, IMAGES)],
    "UpsamplingNearest2d": [Sample(((7, 9),), {}, IMAGES)],
    "PixelShuffle": [Sample((2,), inputs=IMAGES)],
    "PixelUnshuffle": [Sample((2,), inputs=[(2, 3, 6, 4)])],
    "Fold": [
        Sample(((4, 5), (2, 3)), inputs=[(2, 12, 9)]),
        Sample(((4, 5), 2), {"dilation": (1, 2), "padding": 1, "stride": (2, 1)}, [(2, 8, 15)]),
        Sample((4, 2), inputs=[(4, 9)]),
    ],
    "Unfold": [
        Sample(((2, 3),), inputs=IMAGES),
        Sample((2,), {"dilation": (1, 2), "padding": (1, 0), "stride": (2, 1)}, IMAGES),
        Sample((3,), inputs=[(4, 6, 5)]),
    ],
    "ChannelShuffle": [Sample((2,), inputs=IMAGES)],
}

NORMALIZATION: dict[str, list[Sample]] = {
    **{
        f"BatchNorm{axes}d": [
            Sample((4,), inputs=SPATIAL[axes]),
            Sample((4,), inputs=SPATIAL[axes], train=False),
            Sample((4, 1e-3, 0.3), {"affine": False}, SPATIAL[axes]),
            Sample((4,), {"momentum": None}, SPATIAL[axes]),
            Sample((4,), {"track_running_stats": False}, SPATIAL[axes], train=False),
            Sample((4,), {"bias": False}, SPATIAL[axes], train=False),
        ]
        for axes in (1, 2, 3)
    },
    **{
        f"InstanceNorm{axes}d": [
            Sample((4,), inputs=SPATIAL[axes]),
            Sample((4,), {"affine": True, "track_running_stats": True}, SPATIAL[axes]),
            Sample((4,), {"affine": True, "track_running_stats": True}, SPATIAL[axes], train=False),
            Sample((4,), inputs=[SPATIAL[axes][0][1:]]),
        ]
        for axes in (1, 2, 3)
    },
    "GroupNorm": [
        Sample((2, 4), inputs=IMAGES),
        Sample((4, 4), {"affine": False}, SERIES),
        Sample((1, 4), {"bias": False}),
    ],
    "LayerNorm": [
        Sample((4,)),
        Sample(([6, 5],), inputs=IMAGES),
        Sample((5,), {"bias": False}, IMAGES),
        Sample((5, 1e-3, False), inputs=IMAGES),
    ],
    "LocalResponseNorm": [
        Sample((2,), {"alpha": 0.5}, SERIES),
        Sample((3, 0.3, 0.5, 2.0), inputs=IMAGES),
        Sample((7, 0.3), inputs=VOLUMES),
    ],
    "RMSNorm": [Sample((4,)), Sample(([6, 5], 1e-3), inputs=IMAGES), Sample((4,), {"elementwise_affine": False})],
}
NORMALIZATION["BatchNorm1d"].append(Sample((4,), inputs=[(5, 4)]))

DROPOUT: dict[str, list[Sample]] = {
    name: [Sample((0.5,), inputs=shape, train=False), Sample((0.0,), inputs=shape)]
    for name, shape in {
        "AlphaDropout": VECTORS, "Dropout": VECTORS, "Dropout1d": SERIES, "Dropout2d": IMAGES, "Dropout3d": VOLUMES,
        "FeatureAlphaDropout": IMAGES,
    }.items()
}  # fmt: skip

NUMBERS = np.array([[0, 3, 3], [6, 0, 2]])
FLAT, BEGINS = np.array([0, 3, 3, 6, 0, 2]), np.array([0, 2, 2, 5])

LINEAR: dict[str, list[Sample]] = {
    "AdaptiveLogSoftmaxWithLoss": [
        Sample((8, 12, [3, 6]), {"div_value": 2.0}, [(6, 8), np.array([0, 11, 4, 2, 3, 5])]),
        Sample((8, 12, [5]), {"head_bias": True}, [(3, 8), np.array([0, 1, 4])]),
        Sample((8, 12, [5]), inputs=[(8,), np.array(7)]),
    ],
    "Bilinear": [
        Sample((4, 5, 3), inputs=[(2, 4), (2, 5)]),
        Sample((4, 5, 3), {"bias": False}, [(2, 6, 4), (2, 6, 5)]),
    ],
    "CosineSimilarity": [Sample(inputs=[(3, 4), (3, 4)]), Sample((0, 1e-3), inputs=[(3, 4), (3, 4)])],
    "Embedding": [
        Sample((7, 4), inputs=[NUMBERS]),
        Sample((7, 4, 3), inputs=[NUMBERS]),
        Sample((7, 4, -7), {"scale_grad_by_freq": True}, [NUMBERS]),
        Sample((7, 4), {"max_norm": 0.7, "norm_type": 1.0}, [NUMBERS]),
    ],
    "EmbeddingBag": [
        Sample((7, 4), inputs=[NUMBERS]),
        Sample((7, 4), {"mode": "sum", "padding_idx": 3}, [NUMBERS]),
        Sample((7, 4), {"mode": "max"}, [FLAT, BEGINS]),
        Sample((7, 4), {"mode": "mean", "padding_idx": -7}, [FLAT, BEGINS]),
        Sample((7, 4), {"mode": "sum", "include_last_offset": True}, [FLAT, np.array([0, 2, 2, 6])]),
        Sample((7, 4), {"max_norm": 0.7, "norm_type": 1.0, "mode": "sum"}, [FLAT, BEGINS]),
    ],
    "Flatten": [Sample(inputs=IMAGES), Sample((0, 2), inputs=IMAGES)],
    "Identity": [Sample(), Sample((5,), {"ignored": True})],
    "Linear": [Sample((4, 5)), Sample((4, 5), {"bias": False}, [(2, 3, 4)]), Sample((4, 5), inputs=[(4,)])],
    "PairwiseDistance": [Sample(inputs=[(3, 4), (3, 4)]), Sample((1.0,), {"keepdim": True}, [(3, 4), (3, 4)])],
    "Unflatten": [Sample((1, (2, 2)), inputs=IMAGES), Sample((-1, (5, -1)), inputs=IMAGES)],
}

STEPS = ((5, 3, 4),)

RECURRENT: dict[str, list[Sample]] = {
    **{
        name: [
            Sample((4, 6), inputs=STEPS),
            Sample((4, 6, 2), {"bidirectional": True, "bias": False}, STEPS),
            Sample((4, 6), {"batch_first": True, "num_layers": 2}, STEPS),
            Sample((4, 6), inputs=[(5, 4)]),
        ]
        for name in ("RNN", "LSTM", "GRU")
    },
    **{
        name: [Sample((4, 6), inputs=[(3, 4)]), Sample((4, 6, False), inputs=[(4,)])]
        for name in ("RNNCell", "LSTMCell", "GRUCell")
    },
}
RECURRENT["RNN"] += [
    Sample((4, 6), {"nonlinearity": "relu"}, STEPS),
    Sample((4, 6, 1, "relu"), {"bidirectional": True}, [*STEPS, (2, 3, 6)]),
]
RECURRENT["LSTM"] += [
    Sample((4, 6, 2), {"bidirectional": True}, [*STEPS, ((4, 3, 6), (4, 3, 6))]),
    Sample((4, 6, 2), {"proj_size": 2, "bidirectional": True}, [*STEPS, ((4, 3, 2), (4, 3, 6))]),
]
RECURRENT["GRU"].append(Sample((4, 6, 2), inputs=[*STEPS, (2, 3, 6)]))
RECURRENT["RNNCell"].append(Sample((4, 6), {"nonlinearity": "relu"}, [(3, 4), (3, 6)]))
RECURRENT["GRUCell"].append(Sample((4, 6), inputs=[(3, 4), (3, 6)]))
RECURRENT["LSTMCell"].append(Sample((4, 6), inputs=[(3, 4), ((3, 6), (3, 6))]))

QUERIES = ((5, 2, 8),)
ATTENDED = ((5, 2, 8), (3, 2, 8), (3, 2, 8))
PADDED = np.array([[False, False, True], [False, False, False]])
AHEAD = np.triu(np.ones((5, 5), bool), 1)
ADDED = np.linspace(-1.0, 1.0, 15).reshape(5, 3)

ATTENTION: dict[str, list[Sample]] = {
    "MultiheadAttention": [
        Sample((8, 2), inputs=ATTENDED),
        Sample((8, 4), {"bias": False}, ATTENDED, call={"need_weights": False}),
        Sample((8, 2), {"batch_first": True}, [(2, 5, 8), (2, 3, 8), (2, 3, 8)], call={"average_attn_weights": False}),
        Sample((8, 2), {"kdim": 3, "vdim": 5}, [(5, 2, 8), (3, 2, 3), (3, 2, 5)]),
        Sample((8, 2), {"add_bias_kv": True, "add_zero_attn": True}, ATTENDED, call={"key_padding_mask": PADDED}),
        Sample((8, 2), inputs=[(5, 8), (3, 8), (3, 8)]),
        Sample((8, 2), inputs=ATTENDED, call={"attn_mask": ADDED > 0.9, "key_padding_mask": PADDED}),
    ],
    "TransformerEncoderLayer": [
        Sample((8, 2, 12), {"dropout": 0.0}, QUERIES),
        Sample((8, 2, 12), {"dropout": 0.0, "norm_first": True, "activation": "gelu", "bias": False}, QUERIES),
        Sample(
            (8, 2, 12), {"dropout": 0.0, "batch_first": True}, [(2, 5, 8)], call={"src_mask": AHEAD, "is_causal": True}
        ),
    ],
    "TransformerDecoderLayer": [
        Sample((8, 2, 12), {"dropout": 0.0}, [(5, 2, 8), (3, 2, 8)], call={"tgt_mask": AHEAD, "tgt_is_causal": True}),
        Sample(
            (8, 2, 12),
            {"dropout": 0.0, "norm_first": True},
            [(5, 2, 8), (3, 2, 8)],
            call={"memory_key_padding_mask": PADDED},
        ),
    ],
    "Transformer": [
        Sample((8, 2, 2, 2, 12), {"dropout": 0.0}, [(3, 2, 8), (5, 2, 8)], call={"tgt_mask": AHEAD}),
        Sample((8, 2, 1, 1, 12), {"dropout": 0.0, "batch_first": True, "norm_first": True}, [(2, 3, 8), (2, 5, 8)]),
    ],
}

LAYERS: dict[str, list[Sample]] = {
    **ACTIVATIONS, **CONVOLUTIONS, **POOLING, **PADDING, **RESIZING, **NORMALIZATION, **DROPOUT, **LINEAR, **RECURRENT,
    **ATTENTION,
}  # fmt: skip
