"""Whether a gradient gets from one tensor to another, and where the way is cut if not."""

from dataclasses import dataclass

from treadle.autograd._location import Location, locate
from treadle.autograd._op import expected_tensor
from treadle.autograd._tensor import Tensor
from treadle.autograd.graph import behind, reaches

__all__ = ["Break", "Connection", "connection"]


@dataclass(frozen=True, slots=True)
class Break:
    """A place where gradients stop: why, the line, and whether the tensor asked for is known to lie behind it."""

    reason: str
    location: Location | None
    certain: bool

    def __str__(self) -> str:
        where = f" at {self.location}: {self.location.text}" if self.location else ""
        return self.reason + where + ("" if self.certain else " (what lies behind it is gone, so it may be another's)")


@dataclass(frozen=True, slots=True)
class Connection:
    """The answer of :func:`connection`: true when connected; otherwise ``breaks`` says where the way is cut."""

    connected: bool
    breaks: tuple[Break, ...]
    advice: str

    def __bool__(self) -> bool:
        return self.connected

    def __str__(self) -> str:
        return "\n".join([self.advice, *[f"  {each}" for each in self.breaks]])

    __repr__ = __str__


def connection(tensor: Tensor, output: Tensor) -> Connection:
    """Whether a gradient of ``output`` reaches ``tensor``; where it is cut when it does not.

    Cuts that are known: ``detach()``, ``no_grad()`` (not ``inference_mode``), a result of integers or booleans, and
    functions without a gradient. What went through ``.data``, ``.numpy()``, a new ``Tensor`` or an assignment under
    ``no_grad()`` leaves no trace.

    >>> import treadle.autograd as ag
    >>> w = ag.Tensor([1.0], requires_grad=True)
    >>> loss = (w.detach() * 2).sum()
    >>> answer = ag.connection(w, loss)
    >>> bool(answer), answer.breaks[0].reason
    (False, 'detach()')
    """
    for given in (tensor, output):
        if not isinstance(given, Tensor):
            raise expected_tensor("connection", given)
    if tensor.requires_grad and reaches(tensor, output):
        return Connection(True, (), "connected: the output was computed from the tensor, and gradients flow")
    if not tensor.requires_grad:
        advice = "not connected: the tensor has requires_grad=False; set it before the forward pass"
        return Connection(False, (), advice)
    found: list[Break] = []
    for each in (node for node in behind(output) if node.is_leaf):
        for reason, position, sources in each.breaks:
            alive = [source() for source in sources]
            known = [source for source in alive if source is not None]
            certain = any(source is tensor or reaches(tensor, source) for source in known)
            if certain or len(known) < len(alive):
                found.append(Break(reason, locate(position), certain))
    found = [each for each in found if each.certain] or found
    if found:
        return Connection(False, tuple(found), "not connected: the way is cut here")
    advice = (
        "not connected, and no cut is on record: either the output was never computed from the tensor, or the values "
        "went through .data, .numpy(), a new Tensor, an assignment under no_grad(), or inference_mode()"
    )
    return Connection(False, (), advice)
