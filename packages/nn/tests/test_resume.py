"""A run that is killed at any time and resumed ends with the bytes of one that never was; with real processes."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.data import DataLoader, Dataset, TensorDataset
from treadle.optim import SGD, Adam
from treadle.optim.lr_scheduler import StepLR

PROGRAM = '''
"""Trains with everything that has a state: dropout, shuffled and augmented data, Adam, a schedule, early stopping."""
import random, sys
import numpy as np
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.data import DataLoader, Dataset, TensorDataset
from treadle.nn.metrics import accuracy
from treadle.optim import Adam
from treadle.optim.lr_scheduler import StepLR

class Noisy(Dataset):
    """Every sample drawn with each of the process's generators."""
    def __init__(self):
        self.x = np.random.default_rng(0).normal(size=(50, 6)).astype("f4")
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        noise = np.random.normal() + random.random() + nd.random.normal().item()
        return self.x[index] + np.float32(0.1 * noise), int(self.x[index, 0] > 0)

class Steps(nn.Callback):
    def on_step_end(self, trainer):
        print("step", trainer.step, flush=True)

def main(folder, workers, accumulate):
    nd.random.manual_seed(1)
    random.seed(2)
    np.random.seed(3)
    options = {"num_workers": workers, "multiprocessing_context": "fork"} if workers else {}
    loader = DataLoader(Noisy(), 7, shuffle=True, generator=nd.random.Generator(4), **options)
    held_out = DataLoader(Noisy(), 20)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    optimizer = Adam(model.parameters(), lr=0.01)
    run = nn.Trainer(
        model, optimizer, nn.CrossEntropyLoss(), metrics={"accuracy": accuracy}, max_grad_norm=1.0,
        scheduler=StepLR(optimizer, 5, 0.9), scheduler_interval="step", accumulate=accumulate, show_progress=False,
        callbacks=[Steps(), nn.EarlyStopping(3, restore_best=True), nn.CSVLogger(folder + "/history.csv")],
        checkpoints=nn.Checkpoints(folder, every_steps=1),
    )
    run.fit(loader, 6, held_out, resume=folder)
    run.save_weights(folder + "/weights.safetensors")
    print("done", flush=True)

main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
'''
FILES = ("last.safetensors", "best.safetensors", "weights.safetensors", "history.csv")


def start(folder: Path, workers: int, accumulate: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), str(workers), str(accumulate)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> bool:
    output, _ = process.communicate(timeout=120)
    return process.returncode == 0 and output.endswith("done\n")


@pytest.mark.parametrize(("workers", "accumulate"), [(0, 1), (2, 3)])
def test_a_killed_run_ends_with_the_same_bytes(tmp_path: Path, workers: int, accumulate: int) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    undisturbed = start(whole, workers, accumulate)
    draw = random.Random(workers)
    kills = 0
    for _ in range(4):
        process = start(cut, workers, accumulate)
        assert process.stdout is not None
        for _ in range(draw.randint(1, 9 // accumulate + 3)):
            if not process.stdout.readline().startswith("step"):
                break
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
    assert kills >= 3, "the run was cut short several times"
    assert finished(start(cut, workers, accumulate))
    assert finished(undisturbed)
    for name in FILES:
        assert (cut / name).read_bytes() == (whole / name).read_bytes(), name
    assert len((whole / "history.csv").read_text().splitlines()) > 3
    assert not list(cut.glob("*.partial")), "nothing half-written is visible"


# --- without a process -----------------------------------------------------------------------------------------------
class Interrupted(Exception):
    pass


class After(nn.Callback):
    """Raises after a number of steps."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, trainer: nn.Trainer) -> None:
        if trainer.step == self.step:
            raise Interrupted


def build(folder: Path, last: int = 0, **options: Any) -> tuple[nn.Trainer, DataLoader]:
    nd.random.manual_seed(0)
    x = np.random.default_rng(1).normal(size=(20, 3)).astype("f4")
    data = TensorDataset(Tensor(x), Tensor((x[:, 0] > 0).astype("i8")))
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    run = nn.Trainer(
        model,
        optimizer,
        nn.CrossEntropyLoss(),
        scheduler=StepLR(optimizer, 3, 0.5),
        scheduler_interval="step",
        checkpoints=nn.Checkpoints(folder, every_steps=1),
        callbacks=[After(last)],
        show_progress=False,
        **options,
    )
    return run, DataLoader(data, 6, shuffle=True)


def state(run: nn.Trainer) -> list[Any]:
    weights = [value.numpy().tobytes() for value in run.model.state_dict().values()]
    return [*weights, run.history.rows, nd.random.default_generator.state(), run.step]


@pytest.mark.parametrize("step", range(1, 9))
def test_every_step_can_be_the_last_one_seen(tmp_path: Path, step: int, device: Any) -> None:
    run, loader = build(tmp_path / "whole")
    run.fit(loader, 2)
    expected = state(run)
    run, loader = build(tmp_path / "cut", step + 1 if step < 8 else 0)
    try:
        run.fit(loader, 2)
    except Interrupted:
        run, loader = build(tmp_path / "cut")
        assert run.fit(loader, 2, resume=tmp_path / "cut") is run.history
    assert state(run) == expected


def test_a_finished_run_that_is_resumed_stays_as_it_is_and_can_go_on(tmp_path: Path) -> None:
    run, loader = build(tmp_path / "a")
    run.fit(loader, 3, resume=tmp_path / "a")
    run, loader = build(tmp_path / "b")
    run.fit(loader, 2, resume=tmp_path / "b")
    files = (tmp_path / "b" / "last.safetensors").read_bytes()
    run, loader = build(tmp_path / "b")
    run.fit(loader, 2, resume=tmp_path / "b")
    assert (tmp_path / "b" / "last.safetensors").read_bytes() == files
    run.fit(loader, 3, resume=tmp_path / "b")
    files, others = ((tmp_path / name / "last.safetensors").read_bytes() for name in "ab")
    assert files == others


def test_plain_lists_of_batches_resume_too(tmp_path: Path) -> None:
    batches = [(Tensor([[float(i), 1.0, 0.0]]), Tensor([i % 2])) for i in range(5)]
    run, _ = build(tmp_path / "whole")
    run.fit(batches, 2)
    expected = state(run)
    run, _ = build(tmp_path / "cut", 3)
    with pytest.raises(Interrupted):
        run.fit(batches, 2)
    run, _ = build(tmp_path / "cut")
    run.fit(batches, 2, resume=tmp_path / "cut" / "last.safetensors")
    assert state(run) == expected


def test_a_checkpoint_of_other_parts_is_refused(tmp_path: Path) -> None:
    run, loader = build(tmp_path)
    run.fit(loader, 1)
    other = nn.Trainer(run.model, run.optimizer, nn.CrossEntropyLoss(), show_progress=False)
    with pytest.raises(nn.CheckpointError, match="other parts: scheduler, callbacks"):
        other.load_checkpoint(tmp_path / "last.safetensors")
    run.save_weights(tmp_path / "weights")
    with pytest.raises(nn.CheckpointError, match="holds no state"):
        run.load_checkpoint(tmp_path / "weights")
    nn.save_state({"x": 1}, tmp_path / "state")
    with pytest.raises(nn.CheckpointError, match="holds no training run"):
        run.load_checkpoint(tmp_path / "state")


class Numbers(Dataset):
    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return 23


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("taken", [0, 1, 4, 6])
def test_a_loader_goes_on_in_mid_epoch(workers: int, own: bool, taken: int) -> None:
    options: dict[str, Any] = {"multiprocessing_context": "fork"} if workers else {}

    def loader() -> DataLoader:
        generator = nd.random.Generator(8) if own else None
        return DataLoader(Numbers(), 4, True, num_workers=workers, generator=generator, **options)

    def drawn(batches: Any) -> list[Any]:
        """Batches, and numbers drawn between them, as by dropout."""
        return [(batch.numpy().tolist(), nd.random.uniform().item()) for batch in batches]

    nd.random.manual_seed(2)
    first = loader()
    passes = [drawn(first) for _ in range(3)]
    nd.random.manual_seed(2)
    second = loader()
    drawn(second)
    running = iter(second)
    drawn(next(running) for _ in range(taken))
    saved = second.state_dict()
    assert saved["batches"] == taken
    nd.random.manual_seed(77)
    third = loader()
    third.load_state_dict(saved)
    assert third.state_dict() == saved
    rest = [drawn(third) for _ in range(2)]
    assert rest == [passes[1][taken:], passes[2]]


def test_a_loader_refuses_what_is_no_state() -> None:
    with pytest.raises(ValueError, match="lacks batches, start, now"):
        DataLoader(Numbers()).load_state_dict({})


def test_partial_files_of_a_kill_do_no_harm(tmp_path: Path) -> None:
    """What a killed process was writing lies beside the checkpoint, hidden, and is never read."""
    run, loader = build(tmp_path)
    run.fit(loader, 1)
    (tmp_path / ".last.safetensors.0123.partial").write_bytes(b"half")
    again, loader = build(tmp_path)
    again.fit(loader, 1, resume=tmp_path)
    assert state(again) == state(run)
    assert os.path.exists(tmp_path / "last.safetensors")


def test_adam_resumes_with_its_moments(tmp_path: Path) -> None:
    weight = nn.Parameter([1.0, 2.0])
    optimizer = Adam([weight], lr=0.1)
    for _ in range(3):
        weight.grad = Tensor([0.5, -1.0])
        optimizer.step()
    nn.save_state({"weight": weight, "optimizer": optimizer.state_dict()}, tmp_path / "x")
    saved = nn.load_state(tmp_path / "x")
    twin = nn.Parameter(saved["weight"])
    other = Adam([twin], lr=0.1)
    other.load_state_dict(saved["optimizer"])
    for tensor, each in ((weight, optimizer), (twin, other)):
        tensor.grad = Tensor([0.25, 1.0])
        each.step()
    assert weight.numpy().tobytes() == twin.numpy().tobytes()
