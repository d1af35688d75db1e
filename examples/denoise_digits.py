"""An autoencoder learns to take the noise off images of digits, and is compared with a blur.

It sees digits with strong noise and is told the clean ones. Vincent et al. 2008, "Extracting and composing robust
features with denoising autoencoders".

    python examples/denoise_digits.py
"""

from collections.abc import Sequence
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from common import parse, run, save_images, tell
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import DataLoader, Digits
from treadle.nn import functional
from treadle.optim import AdamW
from treadle.optim.lr_scheduler import OneCycleLR

NOISE = 0.4
SHOWN = 12


def noisy(images: Tensor) -> Tensor:
    """The images with normal noise of deviation NOISE."""
    return Tensor(images.data + NOISE * nd.random.normal(shape=images.shape))


def build_model() -> nn.Sequential:
    """64 pixels through 24 numbers and back: there is no room for the noise."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 24), nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 64),
        nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8)),
    )  # fmt: skip


class DenoisingTrainer(nn.Trainer):
    """A batch is images and labels; the labels are not used, and the target is the image itself."""

    def loss_of(self, batch: Any) -> tuple[Tensor, Any, Any]:
        """The mean square of what is left of the noise."""
        clean = batch[0]
        output = self.model(noisy(clean))
        return self.loss_function(output, clean), output, clean


def blurred(images: Tensor) -> Tensor:
    """What a blur can do: each pixel mixed with the mean around it, by shares found by hand."""
    around = functional.avg_pool2d(images, 3, 1, 1, count_include_pad=False)
    return autograd.clip(0.35 * images + 0.65 * around, 0.0, 1.0)


def error(found: Tensor, clean: Tensor) -> float:
    """The mean square of the difference."""
    return functional.mse_loss(found, clean).item()


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, draw some digits, say how much noise is left; returns the mean squared errors."""
    options = parse(argv, str(__doc__), name="denoise", unit="epochs", length=60, fast=8, batch_size=64)
    with run(options) as clock:
        loader = DataLoader(Digits(train=True), options.batch_size, shuffle=True)
        model = build_model()
        optimizer = AdamW(model.parameters(), lr=4e-3)
        schedule = OneCycleLR(optimizer, 4e-3, epochs=options.length, steps_per_epoch=len(loader))
        trainer = DenoisingTrainer(
            model, optimizer, nn.MSELoss(), scheduler=schedule, scheduler_interval="step",
            show_progress=not options.quiet,
        )  # fmt: skip
        trainer.fit(loader, options.length)
        clean = Digits(train=False).tensors[0]
        seen = noisy(clean)
        with no_grad():
            found, smooth = model(seen), blurred(seen)
    result = {"loss": error(found, clean), "noisy": error(seen, clean), "blurred": error(smooth, clean)}
    rows = {"noisy": seen, "blurred": smooth, "found by the model": found, "clean": clean}
    weights, curves = options.out / "weights.safetensors", options.out / "training.png"
    trainer.save_weights(weights)
    trainer.history.save_plot(curves)
    shown = {name: [image[0].numpy() for image in images.data[:SHOWN]] for name, images in rows.items()}
    picture = save_images(options.out / "digits.png", shown)
    text = "mean squared error on held-out digits {loss:.4f}, from {noisy:.4f} of the noise; a blur has {blurred:.4f}"
    tell(text.format(**result), clock, [weights, curves, picture])
    return result


if __name__ == "__main__":
    main()
