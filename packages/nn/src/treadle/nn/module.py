"""The base of every layer, loss and model."""

from collections.abc import Callable, Iterator, Mapping
from reprlib import recursive_repr
from typing import Any, TypeVar

import treadle.ndarray as nd
from treadle.autograd import Scoped, Tensor
from treadle.autograd._methods import placement
from treadle.nn._backward_hooks import BackwardHooks
from treadle.nn._located import is_of_no_tensor, locate
from treadle.nn._state import IncompatibleKeys, load, tensors_of
from treadle.nn._tree import Branch, children_first, join, members, put, walk
from treadle.nn.hooks import HookTable, RemovableHandle
from treadle.nn.parameter import Parameter
from treadle.nn.summary import Summary, summarize

__all__ = ["Module", "check_name"]

Self = TypeVar("Self", bound="Module")
Part = TypeVar("Part")


class Module(Scoped, Branch):
    """A part of a model: it has parameters, other modules, and a ``forward``.

    Parameters and modules are found through attributes, and through lists, tuples and dicts that attributes hold.
    Calling a module runs its hooks and ``forward``.

    >>> import treadle.nn as nn
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.hidden = [nn.Linear(4, 8), nn.Linear(8, 8)]
    ...         self.head = nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         for layer in self.hidden:
    ...             x = nn.functional.relu(layer(x))
    ...         return self.head(x)
    >>> [name for name, _ in Net().named_parameters()][:3]
    ['hidden.0.weight', 'hidden.0.bias', 'hidden.1.weight']
    >>> Net()(Tensor([[1.0, 2.0, 3.0, 4.0]])).shape
    (1, 2)
    """

    training: bool = True
    _buffer_names: Mapping[str, bool] = {}
    _forward_hooks: HookTable | None = None
    _forward_pre_hooks: HookTable | None = None
    _backward_hooks: HookTable | None = None
    _backward_pre_hooks: HookTable | None = None
    _has_hooks: bool = False

    def __init__(self) -> None:
        """A module takes what its subclass says, by itself nothing; a subclass need not call this."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (value is None or isinstance(value, (Parameter, Module))):
            if isinstance(vars(self).get(name), Parameter):
                raise TypeError(
                    f"{type(self).__name__}.{name} is a parameter, and a {type(value).__name__} in its place would not "
                    f"be learnt: assign a Parameter, write into {name}.data[...], or delete the attribute first"
                )
            if name in self._buffer_names and not isinstance(value, Tensor):
                raise TypeError(f"buffer {name!r} must be a Tensor or None, not {type(value).__name__}")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in self._buffer_names:
            self._buffer_names = {other: kept for other, kept in self._buffer_names.items() if other != name}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes. A subclass defines it; calling a module without one is a TypeError."""
        raise TypeError(f"{type(self).__name__} defines no forward(), so it cannot be called")

    def _note_place(self, error: Exception) -> None:
        """Say in a note of an error that leaves this module where in the model it came up."""
        if isinstance(error, nd.TreadleError):
            locate(error, self)
        elif is_of_no_tensor(error) and type(self).__module__.startswith("treadle.nn."):
            kind = type(error.obj).__name__  # type: ignore[attr-defined]
            better = nd.DTypeError(
                f"{type(self).__name__}: it got a {kind} where a Tensor is needed; write Tensor(...)"
            )
            locate(better, self)
            raise better from error

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook, with_kwargs in self._forward_pre_hooks.entries() if self._forward_pre_hooks else ():
            if with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        backward = None
        if self._backward_hooks or self._backward_pre_hooks:
            backward = BackwardHooks(self, self._backward_pre_hooks, self._backward_hooks)
            args = backward.enter(args)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs in self._forward_hooks.entries() if self._forward_hooks else ():
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if changed is not None:
                result = changed
        return result if backward is None else backward.leave(result)

    # parts ---------------------------------------------------------------------------------------------------------
    def named_modules(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, "Module"]]:
        """This module (under ``prefix``) and all below it, parents first; a shared one once, or at each place."""
        return walk(self, prefix, set() if remove_duplicate else None)

    def modules(self) -> Iterator["Module"]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The modules directly below this one, each once."""
        seen: set[int] = set()
        for name, member in members(self):
            if isinstance(member, Module) and id(member) not in seen:
                seen.add(id(member))
                yield name, member

    def children(self) -> Iterator["Module"]:
        """The modules directly below this one, each once."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; one that several modules share comes once, or at each place."""
        seen: set[int] = set()
        for place, module in self.named_modules(prefix, remove_duplicate) if recurse else ((prefix, self),):
            for name, member in members(module):
                if isinstance(member, Parameter) and not (remove_duplicate and id(member) in seen):
                    seen.add(id(member))
                    yield join(place, name), member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers that are not None, with their dotted names."""
        seen: set[int] = set()
        for place, module in self.named_modules(prefix, remove_duplicate) if recurse else ((prefix, self),):
            for name in module._buffer_names:
                buffer = getattr(module, name)
                if buffer is not None and not (remove_duplicate and id(buffer) in seen):
                    seen.add(id(buffer))
                    yield join(place, name), buffer

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers that are not None, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_parts(self) -> Iterator[tuple[str, Any]]:
        """All modules, parameters and buffers below, each once; the graph collapsed by module takes its names here."""
        yield from self.named_modules()
        yield from self.named_parameters()
        yield from self.named_buffers()

    def _check_free(self, name: str, kind: str, is_one: bool) -> None:
        """KeyError if ``name`` is taken by something else, such as a method."""
        check_name(name)
        if not is_one and getattr(self, name, None) is not None:
            taken = type(getattr(self, name)).__name__
            raise KeyError(f"{type(self).__name__}.{name} is a {taken}; the {kind} needs another name")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make ``tensor`` the attribute ``name``: moved by :meth:`to`, and in the state dict if ``persistent``, but
        not learnt. Assigning to the attribute replaces it."""
        self._check_free(name, "buffer", name in self._buffer_names)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name!r} must be a Tensor or None, not {type(tensor).__name__}")
        setattr(self, name, tensor)
        self._buffer_names = {**self._buffer_names, name: persistent}

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Make ``parameter`` the attribute ``name``; the same as assigning it."""
        self._check_free(name, "parameter", isinstance(getattr(self, name, None), Parameter))
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"parameter {name!r} must be a Parameter or None, not {type(parameter).__name__}")
        setattr(self, name, parameter)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Make ``module`` the attribute ``name``; the same as assigning it."""
        self._check_free(name, "module", isinstance(getattr(self, name, None), Module))
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"module {name!r} must be a Module or None, not {type(module).__name__}")
        setattr(self, name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """:meth:`add_module` by its other name."""
        self.add_module(name, module)

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Put ``module`` at the dotted name ``target``; with ``strict`` only where a module stands already.

        AttributeError if there is no way to it, ValueError for an empty name or what is no module.
        """
        if not target or not isinstance(module, Module):
            raise ValueError(f"set_submodule takes a name and a Module, not {target!r} and a {type(module).__name__}")
        if strict:
            self.get_submodule(target)
        put(self, target, module)

    def get_submodule(self, target: str) -> "Module":
        """The module with the dotted name ``target``; AttributeError if there is none."""
        return _lookup(self, target, self.named_modules(remove_duplicate=False), "module")

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name ``target``; AttributeError if there is none."""
        return _lookup(self, target, self.named_parameters(remove_duplicate=False), "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name ``target``; AttributeError if there is none."""
        return _lookup(self, target, self.named_buffers(remove_duplicate=False), "buffer")

    # modes and conversion ------------------------------------------------------------------------------------------
    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode, or evaluation mode with ``mode=False``, here and in every module below."""
        if not isinstance(mode, bool):
            raise TypeError(f"mode must be True or False, not {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode here and in every module below."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Learn all parameters, or freeze them."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        from treadle.optim.optimizer import clear_gradients

        clear_gradients(self.parameters(), set_to_none)

    def apply(self: Self, function: Callable[["Module"], Any]) -> Self:
        """Call ``function`` on every module below and then on this one, on each once."""
        for module in list(children_first(self, set())):
            function(module)
        return self

    def to(self: Self, *args: Any, device: Any = None, dtype: Any = None) -> Self:
        """Move parameters and buffers to a device, convert the floating ones to a dtype, in place.

        The forms are ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(tensor)``. Parameters stay the same
        objects, so optimizers keep hold of them.
        """
        device, dtype = placement(args, device, dtype)
        if dtype is not None:
            dtype = nd.dtype(dtype)
            if dtype.kind != "f":
                raise nd.DTypeError(f"Module.to converts to floating dtypes only, not to {dtype.name}")
        for tensor in [*self.parameters(), *self.buffers()]:
            _convert(tensor, device, dtype)
        return self

    def float(self: Self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self.to(nd.float32)

    def half(self: Self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self.to(nd.float16)

    def bfloat16(self: Self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self.to(nd.bfloat16)

    def cpu(self: Self) -> Self:
        """Move parameters and buffers to the device ``cpu``."""
        return self.to("cpu")

    def cuda(self: Self, device: int = 0) -> Self:
        """Move parameters and buffers to the GPU of that number. Raises BackendError where there is none."""
        return self.to(f"cuda:{device}")

    def double(self: Self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self.to(nd.float64)

    # state ---------------------------------------------------------------------------------------------------------
    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Parameters and persistent buffers by dotted name, as tensors that share the module's memory.

        ``prefix`` is put before every name. A shared parameter stands under each of its names. With ``keep_vars`` the
        parameters themselves come, else detached tensors.
        """
        tensors = tensors_of(self)
        return {prefix + name: tensor if keep_vars else tensor.detach() for name, tensor in tensors.items()}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into the parameters and persistent buffers, converting dtype and device to theirs.

        Everything is compared first: a StateDictError lists all differences, and then nothing has been loaded. Shapes
        must be equal; nothing is broadcast. With ``strict=False`` missing and unexpected names are returned and not an
        error. The values may be Tensors, NDArrays or NumPy arrays, also this module's own under other names. With
        ``assign`` they are not copied: the parameters take over their memory, dtype and device.
        """
        return load(type(self).__name__, tensors_of(self), state_dict, strict, assign)

    # hooks ---------------------------------------------------------------------------------------------------------
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns, unless None, replaces the arguments.

        With ``with_kwargs`` it is called as ``hook(module, args, kwargs)`` and returns both.
        """
        return self._hook_table("_forward_pre_hooks").add(hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; what it returns, unless None, replaces the output.

        With ``with_kwargs`` it is called as ``hook(module, args, kwargs, output)``.
        """
        return self._hook_table("_forward_hooks").add(hook, prepend, with_kwargs)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients of a call are computed.

        ``grad_output`` are the gradients of its results, None for unused ones; what the hook returns, unless None,
        replaces them.
        """
        return self._hook_table("_backward_pre_hooks").add(hook, prepend, False)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of a call are there.

        ``grad_input`` are those of the positional arguments, None for those without; what the hook returns, unless
        None, replaces them.
        """
        return self._hook_table("_backward_hooks").add(hook, prepend, False)

    def _hook_table(self, name: str) -> HookTable:
        if getattr(self, name) is None:
            setattr(self, name, HookTable())
        self._has_hooks = True
        table: HookTable = getattr(self, name)
        return table

    # text ----------------------------------------------------------------------------------------------------------
    def summary(self, *inputs: Any) -> Summary:
        """A table of the modules with their parameter counts, and their output shapes for the example ``inputs``."""
        return summarize(self, inputs)

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr; a subclass overrides it."""
        return ""

    @recursive_repr("...")
    def __repr__(self) -> str:
        lines = [f"({name}): {_indented(repr(module))}" for name, module in members(self) if isinstance(module, Module)]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        body = "\n  ".join([*extra.split("\n"), *lines] if extra else lines)
        return f"{type(self).__name__}(\n  {body}\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def check_name(name: str) -> None:
    """ValueError unless ``name`` can be part of a dotted name."""
    if not name or "." in str(name) or str(name) != name:
        raise ValueError(f"a name must be a non-empty string without a dot, not {name!r}")


def _lookup(module: Module, target: str, pairs: Iterator[tuple[str, Part]], kind: str) -> Part:
    for name, part in pairs:
        if name == target:
            return part
    raise AttributeError(f"{type(module).__name__} has no {kind} named {target!r}")


def _convert(tensor: Tensor, device: Any, dtype: Any) -> None:
    """Move and convert ``tensor`` and its gradient in place."""
    data = _converted(tensor.data, device, dtype)
    gradient = tensor.grad
    tensor.grad = None
    if data is not tensor.data:
        tensor.data = data
    if gradient is not None:
        tensor.grad = Tensor(_converted(gradient.data, device, dtype))


def _converted(data: nd.NDArray, device: Any, dtype: Any) -> nd.NDArray:
    if dtype is not None and data.dtype.kind == "f" and data.dtype != dtype:
        data = data.astype(dtype)
    return data if device is None or data.device == device else data.to_device(device)
