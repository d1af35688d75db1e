"""Errors of layers: they name the layer, what was expected, what came, and the way out; and where in a model it was."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.nn import functional


def zeros(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape, "f4"))


@pytest.mark.parametrize(
    ("build", "shape", "text"),
    [
        (
            lambda: nn.Conv2d(3, 4, 3),
            (2, 8, 8, 3),
            r"Conv2d: expected 3 channels in dim.* channels seem to come last",
        ),
        (lambda: nn.Conv2d(3, 4, 3), (8, 8, 3), r"channels in dimension 0 .*moveaxis\(input, -1, 0\)"),
        (
            lambda: nn.Conv1d(3, 4, 3),
            (2, 5, 8),
            r"Conv1d: expected 3 channels in dimension 1 .* got 5 in \(2, 5, 8\)\n",
        ),
        (lambda: nn.Conv1d(3, 4, 3), (3,), r"Conv1d: an input of 1 dimensions.*\(batch, channels, length\)"),
        (lambda: nn.Conv2d(3, 4, 5), (1, 3, 4, 4), "kernel .* more than the input"),
        (lambda: nn.ConvTranspose2d(3, 4, 3), (2, 8, 8, 3), "ConvTranspose2d: .*channels seem to come last"),
        (lambda: nn.BatchNorm2d(3), (2, 8, 8, 3), "BatchNorm2d: expected 3 channels .*channels seem to come last"),
        (lambda: nn.BatchNorm2d(3), (2, 3), r"BatchNorm2d: expected \(batch, channels, height, width\)"),
        (lambda: nn.InstanceNorm1d(3), (4, 7), r"InstanceNorm1d: expected 3 channels in dimension 0"),
        (lambda: nn.GroupNorm(2, 4), (2, 6, 3), "GroupNorm: expected 4 channels"),
        (lambda: nn.LayerNorm((3, 4)), (2, 4), r"does not end in normalized_shape \(3, 4\)"),
        (lambda: nn.MaxPool2d(2), (2, 3), "max_pool2d: an input of 2 dimensions"),
        (
            lambda: nn.LSTM(4, 5),
            (2, 3, 6),
            r"LSTM: expected \(steps, batch, 4\), or that without batch, got \(2, 3, 6\)",
        ),
        (lambda: nn.GRU(4, 5, batch_first=True), (2, 3, 6), r"GRU: expected \(batch, steps, 4\)"),
        (lambda: nn.LSTM(4, 5), (0, 3, 4), "LSTM: the input has no steps"),
        (lambda: nn.GRUCell(4, 5), (2, 6), r"GRUCell: expected \(batch, 4\)"),
        (lambda: nn.Linear(4, 5), (2, 6), r"input of shape \(2, 6\) does not fit a weight of shape \(5, 4\)"),
        (lambda: nn.PReLU(3), (2, 4), r"prelu: a weight of shape \(3,\)"),
        (lambda: nn.GLU(), (2, 3), "no dimension -1 that can be halved"),
        (lambda: nn.Unflatten(1, (2, 2)), (2, 6), "does not multiply to the 6"),
        (lambda: nn.ReflectionPad1d(3), (1, 1, 3), "reflect adds 0 to 2"),
        (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 1, 4), "mode 'bilinear' does not fit"),
        (lambda: nn.PixelShuffle(2), (1, 3, 2, 2), "no channels for a factor of 2"),
        (lambda: nn.SinusoidalPositionalEncoding(4, 8), (1, 9, 4), "8 positions of 4 features"),
    ],
)
def test_inputs_that_do_not_fit(build: Any, shape: tuple[int, ...], text: str) -> None:
    layer = build()
    with pytest.raises(nd.ShapeError, match=text) as caught:
        layer(zeros(*shape))
    assert any(note.startswith(f"in module {type(layer).__name__}(") for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "no multiples of groups=2"),
        (lambda: nn.Conv2d(3, 4, (3, 3, 3)), r"kernel_size must be an int or 2 ints"),
        (lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same"), "needs a stride of 1"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), "'same', 'valid' or ints"),
        (lambda: nn.Conv2d(3, 4, 3, padding_mode="mirror"), "padding_mode must be one of"),
        (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), "can only be 'zeros'"),
        (lambda: nn.GroupNorm(3, 4), "do not make 3 equal groups"),
        (lambda: nn.MultiheadAttention(7, 2), "no multiple of num_heads 2"),
        (lambda: nn.RNN(2, 3, nonlinearity="sigmoid"), "'tanh' or 'relu'"),
        (lambda: nn.GRU(2, 3, proj_size=1), "proj_size is for LSTM only"),
        (lambda: nn.LSTM(2, 3, proj_size=3), "proj_size=3"),
        (lambda: nn.Embedding(4, 2, padding_idx=4), "padding_idx 4 is out of range"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="swish"), "'relu', 'gelu' or a function"),
        (lambda: nn.ZeroPad2d((1, 2)), "an int or 4 ints"),
        (lambda: nn.RotaryPositionalEncoding(3), "dim must be even"),
        (lambda: nn.Hardtanh(2.0, 1.0)(zeros(1)), "min_val 2.0 lies above"),
        (lambda: nn.GELU("sigmoid")(zeros(1)), "'none' or 'tanh'"),
        (lambda: nn.Softshrink(-1.0)(zeros(1)), "0 or more"),
    ],
)
def test_settings_that_make_no_sense(build: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        build()


def test_activations_name_their_settings() -> None:
    with pytest.raises(TypeError, match=r"ELU\(alpha: float = 1.0.*unexpected keyword argument 'slope'"):
        nn.ELU(slope=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing a required argument: 'value'"):
        nn.Threshold(1.0)  # type: ignore[call-arg]


def test_softmax_without_a_dimension_warns() -> None:
    with pytest.warns(UserWarning, match="the dimension is guessed"):
        assert nn.Softmax()(zeros(2, 2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_the_note_is_the_path_in_the_model() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [nn.Sequential(nn.Linear(4, 4), nn.Linear(3, 4))]

        def forward(self, x: Tensor) -> Tensor:
            return self.blocks[0](x)

    model = nn.Sequential({"body": Net()})
    with pytest.raises(nd.ShapeError) as caught:
        model(zeros(2, 4))
    assert caught.value.__notes__ == ["in module body.blocks.0.1: Linear(in_features=3, out_features=4, bias=True)"]


def test_a_module_that_is_called_from_elsewhere_is_named_by_its_class() -> None:
    apart = nn.Linear(3, 4)

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return apart(x)

    with pytest.raises(nd.ShapeError) as caught:
        Net()(zeros(2, 4))
    assert caught.value.__notes__ == ["in module <Linear>: Linear(in_features=3, out_features=4, bias=True)"]


def test_attention_that_does_not_fit() -> None:
    layer = nn.MultiheadAttention(4, 2)
    x = zeros(3, 2, 4)
    with pytest.raises(nd.ShapeError, match=r"expected \(4, 4, 4\) features"):
        layer(x, zeros(3, 2, 5), x)
    with pytest.raises(nd.ShapeError, match=r"one batch.*batch_first is False"):
        layer(x, zeros(3, 1, 4), zeros(3, 1, 4))
    with pytest.raises(nd.ShapeError, match=r"attn_mask \(2, 2\) must be \(3, 3\) or \(4, 3, 3\)"):
        layer(x, x, x, attn_mask=zeros(2, 2))
    with pytest.raises(nd.ShapeError, match=r"key_padding_mask \(3, 2\) must be \(2, 3\)"):
        layer(x, x, x, key_padding_mask=zeros(3, 2))
    numbers = Tensor(np.ones((3, 3), "u1"))
    with pytest.raises(nd.DTypeError, match="booleans, True where not to look, or of floats to add, not of uint8"):
        layer(x, x, x, attn_mask=numbers)
    with pytest.raises(nd.DTypeError, match="booleans, or of floats to add, not of uint8"):
        functional.scaled_dot_product_attention(zeros(3, 2), zeros(3, 2), zeros(3, 2), numbers)
    with pytest.raises(nd.ShapeError, match="must all have 3 dimensions"):
        layer(x, x[0], x)
    with pytest.raises(nd.ShapeError, match="last dimensions, the features"):
        functional.scaled_dot_product_attention(zeros(2, 3), zeros(2, 4), zeros(2, 4))
    with pytest.raises(nd.ShapeError, match="does not broadcast to the scores"):
        functional.scaled_dot_product_attention(zeros(2, 3), zeros(2, 3), zeros(2, 3), zeros(5, 5))
    with pytest.raises(ValueError, match="not both"):
        functional.scaled_dot_product_attention(zeros(2, 3), zeros(2, 3), zeros(2, 3), zeros(2, 2), is_causal=True)


def test_initial_states_that_do_not_fit() -> None:
    with pytest.raises(nd.ShapeError, match=r"initial states must be of shapes \[\(2, 3, 5\)\]"):
        nn.GRU(4, 5, 2)(zeros(6, 3, 4), zeros(1, 3, 5))
    with pytest.raises(nd.ShapeError, match=r"states must be of shape \(3, 5\)"):
        nn.LSTMCell(4, 5)(zeros(3, 4), (zeros(3, 5), zeros(3, 4)))


def test_dropout_between_layers_that_are_not_there_warns() -> None:
    with pytest.warns(UserWarning, match="acts between layers"):
        nn.LSTM(2, 3, dropout=0.5)


@pytest.mark.parametrize(("numbers", "classes"), [([0, -1], 3), ([0, 3], 3), ([-1], -1)])
def test_one_hot_of_numbers_that_are_no_class(numbers: list[int], classes: int) -> None:
    with pytest.raises(nd.IndexingError, match="one_hot: the input has numbers outside"):
        functional.one_hot(Tensor(numbers), classes)


@pytest.mark.parametrize("module", [nn.Conv1d(1, 1, 1), nn.ReLU6(), nn.MaxPool1d(2), nn.BatchNorm1d(1), nn.LSTM(3, 2)])
@pytest.mark.parametrize("convert", [lambda x: x, np.asarray, nd.asarray])
def test_what_is_no_tensor_is_an_error_of_its_type(module: nn.Module, convert: Any) -> None:
    model = nn.Sequential(module)
    with pytest.raises(nd.DTypeError) as caught:
        model(convert([[[1.0, 2.0, 3.0]]]))
    assert "Tensor" in str(caught.value)
    assert any(f"in module 0: {type(module).__name__}" in note for note in caught.value.__notes__)
    with pytest.raises(nd.DTypeError, match="it got a list where a Tensor is needed"):
        nn.MSELoss()(Tensor([1.0]), [1.0])


def test_an_attribute_that_a_module_of_ones_own_lacks_stays_what_it_is() -> None:
    class Own(nn.Module):
        def forward(self, x: list[float]) -> Any:
            return x.nothing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'list' object has no attribute 'nothing'"):
        Own()([1.0])
