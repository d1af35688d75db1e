"""Programs of array statements, carried out in lockstep by treadle and NumPy.

After every statement the results are compared, and what rounding may leave between them is wiped out by giving NumPy
treadle's values: each statement is judged alone, from equal operands. Other variables may see the same memory, so all
of them are compared too.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import treadle.ndarray as nd
from fuzz import support
from treadle.ndarray import reference

Values = np.ndarray[Any, np.dtype[Any]]

_SHARED = {"np": np, "nan": np.nan, "inf": np.inf, "pattern": support.pattern}
_OURS = {**_SHARED, "nd": nd}
_THEIRS = {**_SHARED, "reference": reference, "support": support}


@dataclass(frozen=True)
class Statement:
    """One line of a program, in both libraries. ``theirs`` computes in a wider dtype where that is the way to judge."""

    op: str
    target: str
    """The variable that is made, or written through."""
    ours: str
    theirs: str
    uses: tuple[str, ...] = ()
    makes: bool = True
    view_of: str = ""
    ulps: float = 0
    slack: str = "0.0"
    """The absolute error allowed beside the ulps, as an expression of NumPy's variables before the statement."""
    value: Values | None = field(default=None, compare=False)
    """That of a literal, so that it can be made smaller."""
    pattern: tuple[tuple[int, ...], str, int] | None = None
    """Shape, dtype and seed of a pattern, so that it can be made smaller."""


class Divergence(Exception):
    """treadle and NumPy disagree. ``kind`` is "values", "dtype", "shape", "memory" or the name of an exception."""

    def __init__(self, statement: Statement, kind: str, message: str) -> None:
        super().__init__(f"{statement.op}: {kind}: {message}")
        self.statement, self.kind = statement, kind


class Refused(Exception):
    """NumPy does not carry the statement out: it is no part of a program."""


def _parts(x: Values) -> Values:
    """Real numbers: those of complex ones side by side."""
    return x.view(x.real.dtype) if x.dtype.kind == "c" else x


def differs(actual: Values, expected: Values, ulps: float, slack: Any) -> bool:
    """Whether values disagree: NaN agrees with NaN, and zeros must agree in sign where nothing may differ."""
    if expected.dtype.kind not in "fc":
        return not np.array_equal(actual, expected)
    if expected.dtype.kind == "c":
        actual, expected = np.atleast_1d(actual), np.atleast_1d(expected)
        slack = np.repeat(np.broadcast_to(slack, expected.shape), 2, axis=-1)
    actual, expected = _parts(np.ascontiguousarray(actual)), _parts(np.ascontiguousarray(expected))
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    exact = ulps == 0 and not np.any(slack)
    if exact:
        return not same.all() or bool((np.signbit(actual) != np.signbit(expected))[expected == 0].any())
    bound = ulps * np.spacing(np.abs(expected)).astype(np.float64) + slack
    return not (same | (np.abs(actual.astype(np.float64) - expected.astype(np.float64)) <= bound)).all()


def _first_difference(actual: Values, expected: Values) -> str:
    """Where two arrays of one shape differ most, as a part of the value, and how."""
    with np.errstate(all="ignore"):
        distance = np.abs(actual.astype(np.complex128) - expected.astype(np.complex128))
        distance = np.asarray(np.nan_to_num(distance / np.abs(expected.astype(np.complex128)), nan=np.inf))
        distance[actual == expected] = 0
        distance[(actual != actual) & (expected != expected)] = 0
    worst = np.unravel_index(np.argmax(distance), actual.shape) if actual.ndim else ()
    place = [int(each) for each in worst]
    return f"{place} is {actual[worst]!r}, expected {expected[worst]!r}; shape {actual.shape}"


class Machine:
    """The variables of both libraries, and the statements carried out so far."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.ours: dict[str, Any] = {}
        self.theirs: dict[str, Values] = {}
        self.statements: list[Statement] = []

    def run(self, statement: Statement) -> None:
        """Carry a statement out. Raises Refused (and nothing has happened) or Divergence."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                slack = eval(statement.slack, _THEIRS, self.theirs)
                exec(statement.theirs, _THEIRS, self.theirs)
            except Exception as error:
                raise Refused(f"{statement.theirs}: {error!r}") from error
            self.statements.append(statement)
            try:
                with nd.use_device(self.device):
                    exec(statement.ours, _OURS, self.ours)
            except Exception as error:
                raise Divergence(statement, type(error).__name__, str(error)) from error
            self._compare(statement, slack)

    def _compare(self, statement: Statement, slack: Any) -> None:
        expected = self.theirs[statement.target] = np.asarray(self.theirs[statement.target])
        self._check(statement, statement.target, statement.ulps, slack)
        if statement.view_of:
            self._check_sharing(statement)
        elif statement.makes:  # laid out as treadle's: whether a reshape is a view follows from that
            self.theirs[statement.target] = self._laid_out(statement.target)
        else:
            expected[...] = self._values(statement.target)
        for name in self.theirs:
            self._check(statement, name, 0, 0.0)

    def _laid_out(self, name: str) -> Values:
        """A copy with the axes in the order of treadle's in memory, which is lost on the way from another device."""
        values, strides = self._values(name), self.ours[name].strides
        if self.device == "cpu":
            return values.copy(order="K")
        order = sorted(range(values.ndim), key=lambda axis: -abs(strides[axis]))
        return values.transpose(order).copy().transpose(np.argsort(order))

    def _values(self, name: str) -> Values:
        values: Values = self.ours[name].to_device("cpu").numpy()
        return values

    def _check(self, statement: Statement, name: str, ulps: float, slack: Any) -> None:
        ours, expected = self.ours[name], self.theirs[name]
        if ours.dtype != expected.dtype.name:
            raise Divergence(statement, "dtype", f"{name} is {ours.dtype}, expected {expected.dtype}")
        if ours.shape != expected.shape:
            raise Divergence(statement, "shape", f"{name} is {ours.shape}, expected {expected.shape}")
        actual = self._values(name)
        if differs(actual, expected, ulps, slack):
            raise Divergence(statement, "values", f"{name}{_first_difference(actual, expected)}, {ulps} ulp allowed")

    def _check_sharing(self, statement: Statement) -> None:
        """A view of one library must not be a copy in the other."""
        name, base = statement.target, statement.view_of
        if not self.theirs[name].size:
            return
        ours = self.ours[name].buffer is self.ours[base].buffer
        theirs = np.may_share_memory(self.theirs[name], self.theirs[base])
        if ours != theirs:
            raise Divergence(statement, "memory", f"{name} {'shares' if ours else 'does not share'} memory with {base}")


def replay(statements: list[Statement], device: str) -> Divergence | None:
    """Carry a program out; the first divergence, if there is one. Raises Refused."""
    machine = Machine(device)
    for statement in statements:
        try:
            machine.run(statement)
        except Divergence as divergence:
            return divergence
    return None


def source(statements: list[Statement], device: str) -> str:
    """The program as Python code, for both libraries."""
    last = statements[-1].target
    ours = "".join(f"    {each.ours}\n" for each in statements)
    theirs = "".join(f"{each.theirs}\n" for each in statements)
    return (
        "import numpy as np\nimport treadle.ndarray as nd\nfrom fuzz import support\nfrom fuzz.support import pattern\n"
        "from treadle.ndarray import reference\nnan, inf = np.nan, np.inf\n\n"
        f"with nd.use_device({device!r}):\n{ours}print(repr({last}))\n\n"
        f"{theirs}print(repr({last}))\n"
    )
