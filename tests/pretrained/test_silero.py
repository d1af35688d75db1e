"""A real speech detector gives PyTorch's answers, block by block with its memory.

The package's ONNX models have other weights than its safetensors file, so they are no reference for it.
"""

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, no_grad

torch = pytest.importorskip("torch")
FOLDER = files("silero_vad.data")

RATE, BLOCK, CONTEXT = 16000, 512, 64
BINS = 129
State = Any


class SileroVAD(nn.Module):
    """The chance of speech in each block of 512 samples at 16 kHz, which follow 64 samples of context.

    A short-time Fourier transform as a convolution, four convolutions, an LSTM cell. The names are the file's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 2 * BINS, 256, 128, bias=False)
        self.conv1 = nn.Conv1d(BINS, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, 2, 1)
        self.conv3 = nn.Conv1d(64, 64, 3, 2, 1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def forward(self, samples: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, State]:
        """(batch, CONTEXT + BLOCK) gives (batch, 1) and the state for the next block."""
        padded = nn.functional.pad(autograd.expand_dims(samples, axis=1), (0, CONTEXT), mode="reflect")
        waves = self.stft_conv(padded)
        x = autograd.sqrt(waves[:, :BINS] ** 2 + waves[:, BINS:] ** 2)
        for convolution in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = nn.functional.relu(convolution(x))
        hidden, cell = self.lstm_cell(autograd.squeeze(x, axis=2), state)
        scores = self.final_conv(nn.functional.relu(autograd.expand_dims(hidden, axis=2)))
        return autograd.sigmoid(autograd.squeeze(scores, axis=2)), (hidden, cell)


def reference(weights: Mapping[str, Any], samples: Any, state: State) -> tuple[Any, State]:
    """The same model in PyTorch's functions."""
    functional = torch.nn.functional
    padded = functional.pad(samples[:, None], (0, CONTEXT), mode="reflect")
    waves = functional.conv1d(padded, weights["stft_conv.weight"], stride=128)
    x = (waves[:, :BINS] ** 2 + waves[:, BINS:] ** 2).sqrt()
    for number, stride in ((1, 1), (2, 2), (3, 2), (4, 1)):
        weight, bias = weights[f"conv{number}.weight"], weights[f"conv{number}.bias"]
        x = functional.conv1d(x, weight, bias, stride, 1).relu()
    cell = torch.nn.LSTMCell(128, 128)
    cell.load_state_dict({name[10:]: value for name, value in weights.items() if name.startswith("lstm_cell.")})
    hidden, memory = cell(x[:, :, 0], state)
    scores = functional.conv1d(hidden[:, :, None].relu(), weights["final_conv.weight"], weights["final_conv.bias"])
    return scores[:, :, 0].sigmoid(), (hidden, memory)


def buzz(seconds: float = 3.0) -> Any:
    """Something like a voice: a pulse train of 120 Hz through three resonances, in syllables, between silences."""
    time = np.arange(int(seconds * RATE)) / RATE
    pitch = 120.0 + 15.0 * np.sin(2 * np.pi * 2.5 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    sound = np.zeros_like(time)
    for harmonic in range(1, 30):
        frequency = harmonic * 120.0
        strength = sum(
            np.exp(-(((frequency - centre) / width) ** 2)) for centre, width in ((600, 150), (1200, 200), (2500, 250))
        )
        sound += strength * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 3.0 * time), 0.0, None) * ((time > 1.0) & (time < 2.2))
    noise = np.random.default_rng(0).normal(size=time.shape)
    return (0.2 * sound * syllables + 0.001 * noise).astype("float32")


def answers(audio: Any, listen: Callable[[Any], float]) -> Any:
    """What ``listen`` says of each block with its context."""
    padded = np.concatenate([np.zeros(CONTEXT, "float32"), audio[: len(audio) // BLOCK * BLOCK]])
    starts = range(0, len(padded) - CONTEXT, BLOCK)
    return np.array([listen(padded[start : start + CONTEXT + BLOCK][None].copy()) for start in starts])


@pytest.fixture(scope="module")
def model() -> SileroVAD:
    """The model with the weights of the package."""
    made = SileroVAD()
    made.load_state_dict(nn.load_file(str(FOLDER / "silero_vad_16k.safetensors")))
    return made.eval()


def heard(model: SileroVAD, audio: Any) -> Any:
    """What treadle says."""
    state: State = None

    def listen(block: Any) -> float:
        nonlocal state
        with no_grad():
            chance, state = model(Tensor(nd.asarray(block)), state)
        return chance.item()  # type: ignore[no-any-return]

    return answers(audio, listen)


def test_the_answers_are_those_of_pytorch(model: SileroVAD) -> None:
    from safetensors.torch import load_file

    weights, state = load_file(str(FOLDER / "silero_vad_16k.safetensors")), None

    def listen(block: Any) -> float:
        nonlocal state
        with torch.no_grad():
            chance, state = reference(weights, torch.from_numpy(block), state)
        return chance.item()  # type: ignore[no-any-return]

    audio = buzz()
    np.testing.assert_allclose(heard(model, audio), answers(audio, listen), atol=1e-5)


def test_it_hears_the_voice_and_not_the_silence(model: SileroVAD) -> None:
    chances = heard(model, buzz())
    first, last = RATE // BLOCK - 1, int(2.2 * RATE) // BLOCK + 6
    assert chances[:first].max() < 0.2 and chances[last:].max() < 0.2
    assert np.median(chances[first + 2 : last - 6]) > 0.5
