"""Train a small network on the handwritten digits that come with treadle.data.

The images are moved and turned a little each time they are seen, and the average of the weights over the last steps is
what counts. It prints the accuracy on the held-out fifth and leaves in the output folder the weights, the curves of the
run, a picture of the computational graph, the history as CSV, and the trained network as C for a microcontroller.

    python examples/train_digits.py --backend cpu --epochs 80
"""

from collections.abc import Sequence
from pathlib import Path

import treadle.ndarray as nd
from common import parse, run, tell
from digits import Run, train
from treadle import nn
from treadle.autograd import Graph, Tensor
from treadle.autograd.export import ExportReport, to_c


def build_model() -> nn.Sequential:
    """A perceptron with hidden layers of 512 and 256."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 512), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(256, 10),
    )  # fmt: skip


def save(trained: Run, folder: Path) -> list[Path]:
    """Write weights, curves, graph and history; returns the paths."""
    weights, curves, graph, history = (
        folder / name for name in ("weights.safetensors", "training.png", "graph.svg", "history.csv")
    )
    trained.trainer.save_weights(weights)
    trained.trainer.history.save_plot(curves)
    images, labels = next(iter(trained.held_out))
    trained.model.train()
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(trained.model(images), labels)
    trained.model.eval()
    for name, parameter in trained.model.named_parameters():
        parameter.name = name
    Graph.of(loss).svg(str(graph))
    trained.trainer.history.save_csv(history)
    return [weights, curves, graph, history]


def export(trained: Run, folder: Path) -> ExportReport:
    """Write the trained network as ``model.c`` and ``model.h``; returns what it costs."""
    images, _ = next(iter(trained.held_out))
    one = Tensor(nd.asarray(images.data[:1], device="cpu"))
    with nd.use_device("cpu"):
        model = build_model().eval()
        model.load_state_dict(trained.model.state_dict())
        return to_c(model, one, folder / "model.c")


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, save, and say what was reached; returns the loss and the accuracy on the held-out images."""
    options = parse(argv, str(__doc__), name="digits", unit="epochs", length=80, fast=4, batch_size=64)
    with run(options) as clock:
        trained = train(
            build_model(), options.length, lr=3e-3, batch_size=options.batch_size, show_progress=not options.quiet
        )
    print(trained.model.summary(next(iter(trained.held_out))[0]))
    paths, report = save(trained, options.out), export(trained, options.out)
    print(report)
    paths += [report.source, report.header]
    tell(f"held-out accuracy {trained.share()}, {options.length} epochs", clock, paths)
    return trained.result


if __name__ == "__main__":
    main()
