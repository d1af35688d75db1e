"""The handwritten digits and how both classifiers of them are trained."""

from dataclasses import dataclass
from typing import Any

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.data import DataLoader, Digits, ImageArrays, default_collate
from treadle.data.transforms import Compose, RandomCrop, RandomRotation
from treadle.nn.metrics import accuracy
from treadle.optim import AdamW, ExponentialMovingAverage
from treadle.optim.lr_scheduler import OneCycleLR


@dataclass(frozen=True)
class Run:
    """A trained model and what the training measured."""

    model: nn.Module
    trainer: nn.Trainer
    held_out: DataLoader
    result: dict[str, float]

    def share(self) -> str:
        """The accuracy on the held-out images, in words."""
        images = len(self.held_out.dataset)
        right = round(self.result["accuracy"] * images)
        return f"{right / images:.2%} ({right} of {images} images)"


def moved_digits() -> ImageArrays:
    """The images to train on, each turned by up to 10 degrees and moved by up to one pixel whenever it is taken."""
    images, labels = Digits(train=True, device="cpu").tensors
    return ImageArrays(images.data, labels.data, Compose([RandomRotation(10, "bilinear"), RandomCrop(8, padding=1)]))


def on_device(samples: list[Any]) -> tuple[Tensor, Tensor]:
    """A batch of single samples, which were made on the cpu, on the device that trains."""
    images, labels = default_collate(samples)
    device = nd.default_device()
    return Tensor(images.data.to_device(device)), Tensor(labels.data.to_device(device))


def train(
    model: nn.Module, epochs: int, *, lr: float, moved: bool = True, batch_size: int = 64, show_progress: bool = True
) -> Run:
    """Train ``model``; the default generator settles the order of the images, their changes, and the dropout.

    At the end the model holds the moving average of its weights.
    """
    if moved:
        loader = DataLoader(moved_digits(), batch_size, shuffle=True, collate_fn=on_device)
    else:
        loader = DataLoader(Digits(train=True), batch_size, shuffle=True)
    held_out = DataLoader(Digits(train=False), batch_size)
    optimizer = AdamW(model.parameters(), lr=lr)
    average = ExponentialMovingAverage(model.parameters(), 0.99, warmup=True)
    trainer = nn.Trainer(
        model,
        optimizer,
        nn.CrossEntropyLoss(label_smoothing=0.1),
        metrics={"accuracy": accuracy},
        scheduler=OneCycleLR(optimizer, lr, epochs=epochs, steps_per_epoch=len(loader)),
        scheduler_interval="step",
        ema=average,
        show_progress=show_progress,
    )
    trainer.fit(loader, epochs, held_out)
    average.copy_to()
    return Run(model, trainer, held_out, trainer.evaluate(held_out))
