"""Train a small network on the handwritten digits that come with treadle.data.

It prints the accuracy on the held-out fifth and leaves in the output folder the weights, the curves of the run, a
picture of the computational graph, the history as CSV, and the trained network as C for a microcontroller.

    python examples/train_digits.py --backend cpu --epochs 30
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Graph, Tensor
from treadle.autograd.export import ExportReport, to_c
from treadle.data import DataLoader, Digits
from treadle.nn.metrics import accuracy
from treadle.nn.plotting import require_matplotlib
from treadle.optim import Adam

BACKENDS = ("cpu", "numpy", "cuda", "cuda_emulated")


@dataclass(frozen=True)
class Run:
    """A trained model and what the training measured."""

    model: nn.Module
    trainer: nn.Trainer
    held_out: DataLoader
    result: dict[str, float]


def build_model() -> nn.Sequential:
    """A perceptron with one hidden layer of 256."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))


def train(
    backend: str | nd.Device = "cpu",
    *,
    epochs: int = 30,
    seed: int = 0,
    batch_size: int = 64,
    show_progress: bool = True,
) -> Run:
    """Train on ``backend``; the seed settles the initial weights, the order of the images and the dropout."""
    with nd.use_device(backend):
        nd.random.manual_seed(seed)
        loader = DataLoader(Digits(train=True), batch_size, shuffle=True)
        held_out = DataLoader(Digits(train=False), batch_size)
        model = build_model()
        trainer = nn.Trainer(
            model,
            Adam(model.parameters(), lr=3e-3),
            nn.CrossEntropyLoss(label_smoothing=0.1),
            metrics={"accuracy": accuracy},
            show_progress=show_progress,
        )
        trainer.fit(loader, epochs, held_out)
        return Run(model, trainer, held_out, trainer.evaluate(held_out))


def save(run: Run, folder: Path) -> list[Path]:
    """Write weights, curves, graph and history; returns the paths."""
    weights, curves, graph, history = (
        folder / name for name in ("weights.safetensors", "training.png", "graph.svg", "history.csv")
    )
    run.trainer.save_weights(weights)
    run.trainer.history.save_plot(curves)
    images, labels = next(iter(run.held_out))
    run.model.train()
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(run.model(images), labels)
    run.model.eval()
    for name, parameter in run.model.named_parameters():
        parameter.name = name
    Graph.of(loss).svg(str(graph))
    run.trainer.history.save_csv(history)
    return [weights, curves, graph, history]


def export(run: Run, folder: Path) -> ExportReport:
    """Write the trained network as ``model.c`` and ``model.h``; returns what it costs."""
    images, _ = next(iter(run.held_out))
    one = Tensor(nd.asarray(images.data[:1], device="cpu"))
    with nd.use_device("cpu"):
        model = build_model().eval()
        model.load_state_dict(run.model.state_dict())
        return to_c(model, one, folder / "model.c")


def main() -> None:
    """Read the options, train, save, and say where everything is."""
    parser = argparse.ArgumentParser(description="Train a small network on handwritten digits.")
    parser.add_argument(
        "--backend", choices=BACKENDS, help="the device that computes; by default TREADLE_BACKEND, or cpu"
    )
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path("runs/digits"), help="the folder for the results")
    options = parser.parse_args()
    require_matplotlib()
    try:
        backend = nd.device(options.backend) if options.backend else nd.default_device()
    except nd.TreadleError as error:
        raise SystemExit(f"this backend cannot be used here: {error}") from error
    start = time.perf_counter()
    run = train(backend, epochs=options.epochs, seed=options.seed, batch_size=options.batch_size)
    seconds = time.perf_counter() - start
    print(run.model.summary(next(iter(run.held_out))[0]))
    images = len(run.held_out.dataset)
    right = round(run.result["accuracy"] * images)
    print(
        f"held-out accuracy {right / images:.2%} ({right} of {images} images), "
        f"{options.epochs} epochs on {backend} in {seconds:.1f} s"
    )
    print("written:")
    for path in save(run, options.out):
        print(f"  {path}")
    print(f"  {export(run, options.out)}")


if __name__ == "__main__":
    main()
