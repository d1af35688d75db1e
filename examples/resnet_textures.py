"""A small residual network tells surfaces apart: brick, grass, gravel, tissue, a page, a sky of galaxies.

The photographs come with scikit-image (``pip install scikit-image``). Patches of 32x32 grey pixels are cut from the
left two thirds of each to train on, and from the right quarter to test with, so that no pixel is in both. Each patch
has mean 0 and deviation 1: brightness and contrast tell nothing. A linear classifier of the pixels is trained beside
it, and shows how little they tell one by one. He et al. 2016, "Deep residual learning for image recognition".

    python examples/resnet_textures.py
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from common import new_figure, parse, run, save_figure, tell
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import DataLoader, TensorDataset
from treadle.nn.metrics import accuracy
from treadle.optim import SGD, AdamW
from treadle.optim.lr_scheduler import OneCycleLR

SURFACES = {
    "brick": "brick", "grass": "grass", "gravel": "gravel", "tissue": "immunohistochemistry", "page": "page",
    "galaxies": "hubble_deep_field",
}  # fmt: skip
"""What is seen, and what scikit-image calls the photograph."""

SIZE = 32
TRAIN_PATCHES, TEST_PATCHES = 400, 60


def photographs() -> list[nd.NDArray]:
    """The photographs in grey, (height, width) float32 from 0 to 1."""
    try:
        from skimage import color, data
    except ImportError as error:
        raise SystemExit("the photographs are scikit-image's: pip install scikit-image") from error

    def grey(image: Any) -> nd.NDArray:
        return nd.asarray((color.rgb2gray(image) if image.ndim == 3 else image / 255.0).astype("float32"))

    return [grey(getattr(data, name)()) for name in SURFACES.values()]


def patches(image: nd.NDArray, left: float, right: float, count: int) -> nd.NDArray:
    """``count`` patches at random places between two shares of the width, (count, 1, SIZE, SIZE), standardised."""
    height, width = image.shape
    tops = nd.random.integers(0, height - SIZE + 1, (count,)).tolist()
    lefts = nd.random.integers(int(left * width), int(right * width) - SIZE + 1, (count,)).tolist()
    cut = nd.stack([image[top : top + SIZE, at : at + SIZE] for top, at in zip(tops, lefts, strict=True)], axis=0)
    mean, deviation = nd.mean(cut, axis=(1, 2), keepdims=True), nd.std(cut, axis=(1, 2), keepdims=True)
    return ((cut - mean) / (deviation + 1e-3))[:, None]


def data_set(images: list[nd.NDArray], left: float, right: float, count: int) -> TensorDataset:
    """Patches of all photographs, with the number of each as the label."""
    cut = nd.concat([patches(image, left, right, count) for image in images], axis=0)
    return TensorDataset(Tensor(cut), Tensor(nd.repeat(nd.arange(len(images)), count)))


def block(channels: int, filters: int, stride: int = 1) -> nn.Module:
    """Two convolutions around which the input passes, itself through a 1x1 convolution where the shape changes."""
    path = nn.Sequential(
        nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
        nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters),
    )  # fmt: skip
    return nn.Sequential(nn.Residual(path) if channels == filters else Projected(path, channels, filters, stride))


class Projected(nn.Module):
    """``path(x)`` plus ``x`` brought to its shape."""

    def __init__(self, path: nn.Module, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.path = path
        self.shortcut = nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The sum."""
        return self.path(x) + self.shortcut(x)  # type: ignore[no-any-return]


def build_model(classes: int = len(SURFACES)) -> nn.Sequential:
    """Seven convolutions in three blocks: 32x32 pixels of 16 channels, 16x16 of 32, 8x8 of 64."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        block(16, 16), nn.ReLU(), block(16, 32, 2), nn.ReLU(), block(32, 64, 2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes),
    )  # fmt: skip


def fit(model: nn.Module, optimizer: Any, lr: float, sets: Sequence[TensorDataset], epochs: int, options: Any) -> Any:
    """Train a classifier; the trainer, and the accuracy on the second set."""
    loader, test = DataLoader(sets[0], options.batch_size, shuffle=True), DataLoader(sets[1], options.batch_size)
    trainer = nn.Trainer(
        model, optimizer, nn.CrossEntropyLoss(), metrics={"accuracy": accuracy}, show_progress=not options.quiet,
        scheduler=OneCycleLR(optimizer, lr, epochs=epochs, steps_per_epoch=len(loader)), scheduler_interval="step",
    )  # fmt: skip
    trainer.fit(loader, epochs, test)
    return trainer, trainer.evaluate(test)["accuracy"]


def save_answers(model: nn.Module, test: TensorDataset, path: Path) -> Path:
    """Six test patches of each surface under the model's answers, wrong ones in red."""
    images, labels = test.tensors
    with no_grad():
        answers = nd.argmax(model(images).data, axis=1).tolist()
    figure, names = new_figure(7.2, 8.0), list(SURFACES)
    for row, line in enumerate(figure.subplots(len(SURFACES), 6)):
        for column, axes in enumerate(line):
            at = row * TEST_PATCHES + column * (TEST_PATCHES // 6)
            axes.imshow(images.data[at, 0].numpy(), cmap="gray")
            right = answers[at] == labels.data[at].item()
            axes.set_title(names[answers[at]], fontsize=8, color="black" if right else "red")
            axes.set_axis_off()
    return save_figure(figure, path)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train both, save, and say what was reached; returns the accuracies on the test patches."""
    options = parse(argv, str(__doc__), name="resnet", unit="epochs", length=8, fast=1, batch_size=64)
    with run(options) as clock:
        images = photographs()
        sets = data_set(images, 0.0, 0.67, TRAIN_PATCHES), data_set(images, 0.75, 1.0, TEST_PATCHES)
        linear = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, len(SURFACES)))
        _, pixels = fit(linear, SGD(linear.parameters(), lr=0.01), 0.01, sets, options.length, options)
        model = build_model()
        trainer, reached = fit(model, AdamW(model.parameters(), lr=5e-3), 5e-3, sets, options.length, options)
        weights, curves = options.out / "weights.safetensors", options.out / "training.png"
        trainer.save_weights(weights)
        trainer.history.save_plot(curves)
        answers = save_answers(model, sets[1], options.out / "answers.png")
    text = f"accuracy on unseen parts of the photographs {reached:.1%}; a linear classifier of pixels has {pixels:.1%}"
    tell(text, clock, [weights, curves, answers])
    return {"accuracy": reached, "linear": pixels, "loss": trainer.history["loss"][-1]}


if __name__ == "__main__":
    main()
