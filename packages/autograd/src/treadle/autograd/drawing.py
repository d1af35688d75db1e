"""A layered drawing of a directed acyclic graph as SVG, after Sugiyama, Tagawa and Toda (1981).

1. Each box is put in the layer after its last operand; a leaf goes right above its first use.
2. Edges that span several layers get invisible waypoints, so that they run around boxes and not through them.
3. Within a layer boxes are ordered by the mean place of their neighbours, sweeping down and up a few times.
4. Boxes are drawn to their neighbours' mean position as far as the order allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from treadle.autograd.errors import GradientError

__all__ = ["Box", "Drawable", "draw"]

_MOST_BOXES = 1000

_CHARACTER, _LINE, _PADDING, _GAP, _LAYER_GAP, _MARGIN = 7.0, 17.0, 12.0, 26.0, 44.0, 24.0
_SWEEPS = 12
_COLOURS = {
    "parameter": ("#dcefdc", "#2e7d32", "parameter (requires grad)"),
    "constant": ("#eceff1", "#607d8b", "input without grad"),
    "op": ("#e3eefb", "#1565c0", "op"),
    "module": ("#ece7f6", "#5e35b1", "call of a module"),
    "output": ("#fde8d7", "#d2601a", "output"),
}


@dataclass(slots=True)
class Box:
    """What to draw: lines of text, the kind (for the colour), the boxes its edges come from, and a tooltip."""

    lines: Sequence[str]
    kind: str
    inputs: Sequence[int]
    tip: str = ""


class Drawable:
    """Base of the graphs that have a picture: boxes, and arrows from operands to results."""

    what = "nodes"

    def boxes(self) -> list[Box]:
        """The boxes of the picture, each after those of its inputs."""
        raise NotImplementedError

    def svg(self, path: str | Path | None = None) -> str:
        """An SVG picture, layer by layer from the leaves down to the outputs; written to ``path`` if given.

        Needs nothing but the standard library; meant for up to some 200 boxes. Raises GradientError above 1000.
        """
        boxes = self.boxes()
        if len(boxes) > _MOST_BOXES:
            raise GradientError(
                f"svg: {len(boxes):,} {self.what} make no picture that anybody could read; collapse(depth) a graph by "
                "module first, or give dot() to Graphviz"
            )
        return _written(draw(boxes), path)

    def dot(self, path: str | Path | None = None) -> str:
        """The picture in the DOT language of Graphviz; written to ``path`` if given."""
        lines = ["digraph {", '  node [fontname="Helvetica" fontsize=11];']
        for number, box in enumerate(self.boxes()):
            label, tip = (_quoted(text) for text in ("\n".join(box.lines), box.tip))
            style = {"parameter": " style=rounded", "constant": " style=dashed"}.get(box.kind, "")
            lines.append(f'  n{number} [label="{label}" tooltip="{tip}" shape=box{style}];')
            lines += [f"  n{each} -> n{number};" for each in box.inputs]
        return _written("\n".join([*lines, "}"]) + "\n", path)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@dataclass(slots=True)
class _Place:
    """A box or a waypoint in the drawing."""

    layer: int
    width: float
    height: float
    box: int | None = None
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0


def draw(boxes: Sequence[Box]) -> str:
    """The SVG text. Boxes come after the boxes of their inputs."""
    places, routes = _arrange(boxes)
    layers = _ordered(places)
    _position(places, layers)
    width = max([place.x + place.width / 2 for place in places], default=0.0) + _MARGIN
    bottom = max([place.y + place.height / 2 for place in places], default=0.0) + _MARGIN
    legend = _legend(boxes, bottom)
    width, height = max(width, 360.0), bottom + legend.count("<rect") * 18 + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-sans-serif, Helvetica, Arial, sans-serif" '
        'font-size="12">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" fill="#78909c"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *[_edge([places[at] for at in route]) for route in routes],
        *[_rectangle(boxes[place.box], place) for place in places if place.box is not None],
        legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _arrange(boxes: Sequence[Box]) -> tuple[list[_Place], list[list[int]]]:
    """Places of boxes and waypoints, and each edge as the places it runs through."""
    layers = [0] * len(boxes)
    for number, box in enumerate(boxes):
        layers[number] = max([layers[each] + 1 for each in box.inputs], default=0)
    uses: dict[int, list[int]] = {}
    for number, box in enumerate(boxes):
        for each in box.inputs:
            uses.setdefault(each, []).append(layers[number])
    for number, box in enumerate(boxes):
        if not box.inputs and number in uses:
            layers[number] = min(uses[number]) - 1
    places = []
    for number, box in enumerate(boxes):
        longest = max((len(line) for line in box.lines), default=0)
        height = len(box.lines) * _LINE + _PADDING
        places.append(_Place(layers[number], longest * _CHARACTER + 2 * _PADDING, height, number))
    routes = []
    for number, box in enumerate(boxes):
        for each in dict.fromkeys(box.inputs):
            route = [each]
            for layer in range(layers[each] + 1, layers[number]):
                route.append(len(places))
                places.append(_Place(layer, 8.0, 8.0))
            route.append(number)
            for upper, lower in pairwise(route):
                places[upper].below.append(lower)
                places[lower].above.append(upper)
            routes.append(route)
    return places, routes


def _ordered(places: list[_Place]) -> list[list[int]]:
    """The places of each layer, from left to right."""
    layers: list[list[int]] = [[] for _ in range(max([place.layer for place in places], default=-1) + 1)]
    for number, place in enumerate(places):
        layers[place.layer].append(number)
    best, fewest = [list(layer) for layer in layers], _crossings(places, layers)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        rank = {number: float(at) for layer in layers for at, number in enumerate(layer)}
        for layer in layers if down else reversed(layers):
            key = {}
            for number in layer:
                neighbours = places[number].above if down else places[number].below
                key[number] = sum(rank[each] for each in neighbours) / len(neighbours) if neighbours else rank[number]
            layer.sort(key=key.__getitem__)
            rank.update({number: float(at) for at, number in enumerate(layer)})
        crossings = _crossings(places, layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _crossings(places: list[_Place], layers: list[list[int]]) -> int:
    """How many pairs of edges between neighbouring layers cross."""
    total = 0
    for upper, lower in pairwise(layers):
        rank = {number: at for at, number in enumerate(lower)}
        ends = [rank[each] for number in upper for each in sorted(places[number].below, key=rank.__getitem__)]
        total += sum(left > right for at, left in enumerate(ends) for right in ends[at + 1 :])
    return total


def _position(places: list[_Place], layers: list[list[int]]) -> None:
    y = _MARGIN
    for layer in layers:
        height = max(places[number].height for number in layer)
        x = _MARGIN
        for number in layer:
            place = places[number]
            place.y = y + height / 2
            place.x = x + place.width / 2
            x += place.width + _GAP
        y += height + _LAYER_GAP
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _pull([places[number] for number in layer], places, down)
    left = min((place.x - place.width / 2 for place in places), default=0.0)
    for place in places:
        place.x += _MARGIN - left


def _pull(row: list[_Place], places: list[_Place], down: bool) -> None:
    """Move a row's places to the mean of their neighbours, then apart: the mean of packing from either side."""
    wanted = []
    for place in row:
        neighbours = (place.above or place.below) if down else (place.below or place.above)
        wanted.append(sum(places[each].x for each in neighbours) / len(neighbours) if neighbours else place.x)
    from_left, from_right = list(wanted), list(wanted)
    for at in range(1, len(row)):
        room = (row[at - 1].width + row[at].width) / 2 + _GAP
        from_left[at] = max(from_left[at], from_left[at - 1] + room)
    for at in range(len(row) - 2, -1, -1):
        room = (row[at + 1].width + row[at].width) / 2 + _GAP
        from_right[at] = min(from_right[at], from_right[at + 1] - room)
    for place, left, right in zip(row, from_left, from_right, strict=True):
        place.x = (left + right) / 2


def _edge(route: list[_Place]) -> str:
    """A smooth line from the lower side of the first place to the upper side of the last."""
    x, y = route[0].x, route[0].y + route[0].height / 2
    path = [f"M{x:.1f} {y:.1f}"]
    for at, place in enumerate(route[1:], start=1):
        end = place.y - place.height / 2 - 1 if at == len(route) - 1 else place.y
        middle = (y + end) / 2
        path.append(f"C{x:.1f} {middle:.1f} {place.x:.1f} {middle:.1f} {place.x:.1f} {end:.1f}")
        x, y = place.x, end
    return f'<path d="{" ".join(path)}" fill="none" stroke="#78909c" stroke-width="1.3" marker-end="url(#arrow)"/>'


def _rectangle(box: Box, place: _Place) -> str:
    fill, stroke, _ = _COLOURS[box.kind]
    radius = place.height / 2 if box.kind in ("parameter", "constant") else 5
    left, top = place.x - place.width / 2, place.y - place.height / 2
    parts = [
        f'<g><title>{escape(box.tip)}</title><rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{radius:.1f}" fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'
    ]
    for at, line in enumerate(box.lines):
        baseline = top + _PADDING / 2 + _LINE * at + 13
        style = 'font-weight="600" fill="#102027"' if at == 0 else 'font-size="11" fill="#455a64"'
        parts.append(f'<text x="{place.x:.1f}" y="{baseline:.1f}" text-anchor="middle" {style}>{escape(line)}</text>')
    return "".join(parts) + "</g>"


def _legend(boxes: Sequence[Box], top: float) -> str:
    parts: list[str] = []
    for kind, (fill, stroke, label) in _COLOURS.items():
        if any(box.kind == kind for box in boxes):
            y = top + 18 * len(parts)
            parts.append(
                f'<rect x="{_MARGIN}" y="{y:.1f}" width="14" height="11" rx="3" fill="{fill}" stroke="{stroke}"/>'
                f'<text x="{_MARGIN + 20}" y="{y + 10:.1f}" font-size="11" fill="#455a64">{label}</text>'
            )
    return "".join(parts)
