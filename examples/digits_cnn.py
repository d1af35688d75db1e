"""Train a small convolutional network on the handwritten digits, and show the images that it gets wrong.

python examples/digits_cnn.py
"""

from collections.abc import Sequence
from pathlib import Path

import treadle.ndarray as nd
from common import new_figure, parse, run, save_figure, tell
from digits import Run, train
from treadle import nn
from treadle.autograd import no_grad


def convolution(channels: int, filters: int) -> list[nn.Module]:
    """3x3 filters whose results are normalised; what the filters' bias would do, the normalisation does."""
    return [nn.Conv2d(channels, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU()]


def build_model() -> nn.Sequential:
    """Three convolutions; the image shrinks from 8x8 to 2x2 as the channels grow from 1 to 64."""
    return nn.Sequential(
        *convolution(1, 32), *convolution(32, 32), nn.MaxPool2d(2),
        *convolution(32, 64), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 10),
    )  # fmt: skip


def save_mistakes(trained: Run, path: Path) -> Path:
    """The held-out images that are taken for another digit, each with both numbers above it."""
    images, labels = trained.held_out.dataset.tensors
    with no_grad():
        guesses = nd.argmax(trained.model(images).data, axis=1).tolist()
    wrong = [at for at, (guess, label) in enumerate(zip(guesses, labels.tolist(), strict=True)) if guess != label]
    figure = new_figure(6.0, 1.6)
    for axes, at in zip(figure.subplots(1, 8), wrong, strict=False):
        axes.imshow(images.data[at, 0].numpy(), cmap="gray_r")
        axes.set_title(f"{labels.data[at].item()} as {guesses[at]}", fontsize=8)
    for axes in figure.axes:
        axes.set_axis_off()
    return save_figure(figure, path)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, save, and say what was reached; returns the loss and the accuracy on the held-out images."""
    options = parse(argv, str(__doc__), name="digits-cnn", unit="epochs", length=20, fast=3, batch_size=64)
    with run(options) as clock:
        trained = train(
            build_model(), options.length, lr=5e-3, batch_size=options.batch_size, show_progress=not options.quiet
        )
        weights, curves = options.out / "weights.safetensors", options.out / "training.png"
        trained.trainer.save_weights(weights)
        trained.trainer.history.save_plot(curves)
        mistakes = save_mistakes(trained, options.out / "mistakes.png")
    tell(f"held-out accuracy {trained.share()}, {options.length} epochs", clock, [weights, curves, mistakes])
    return trained.result


if __name__ == "__main__":
    main()
