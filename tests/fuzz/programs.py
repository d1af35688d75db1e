"""Random programs: drawn, carried out while they are drawn, and on failure shrunk and printed as code."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import treadle.ndarray as nd
from fuzz import compute, fold, move, views, writes
from fuzz.draw import DTYPES, MOST_ELEMENTS, Draw
from fuzz.machine import Divergence, Machine, Refused, Statement, source
from fuzz.shrink import shrink

LENGTH = 14
"""Statements in a program, at most."""

Maker = Callable[[Draw], Statement | None]

MAKERS: dict[Maker, int] = {
    views.make: 6, views.make_nasty: 3, views.make_plain: 1,
    views.take_slice: 8, views.take_view: 7, views.reshape: 5, views.broadcast: 2, views.diagonal: 2, views.windows: 3,
    writes.assign_scalar: 3, writes.assign_shifted: 4, writes.assign: 5, writes.assign_chosen: 3,
    writes.put_along_axis: 1, writes.in_place: 6, writes.out: 3,
    compute.unary: 6, compute.binary: 8, compute.where: 2, compute.clip: 1, compute.cast: 4,
    fold.reduction: 7, fold.place: 2, fold.scan: 3, fold.deviation: 1, fold.soft: 1, fold.order: 3, fold.unique: 1,
    fold.nonzero: 1, fold.searchsorted: 1, fold.matmul: 4,
    move.take: 4, move.select: 2, move.join: 2, move.lay_out: 3,
}  # fmt: skip
"""The makers of statements, and how often each is asked."""


@dataclass(frozen=True)
class Failure:
    """A program on which the libraries disagree."""

    seed: int
    device: str
    statements: list[Statement]
    divergence: Divergence

    def __str__(self) -> str:
        return (
            f"program {self.seed} on {self.device}: {self.divergence}\n\n{source(self.statements, self.device)}\n"
            f"(PYTHONPATH=tests python -m fuzz --seed {self.seed} --programs 1 --device {self.device})"
        )


def dtypes_on(device: str) -> tuple[str, ...]:
    """The dtypes that a device has, and NumPy as well."""
    known = nd.__array_namespace_info__().dtypes(device=device)
    return tuple(name for name in DTYPES if name in known or name == "float16")


def run(seed: int, device: str, dtypes: tuple[str, ...] | None = None) -> Failure | None:
    """Draw the program of a number and carry it out; its shrunk form if it fails."""
    chance, machine = random.Random(seed), Machine(device)
    draw = Draw(chance, machine, dtypes_on(device) if dtypes is None else dtypes)
    makers, weights = list(MAKERS), list(MAKERS.values())
    try:
        machine.run(views.make(draw))
        while len(machine.statements) < chance.randrange(4, LENGTH + 1):
            statement = chance.choices(makers, weights)[0](draw)
            if statement is not None:
                _attempt(machine, statement)
    except Divergence as divergence:
        return Failure(seed, device, shrink(machine.statements, device), divergence)
    return None


def _attempt(machine: Machine, statement: Statement) -> None:
    try:
        machine.run(statement)
    except Refused:
        return
    if machine.theirs[statement.target].size > MOST_ELEMENTS:  # too slow to go on with
        for values in (machine.ours, machine.theirs):
            del values[statement.target]
