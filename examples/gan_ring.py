"""Two networks against each other: one makes points of the plane, the other tells them from those of eight spots.

The spots are normal distributions on a circle. A generator that finds only some of them has failed in the way that is
usual; how many it finds, and how many of its points lie in one, is the result. Goodfellow et al. 2014, "Generative
adversarial nets", with the loss that does not saturate (section 3). The judge sees points
under noise that fades, so that both have something to learn from each other from the beginning: Sønderby et al. 2016,
"Amortised MAP inference for image super-resolution" (instance noise).

    python examples/gan_ring.py
"""

from collections.abc import Sequence
from math import pi
from pathlib import Path

import treadle.ndarray as nd
from common import BLUE, GREY, new_figure, parse, run, save_figure, tell
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import progress
from treadle.nn import functional
from treadle.optim import Adam, ExponentialMovingAverage

SPOTS, RADIUS, DEVIATION = 8, 2.0, 0.1
NOISE, WIDTH = 8, 64
BLUR, FADED = 0.5, 0.6
TESTED = 2000
WITHIN = 4 * DEVIATION


def centres() -> nd.NDArray:
    """The middles of the spots, (SPOTS, 2)."""
    angles = nd.arange(SPOTS, dtype=nd.float32) * (2.0 * pi / SPOTS)
    return RADIUS * nd.stack([nd.cos(angles), nd.sin(angles)], axis=1)


def true_points(count: int) -> Tensor:
    """Points of the spots, each as often."""
    chosen = nd.take(centres(), nd.random.integers(0, SPOTS, (count,)), axis=0)
    return Tensor(chosen + DEVIATION * nd.random.normal(shape=(count, 2)))


def noise(count: int) -> Tensor:
    """What the generator makes points of."""
    return Tensor(nd.random.normal(shape=(count, NOISE)))


def blurred(points: Tensor, deviation: float) -> Tensor:
    """Points under normal noise."""
    return points + Tensor(deviation * nd.random.normal(shape=points.shape)) if deviation else points


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, WIDTH), nn.LeakyReLU(0.2), nn.Linear(WIDTH, WIDTH), nn.LeakyReLU(0.2),
        nn.Linear(WIDTH, outputs),
    )  # fmt: skip


def called(judge: nn.Module, points: Tensor, real: bool) -> Tensor:
    """The loss of a judge that should call ``points`` real, or false."""
    scores = judge(points)
    return functional.binary_cross_entropy_with_logits(scores, Tensor(nd.full(scores.shape, float(real))))


def step(
    maker: nn.Module, judge: nn.Module, optimizers: tuple[Adam, Adam], count: int, blur: float
) -> tuple[float, float]:
    """One step of each network, the judge's eyes blurred by ``blur``; their losses."""
    for_maker, for_judge = optimizers
    made = maker(noise(count))
    judged = called(judge, blurred(true_points(count), blur), True)
    judged = judged + called(judge, blurred(made.detach(), blur), False)
    for_judge.zero_grad()
    judged.backward()
    for_judge.step()
    fooled = called(judge, blurred(made, blur), True)
    for_maker.zero_grad()
    fooled.backward()
    for_maker.step()
    return fooled.item(), judged.item()


def measure(points: nd.NDArray) -> dict[str, float]:
    """How many spots have at least a quarter of their share of the points, and the share of points in any."""
    distances = nd.linalg.vector_norm(points[:, None, :] - centres()[None], axis=2)
    near = nd.min(distances, axis=1) < WITHIN
    spot = nd.where(near, nd.argmin(distances, axis=1), -1).tolist()
    found = sum(spot.count(number) >= len(spot) / SPOTS / 4 for number in range(SPOTS))
    return {"spots": float(found), "near": nd.mean(near.astype(nd.float32)).item()}


def save_picture(made: nd.NDArray, losses: list[tuple[float, float]], path: Path) -> Path:
    """The points, true and made, and the losses."""
    figure = new_figure(9.6, 4.4)
    plane, curves = figure.subplots(1, 2)
    for points, color, name in ((true_points(TESTED).data, GREY, "true"), (made, BLUE, "made")):
        plane.scatter(points[:, 0].numpy(), points[:, 1].numpy(), s=3, color=color, label=name)
    plane.set_aspect("equal")
    plane.legend(frameon=False)
    for number, name in enumerate(("generator", "judge")):
        curves.plot([pair[number] for pair in losses], linewidth=0.6, label=name)
    curves.set_title("loss", loc="left")
    curves.legend(frameon=False)
    return save_figure(figure, path)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, draw, and say how many spots were found; returns that and the share of points in them."""
    options = parse(argv, str(__doc__), name="gan", unit="steps", length=6000, fast=600, batch_size=128)
    with run(options) as clock:
        maker, judge = perceptron(NOISE, 2), perceptron(2, 1)
        optimizers = (
            Adam(maker.parameters(), lr=1e-3, betas=(0.5, 0.999)),
            Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999)),
        )
        average = ExponentialMovingAverage(maker.parameters(), 0.995, warmup=True)
        losses = []
        for number in progress(range(options.length), unit="step", disable=options.quiet):
            blur = BLUR * max(0.0, 1.0 - number / (FADED * options.length))
            losses.append(step(maker, judge, optimizers, options.batch_size, blur))
            average.update()
        average.copy_to()
        with no_grad():
            made = maker(noise(TESTED)).data
    result = measure(made)
    weights = options.out / "generator.safetensors"
    nn.save_file(maker.state_dict(), weights)
    text = f"{result['spots']:.0f} of {SPOTS} spots found, {result['near']:.1%} of the points lie in one"
    tell(text, clock, [weights, save_picture(made, losses, options.out / "points.png")])
    return result


if __name__ == "__main__":
    main()
