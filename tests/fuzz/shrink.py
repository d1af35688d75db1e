"""Failing programs made small: statements cut away, results replaced by literals, literals halved."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fuzz.machine import Divergence, Machine, Refused, Statement, Values, replay

LARGEST_LITERAL = 64


def literal(name: str, value: Values) -> Statement:
    """The statement that makes an array of these values."""
    numbers = repr(value.tolist()) if value.size else "[]"
    array = f"np.array({numbers}, {value.dtype.name!r}).reshape({value.shape})"
    return Statement("literal", name, f"{name} = nd.asarray({array}, copy=True)", f"{name} = {array}", value=value)


def patterned(name: str, shape: tuple[int, ...], dtype: str, seed: int) -> Statement:
    """The statement that makes an array of the numbers of :func:`support.pattern`."""
    array = f"pattern({shape}, {dtype!r}, {seed})"
    made = (shape, dtype, seed)
    return Statement("pattern", name, f"{name} = nd.asarray({array}, copy=True)", f"{name} = {array}", pattern=made)


def _dependants(statements: list[Statement], first: int) -> set[int]:
    """The numbers of the statements that cannot stand without statement ``first``, itself among them."""
    gone, numbers = {statements[first].target}, {first}
    if not statements[first].makes:
        return numbers
    for number in range(first + 1, len(statements)):
        if gone & {*statements[number].uses, statements[number].target}:
            numbers.add(number)
            if statements[number].makes:
                gone.add(statements[number].target)
    return numbers


def _without(statements: list[Statement]) -> Iterator[list[Statement]]:
    """A statement fewer, with all that need it."""
    for first in reversed(range(len(statements) - 1)):
        numbers = _dependants(statements, first)
        if len(statements) - 1 not in numbers:
            yield [each for number, each in enumerate(statements) if number not in numbers]


def _values_after(statements: list[Statement], device: str) -> list[Values | None]:
    """What each statement made, as far as the program goes."""
    machine, values = Machine(device), list[Values | None]([None] * len(statements))
    for number, statement in enumerate(statements):
        try:
            machine.run(statement)
        except (Divergence, Refused):
            break
        values[number] = machine.theirs[statement.target].copy()
    return values


def _with_literals(statements: list[Statement], device: str) -> Iterator[list[Statement]]:
    """A result replaced by its values, so that what led to it can go."""
    values = _values_after(statements, device)
    for number, statement in enumerate(statements[:-1]):
        value = values[number]
        if not statement.makes or statement.op == "literal" or value is None or value.size > LARGEST_LITERAL:
            continue
        yield [*statements[:number], literal(statement.target, value), *statements[number + 1 :]]


def _smaller(value: Values) -> Iterator[Values]:
    for axis, length in enumerate(value.shape):
        for kept in (length // 2, length - 1):
            if kept < length:
                yield np.take(value, range(kept), axis=axis)
                yield np.take(value, range(length - kept, length), axis=axis)
    plain = (np.arange(value.size) % 100).reshape(value.shape).astype(value.dtype)
    if value.size and not np.array_equal(plain, value):
        yield plain


def _smaller_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for axis, length in enumerate(shape):
        for kept in (length // 2, length - 1):
            if 0 < kept < length:
                yield (*shape[:axis], kept, *shape[axis + 1 :])


def _smaller_makers(statement: Statement) -> Iterator[Statement]:
    if statement.value is not None:
        for value in _smaller(statement.value):
            yield literal(statement.target, value)
    if statement.pattern is not None:
        shape, dtype, seed = statement.pattern
        for smaller in _smaller_shapes(shape):
            yield patterned(statement.target, smaller, dtype, seed)


def _with_smaller_literals(statements: list[Statement]) -> Iterator[list[Statement]]:
    for number, statement in enumerate(statements):
        for maker in _smaller_makers(statement):
            yield [*statements[:number], maker, *statements[number + 1 :]]


def shrink(statements: list[Statement], device: str, attempts: int = 2000) -> list[Statement]:
    """The smallest program found that fails at the same op and in the same way."""
    failure = replay(statements, device)
    assert failure is not None
    statements = statements[: statements.index(failure.statement) + 1]

    def fails(candidate: list[Statement]) -> bool:
        try:
            found = replay(candidate, device)
        except Refused:
            return False
        return found is not None and (found.kind, found.statement.op) == (failure.kind, failure.statement.op)

    def candidates() -> Iterator[list[Statement]]:
        yield from _without(statements)
        yield from _with_literals(statements, device)
        yield from _with_smaller_literals(statements)

    improved = True
    while improved:
        improved = False
        for candidate in candidates():
            attempts -= 1
            if attempts < 0:
                return statements
            if fails(candidate):
                statements, improved = [replace(each) for each in candidate], True
                break
    return statements
