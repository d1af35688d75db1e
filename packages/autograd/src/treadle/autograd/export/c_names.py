"""Names in the C file: what may not be called otherwise, and what would clash."""

import re
from collections.abc import Iterable

from treadle.autograd.errors import ExportError
from treadle.autograd.export.program import Program

__all__ = ["check_name", "clean", "function_name", "name_states"]

_KEYWORDS = frozenset([
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "bool", "true",
    "false", "class", "namespace", "template", "this", "new", "delete", "try", "catch", "throw", "public", "private",
    "protected", "operator", "friend", "virtual", "using", "typename", "and", "or", "not", "xor", "bitand", "bitor",
    "compl", "explicit", "export", "import", "mutable", "main",
])  # fmt: skip
"""Of C99 and C++, which may include the header."""
_LIBRARY = frozenset([
    "acos", "asin", "atan", "atan2", "cos", "sin", "tan", "acosh", "asinh", "atanh", "cosh", "sinh", "tanh", "exp",
    "exp2", "expm1", "frexp", "ilogb", "ldexp", "log", "log10", "log1p", "log2", "logb", "modf", "scalbn", "scalbln",
    "cbrt", "fabs", "hypot", "pow", "sqrt", "erf", "erfc", "lgamma", "tgamma", "ceil", "floor", "nearbyint", "rint",
    "lrint", "llrint", "round", "lround", "llround", "trunc", "fmod", "remainder", "remquo", "copysign", "nan",
    "nextafter", "nexttoward", "fdim", "fmax", "fmin", "fma", "abs", "labs", "div", "exit", "abort", "malloc", "free",
    "calloc", "realloc", "printf", "puts", "getenv", "system", "rand", "index", "y0", "y1", "yn", "j0", "j1", "jn",
    "fpclassify", "isfinite", "isinf", "isnan", "isnormal", "signbit", "isgreater", "isless", "isunordered", "gamma",
    "signgam", "drem", "scalb",
])  # fmt: skip
_HEADERS = frozenset(["math", "string", "stdint", "stddef", "stdlib", "stdio", "assert", "limits", "float", "errno"])
_OURS = re.compile(r"(input|output|step|at|[a-z])[0-9]+\Z")
_MACROS = re.compile(r"(NAN|INFINITY|NULL|HUGE_VALF?|size_t|u?int\w*_t|U?INT\w*_(C|MIN|MAX))\Z")
_IN_STRING_H = re.compile(r"(mem|str)[a-z]+\Z")


def clean(text: str) -> str:
    """The text with an underscore for everything but the letters, digits and underscores of ASCII."""
    return re.sub(r"[^0-9A-Za-z_]", "_", text)


def function_name(stem: str) -> str:
    """A name of C for the function of a file called ``stem``."""
    name = clean(stem)
    if not name.strip("_"):
        return "model"
    name = f"model_{name}" if name[0].isdigit() or name[0] == "_" else name
    return f"{name}_model" if _is_taken(name) else name


def _is_taken(name: str) -> bool:
    plain = name.removesuffix("f").removesuffix("l")
    library = name in _LIBRARY or plain in _LIBRARY or _IN_STRING_H.match(name) is not None
    return (
        library
        or _MACROS.match(name) is not None
        or _OURS.match(name) is not None
        or name in _KEYWORDS
        or name in _HEADERS
    )


def check_name(name: str) -> None:
    """Raise ExportError for what cannot be a function of C here."""
    if clean(name) != name or not name or name[0].isdigit() or name[0] == "_":
        raise ExportError(f"export to C: {name!r} cannot be the name of a C function: letters of ASCII, digits and _")
    if _is_taken(name):
        raise ExportError(f"export to C: {name!r} means something else in C; choose another name")


def check_unused(name: str, helpers: Iterable[str], apart: bool = False, own_math: bool = False) -> None:
    """Raise ExportError where the function would be called as something else that the file has is."""
    others = ("arena", "fault", *(("weights", "word_at") if apart else ()))
    if name in helpers or name in others or (own_math and name.startswith("own_")):
        raise ExportError(f"export to C: the generated code has something else called {name!r}; choose another name")


def name_states(program: Program, function: str) -> None:
    """Name the arrays that the caller sees: what is learned and kept, with the function's name in front."""
    used: set[str] = {function, f"{function}_bind", f"{function}_verify"}
    for at, state in enumerate(program.states):
        wanted = f"{function}_{clean(state.name) or at}"
        symbol, count = wanted, 2
        while symbol in used:
            symbol, count = f"{wanted}_{count}", count + 1
        used.add(symbol)
        state.symbol = symbol
    for at, value in enumerate(program.inputs):
        value.symbol = f"input{at}"
