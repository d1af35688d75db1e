"""Parameters that are computed from others: a norm that is learnt apart, a spectral norm of 1, and one's own.

The parameter is replaced by what it is computed from, ``parametrizations.<name>.original``, and by an attribute that
computes it whenever it is read.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from treadle.autograd import Tensor, no_grad
from treadle.nn.layers.module_dict import ModuleDict
from treadle.nn.layers.module_list import ModuleList
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = ["ParametrizationList", "is_parametrized", "register_parametrization", "remove_parametrizations"]


class ParametrizationList(ModuleList):
    """The parametrizations of one parameter, and what they compute it from: called, it gives the parameter.

    >>> import treadle.nn as nn
    >>> class Doubled(nn.Module):
    ...     def forward(self, x):
    ...         return x * 2.0
    >>> ParametrizationList([Doubled()], Tensor([3.0]))().tolist()
    [6.0]
    """

    def __init__(self, modules: Sequence[Module], original: Tensor) -> None:
        super().__init__(modules)
        parts = self._inverted(original)
        self.is_tensor = isinstance(parts, Tensor)
        self.shape, self.dtype = original.shape, original.dtype
        for number, part in enumerate((parts,) if self.is_tensor else parts):
            name = "original" if self.is_tensor else f"original{number}"
            setattr(self, name, Parameter(part.detach().data.copy(), requires_grad=original.requires_grad))
        self.ntensors = 1 if self.is_tensor else len(parts)
        self.check()

    def check(self) -> None:
        """ValueError unless the parametrizations give a tensor of the parameter's shape and dtype."""
        with no_grad():
            value = self()
        if not isinstance(value, Tensor) or (value.shape, value.dtype) != (self.shape, self.dtype):
            found = f"{value.shape} of {value.dtype.name}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise ValueError(
                f"the parametrization gives {found}, and the parameter has {self.shape} of {self.dtype.name}"
            )

    def originals(self) -> tuple[Parameter, ...]:
        """What the parameter is computed from."""
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        return tuple(getattr(self, name) for name in names)

    def assign(self, value: Tensor) -> None:
        """Change the originals in place so that ``value`` is computed; NotImplementedError without a right_inverse."""
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise NotImplementedError(f"{type(module).__name__} has no right_inverse, so nothing can be assigned")
        parts = self._inverted(value)
        for original, part in zip(self.originals(), (parts,) if self.is_tensor else parts, strict=True):
            original.data[...] = part.data

    def forward(self) -> Tensor:
        """The parameter."""
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        result: Tensor = value
        return result

    def _inverted(self, value: Tensor) -> Any:
        result: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    result = module.right_inverse(result)
        return result


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have ``module.<tensor_name>`` computed by ``parametrization`` from now on; returns ``module``.

    ``parametrization`` is a module of the parameter, or of the several tensors that its ``right_inverse`` gives of it;
    with a ``right_inverse`` the value stays the same, and the parameter can be assigned to. Further ones are put behind
    those that are there. What they give must have the parameter's shape and dtype; ``unsafe`` is taken, and changes
    nothing of it. The originals are new parameters: make the optimizer after this.

    >>> import treadle.nn as nn
    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return (x + x.T) * 0.5
    >>> layer = register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    >>> layer.weight[0, 1].item() == layer.weight[1, 0].item()
    True
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    if is_parametrized(module, tensor_name):
        present = vars(module)["parametrizations"][tensor_name]
        value = getattr(module, tensor_name).detach()
        if hasattr(parametrization, "right_inverse") and not isinstance(parametrization.right_inverse(value), Tensor):
            raise ValueError(
                f"{tensor_name!r} is parametrized already, and {type(parametrization).__name__} computes it from "
                "several tensors: it must be the first"
            )
        present.append(parametrization)
        try:
            present.check()
            if hasattr(parametrization, "right_inverse"):
                present.assign(value)
        except BaseException:
            present.pop(len(present) - 1)
            raise
        return module
    parameter = vars(module).get(tensor_name)
    if not isinstance(parameter, Parameter):
        raise ValueError(f"{type(module).__name__} has no parameter {tensor_name!r} to parametrize")
    computed = ParametrizationList([parametrization], parameter)
    if "parametrizations" not in vars(module):
        module.parametrizations = ModuleDict()
    delattr(module, tensor_name)
    vars(module)["parametrizations"][tensor_name] = computed
    _dress(module)
    return module


def _dress(module: Module) -> None:
    """Give a module the class whose properties compute its parametrized parameters."""
    kind: Any = getattr(type(module), "_unparametrized", type(module))
    names = tuple(vars(module).get("parametrizations", ()))
    module.__class__ = _class_with(kind, names) if names else kind


@cache
def _class_with(kind: type[Module], names: tuple[str, ...]) -> type[Module]:
    """One class for all modules of a kind: a copy of a module shares it, and nothing changes it."""

    def reduce(self: Any, protocol: Any) -> Any:
        return _empty, (kind, names), *kind.__reduce_ex__(self, protocol)[2:]

    body = {"__module__": kind.__module__, "__doc__": kind.__doc__, "_unparametrized": kind, "__reduce_ex__": reduce}
    return type(f"Parametrized{kind.__name__}", (kind,), {**body, **{name: _computed(name) for name in names}})


def _empty(kind: Any, names: tuple[str, ...]) -> Module:
    """What pickling begins with, since no module has that class under a name."""
    made: type[Module] = _class_with(kind, names)
    return made.__new__(made)


def _computed(name: str) -> property:
    def read(self: Any) -> Tensor:
        value: Tensor = self.parametrizations[name]()
        return value

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].assign(value)

    return property(read, assign)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter of ``module``, or the one of that name, is computed.

    >>> import treadle.nn as nn
    >>> is_parametrized(nn.Linear(2, 2))
    False
    """
    held = vars(module).get("parametrizations")
    if not isinstance(held, ModuleDict) or not hasattr(type(module), "_unparametrized"):
        return False
    return tensor_name is None or tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make ``module.<tensor_name>`` a parameter again: of its computed value, or else of its original; returns module.

    >>> import treadle.nn as nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> list(remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name!r}")
    parametrizations = vars(module)["parametrizations"]
    computed = parametrizations[tensor_name]
    if not leave_parametrized and not computed.is_tensor:
        raise ValueError(f"{tensor_name!r} is computed from several tensors; it can only be left as it is computed")
    with no_grad():
        value = getattr(module, tensor_name) if leave_parametrized else computed.original
    learnt = any(each.requires_grad for each in computed.originals())
    del parametrizations[tensor_name]
    if not len(parametrizations):
        delattr(module, "parametrizations")
    _dress(module)
    setattr(module, tensor_name, Parameter(value.detach().data.copy(), requires_grad=learnt))
    return module
