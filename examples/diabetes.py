"""Regression on a table: the course of diabetes a year on, from ten measurements of 442 patients.

The table comes with scikit-learn (``pip install scikit-learn``). It is small, so the result is the mean over five
folds: each patient is predicted by networks that have not seen them, five with other weights to begin with, and their
mean counts. Linear regression on the same folds is the measure. B. Efron et al. 2004, "Least angle regression".

    python examples/diabetes.py
"""

from collections.abc import Sequence
from pathlib import Path

import treadle.ndarray as nd
from common import BLUE, GREY, new_figure, parse, run, save_figure, tell
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import DataLoader, TensorDataset, progress
from treadle.optim import AdamW
from treadle.optim.lr_scheduler import OneCycleLR

FOLDS, NETWORKS = 5, 5


def table() -> tuple[nd.NDArray, nd.NDArray]:
    """Measurements (442, 10) and the course of the illness (442, 1), float32, rows in a random order."""
    try:
        from sklearn.datasets import load_diabetes
    except ImportError as error:
        raise SystemExit("the table is scikit-learn's: pip install scikit-learn") from error
    rows, course = load_diabetes(return_X_y=True, scaled=False)
    order = nd.random.permutation(len(rows))
    return (
        nd.take(nd.asarray(rows.astype("float32")), order, axis=0),
        nd.take(nd.asarray(course.astype("float32")[:, None]), order, axis=0),
    )


def standardised(values: nd.NDArray, like: nd.NDArray) -> nd.NDArray:
    """Columns in deviations from the mean of those of ``like``."""
    return (values - nd.mean(like, axis=0)) / nd.std(like, axis=0)


def build_model() -> nn.Sequential:
    """Small, and with much dropout: 350 patients are few."""
    return nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Dropout(0.3), nn.Linear(32, 1))


def network(x: nd.NDArray, y: nd.NDArray, asked: nd.NDArray, epochs: int, batch_size: int) -> nd.NDArray:
    """What a network that is trained on ``x`` and ``y`` says of ``asked``."""
    model = build_model()
    optimizer = AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    loader = DataLoader(TensorDataset(Tensor(x), Tensor(y)), batch_size, shuffle=True)
    schedule = OneCycleLR(optimizer, 1e-2, epochs=epochs, steps_per_epoch=len(loader))
    trainer = nn.Trainer(
        model, optimizer, nn.HuberLoss(), scheduler=schedule, scheduler_interval="step", show_progress=False
    )
    trainer.fit(loader, epochs)
    with no_grad():
        return model(Tensor(asked)).data  # type: ignore[no-any-return]


def linear(x: nd.NDArray, y: nd.NDArray, asked: nd.NDArray) -> nd.NDArray:
    """What linear regression says, by the normal equations; the values have mean 0."""
    transposed = nd.matrix_transpose(x)
    return asked @ nd.linalg.solve(transposed @ x, transposed @ y)


def explained(y: nd.NDArray, said: nd.NDArray) -> float:
    """R squared: the share of the variance that is explained."""
    return 1.0 - float((nd.mean((y - said) ** 2) / nd.var(y)).item())


def save_picture(y: nd.NDArray, said: nd.NDArray, path: Path) -> Path:
    """What was said against what came."""
    figure = new_figure(4.8, 4.4)
    axes = figure.subplots()
    axes.scatter(y[:, 0].numpy(), said[:, 0].numpy(), s=9, color=BLUE)
    low, high = nd.min(y).item(), nd.max(y).item()
    axes.plot([low, high], [low, high], color=GREY)
    axes.set_xlabel("measured after a year")
    axes.set_ylabel("predicted, by networks that had not seen the patient")
    return save_figure(figure, path)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Predict each patient, draw, and say what is explained; returns R squared of the networks and of the line."""
    options = parse(argv, str(__doc__), name="diabetes", unit="epochs", length=12, fast=6, batch_size=32)
    with run(options) as clock:
        rows, course = table()
        said, line = nd.zeros_like(course), nd.zeros_like(course)
        fold = nd.arange(len(rows)) % FOLDS
        bar = progress(total=FOLDS * NETWORKS, unit="network", disable=options.quiet)
        for number in range(FOLDS):
            seen, asked = nd.nonzero(fold != number)[0], nd.nonzero(fold == number)[0]
            known, target = nd.take(rows, seen, axis=0), nd.take(course, seen, axis=0)
            x, y = standardised(known, known), standardised(target, target)
            unseen = standardised(nd.take(rows, asked, axis=0), known)
            answers = []
            for _ in range(NETWORKS):
                answers.append(network(x, y, unseen, options.length, options.batch_size))
                bar.update()
            mean, deviation = nd.mean(target).item(), nd.std(target).item()
            said[asked] = nd.mean(nd.stack(answers, axis=0), axis=0) * deviation + mean
            line[asked] = linear(x, y, unseen) * deviation + mean
        bar.close()
    result = {"r2": explained(course, said), "linear": explained(course, line)}
    picture = save_picture(course, said, options.out / "predictions.png")
    text = f"R squared {result['r2']:.3f} in five folds; linear regression has {result['linear']:.3f}"
    tell(text, clock, [picture])
    return result


if __name__ == "__main__":
    main()
