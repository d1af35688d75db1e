"""The base of every optimizer: parameter groups and state.

An optimizer writes into the arrays of its parameters, in place and outside any graph; that raises their version
counters, so a graph that still needs the old values says so.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, enable_grad
from treadle.optim._step_hooks import add_step_hook

if TYPE_CHECKING:
    from treadle.nn.hooks import RemovableHandle

__all__ = ["Optimizer", "clear_gradients", "require"]


class Optimizer(ABC):
    """Keeps ``param_groups`` (dicts of ``params`` and options) and ``state`` (a dict for each parameter).

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts that override the defaults for their
    own ``params``. A subclass gives the defaults and says how one parameter is updated.

    Gradients accumulate until :meth:`zero_grad`: to train on batches too large for memory, call ``backward`` on each of
    n parts with the loss divided by n, and only then ``step`` and ``zero_grad``. Parameters of float16 and bfloat16
    have a float32 state, and their steps are computed in float32. Where a parameter was converted or moved since the
    last step (``model.double()``, ``model.to(device)``), its state follows it at the next.
    """

    nonnegative: tuple[str, ...] = ("lr", "eps", "weight_decay")
    """Options that must not be below 0, where an optimizer has them."""
    scalar_state: tuple[str, ...] = ("step",)
    """State values that are numbers, whatever the parameter's shape."""
    optional_state: tuple[str, ...] = ()
    """State values beside :meth:`state_names`, which depend on options that may be changed."""

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.state: dict[Tensor, dict[str, Any]] = {}
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Tensor):
            raise TypeError("an optimizer takes an iterable of tensors or dicts, not one tensor: write [tensor]")
        if hasattr(params, "parameters"):
            raise TypeError(f"an optimizer takes parameters, not a {type(params).__name__}: pass its parameters()")
        _ordered(params)
        groups = list(params)
        if not groups:
            raise ValueError("the optimizer got no parameters")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise ValueError for options that make no sense."""
        for name in self.nonnegative:
            if name in options:
                require(_is_real(options[name]) and options[name] >= 0.0, name, options[name], "0 or more")
        if "betas" in options:
            betas = options["betas"]
            fits = isinstance(betas, (tuple, list)) and len(betas) == 2
            fits = fits and all(_is_real(beta) and 0.0 <= beta < 1.0 for beta in betas)
            require(fits, "betas", betas, "two numbers in [0, 1)")

    @abstractmethod
    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        """Change ``parameter.data`` in place by one step; ``state`` is the parameter's own and starts empty."""

    def state_names(self, options: Mapping[str, Any]) -> tuple[str, ...] | None:
        """What the state of a parameter consists of once it was updated; None where that is not known beforehand."""
        return None

    def state_shape(self, name: str, tensor: Tensor) -> tuple[int, ...]:
        """The shape of an array of the state: that of the parameter, unless a subclass says otherwise."""
        return tensor.shape

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own; what is not given comes from the defaults."""
        if not isinstance(param_group, Mapping):
            raise TypeError(f"a parameter group must be a dict, not {type(param_group).__name__}")
        if "params" not in param_group:
            raise ValueError(f"a parameter group needs 'params'; this one has {', '.join(map(repr, param_group))}")
        group = {name: _plain(value) for name, value in {**self.defaults, **param_group}.items()}
        group["params"] = _tensors(param_group["params"])
        known = {id(tensor) for other in self.param_groups for tensor in other["params"]}
        for tensor in group["params"]:
            if id(tensor) in known:
                raise ValueError(f"the parameter of shape {tensor.shape} is given to the optimizer twice")
            known.add(id(tensor))
        self.check(group)
        self.param_groups.append(group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient. ``closure`` computes the loss first, and it is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        states, update = self.state, self.update
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None:
                    continue
                state = states.get(parameter)
                values = parameter.data
                if type(state) is not _State or state.dtype is not values.dtype or state.device is not values.device:
                    state = self._following(parameter)
                if state.is_half and not self.takes_halves(group):
                    self._update_half(parameter, gradient.data, state, group)
                else:
                    update(parameter, gradient.data, state, group)
        return loss

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> "RemovableHandle":
        """Call ``hook(optimizer, args, kwargs)`` before each step; returns a handle whose ``remove`` ends that.

        ``args`` begins with the optimizer, as PyTorch's does. The hook may give None, or other ``(args, kwargs)``.

        >>> from treadle.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=0.1)
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return add_step_hook(self, "before", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> "RemovableHandle":
        """Call ``hook(optimizer, args, kwargs)`` after each step; what it returns is not looked at.

        >>> from treadle.optim import SGD
        >>> optimizer = SGD([Tensor([1.0])], lr=0.1)
        >>> with optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("after")):
        ...     optimizer.step()
        after
        >>> optimizer.step()
        """
        return add_step_hook(self, "after", hook)

    def takes_halves(self, options: Mapping[str, Any]) -> bool:
        """Whether ``update`` serves float16 and bfloat16 parameters itself, with a float32 state."""
        return False

    def _following(self, parameter: Tensor) -> "_State":
        """The state of a parameter that is new, or was converted or moved since the last step: taken along."""
        state = self.state[parameter] = _State(_along(self.state.get(parameter, {}), parameter))
        state.dtype, state.device = parameter.dtype, parameter.device
        state.is_half = parameter.dtype.itemsize < 4
        return state

    def _update_half(
        self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]
    ) -> None:
        """The update of a float16 or bfloat16 parameter: computed in float32, like its state, and rounded once."""
        wide = Tensor(parameter.data.astype(nd.float32))
        self.update(wide, gradient.astype(nd.float32), state, options)
        parameter.data[...] = wide.data

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """``state`` by parameter number and the ``param_groups`` with numbers for parameters.

        The arrays are the optimizer's own: copy or save them before the next step changes them.
        """
        numbers = {id(tensor): number for number, tensor in enumerate(self._parameters())}
        groups = [
            {**group, "params": [numbers[id(tensor)] for tensor in group["params"]]} for group in self.param_groups
        ]
        state = {numbers[id(tensor)]: dict(values) for tensor, values in self.state.items() if values}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the state and the options of ``state_dict``; ValueError, and no change, if it does not fit."""
        if not {"state", "param_groups"} <= set(state_dict or ()):
            raise ValueError("this is no state dict of an optimizer, which has 'state' and 'param_groups'")
        saved = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in saved]
        if sizes != given:
            raise ValueError(f"the optimizer's groups have {sizes} parameters, those of the state dict {given}")
        for group in saved:
            lacking = [name for name, value in self.defaults.items() if type(value) is not bool and name not in group]
            if lacking:
                what = f"that of a {type(self).__name__}: a group lacks {', '.join(lacking)}"
                raise ValueError(f"the state dict is not {what}")
        tensors = self._parameters()
        numbers = [number for group in saved for number in group["params"]]
        by_number = dict(zip(numbers, tensors, strict=True))
        groups = [
            {**mine, **{name: value for name, value in other.items() if name != "params"}}
            for mine, other in zip(self.param_groups, saved, strict=True)
        ]
        for group in groups:
            self.check(group)
        options = {number: group for group, other in zip(groups, saved, strict=True) for number in other["params"]}
        state = {}
        for number, values in state_dict["state"].items():
            if number not in by_number:
                raise ValueError(f"the state dict has a state for parameter {number!r}, which is in none of its groups")
            tensor = by_number[number]
            self._check_state(number, values, options[number])
            state[tensor] = {name: self._restored(name, value, tensor) for name, value in values.items()}
        self.state, self.param_groups = state, groups

    def _check_state(self, number: Any, values: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """ValueError for the state of another kind of optimizer."""
        names = self.state_names(options)
        given = {name for name, value in values.items() if value is not None}
        if names is None or not given:
            return
        unknown = sorted(given.difference(names, self.optional_state))
        lacking = [name for name in names if name not in given]
        if unknown or lacking:
            parts = [f"has {', '.join(unknown)}"] if unknown else []
            parts += [f"lacks {', '.join(lacking)}"] if lacking else []
            raise ValueError(
                f"the state dict is not that of a {type(self).__name__}: the state of parameter {number} "
                f"{' and '.join(parts)}; to begin with a fresh state, load {{**state_dict, 'state': {{}}}}"
            )

    def _restored(self, name: str, value: Any, tensor: Tensor) -> Any:
        """A number, or a copy with the dtype that the state of the parameter has, on its device."""
        if isinstance(value, Tensor):
            value = value.data
        if value is None or isinstance(value, (bool, int, float)):
            return value
        array = value if isinstance(value, nd.NDArray) else nd.asarray(value, device="cpu")
        if array.ndim == 0 and (tensor.ndim or name in self.scalar_state):
            return int(array.item()) if name == "step" else array.item()
        if array.shape != self.state_shape(name, tensor):
            raise ValueError(f"state {name!r} has shape {array.shape}, but its parameter {tensor.shape}")
        return array.astype(_state_dtype(tensor), copy=True).to_device(tensor.device)

    def _parameters(self) -> list[Tensor]:
        return [tensor for group in self.param_groups for tensor in group["params"]]

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


class _State(dict[str, Any]):
    """The state of a parameter, and what it fits: the parameter's dtype and device.

    Each step compares these by identity, which costs next to nothing.
    """

    __slots__ = ("device", "dtype", "is_half")

    dtype: nd.DType
    device: nd.Device
    is_half: bool


def _along(value: Any, parameter: Tensor) -> Any:
    """A value of the state, of any shape and in any container, with the dtype and device that go with a parameter."""
    if isinstance(value, nd.NDArray):
        value = value.astype(_state_dtype(parameter), copy=False) if value.dtype.kind == "f" else value
        return value.to_device(parameter.device)
    if isinstance(value, dict):
        return {name: _along(each, parameter) for name, each in value.items()}
    return [_along(each, parameter) for each in value] if isinstance(value, list) else value


def _state_dtype(tensor: Tensor) -> nd.DType:
    return nd.float32 if tensor.dtype.itemsize < 4 else tensor.dtype


def clear_gradients(tensors: Iterable[Tensor], set_to_none: bool) -> None:
    """Drop the gradients, or fill them with zeros in place."""
    for tensor in tensors:
        gradient = tensor.grad
        if gradient is None:
            continue
        if set_to_none:
            tensor.grad = None
        else:
            zeros = gradient.detach()
            zeros.data[...] = 0
            tensor.grad = zeros


def require(condition: bool, name: str, value: Any, expected: str) -> None:
    """ValueError naming the option unless ``condition`` holds."""
    if not condition:
        raise ValueError(f"{name} must be {expected}, not {value!r}")


def _plain(value: Any) -> Any:
    """An option; one that is a tensor or an array of one number as that number."""
    return value.item() if isinstance(value, (Tensor, nd.NDArray)) and value.ndim == 0 else value


def _is_real(value: Any) -> bool:
    return isinstance(value, Real)


def _ordered(params: Any) -> None:
    if isinstance(params, (set, frozenset)):
        raise TypeError("parameters must be in an order, which a set has not; use a list")


def _tensors(params: Any) -> list[Tensor]:
    _ordered(params)
    given = [params] if isinstance(params, Tensor) else params
    tensors = [item[1] if isinstance(item, tuple) else item for item in given]
    if not tensors:
        raise ValueError("a parameter group is empty")
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"an optimizer can only change tensors, not {type(tensor).__name__}")
        if not tensor.is_leaf:
            raise ValueError(f"the tensor of shape {tensor.shape} is no leaf, so it cannot be optimized")
        if tensor.dtype.kind != "f":
            way = "; optimize its real and imaginary parts" if tensor.dtype.kind == "c" else ""
            raise nd.DTypeError(f"an optimizer changes floating-point tensors, not {tensor.dtype.name}{way}")
    return tensors
