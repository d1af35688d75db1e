"""A layered drawing of a directed acyclic graph as SVG, after Sugiyama, Tagawa and Toda (1981).

1. Each box is put in the layer after its last operand; leaves, and ops on leaves alone, go right above their first use.
2. Edges that span several layers get invisible waypoints, so that they run around boxes and not through them: straight
   down beside the boxes of a layer, and bending only between layers. Edges from one box share their waypoints.
3. Within a layer boxes are ordered by the mean place of their neighbours, sweeping down and up a few times.
4. Boxes are drawn to their neighbours' mean position as far as the order allows; long edges pull most, leaves least.
"""

from bisect import bisect, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from treadle.autograd._text import printable
from treadle.autograd.errors import GradientError

__all__ = ["Box", "Drawable", "draw"]

_MOST_BOXES = 1000

_CHARACTER, _LINE, _PADDING, _GAP, _LAYER_GAP, _MARGIN = 7.4, 17.0, 13.0, 26.0, 44.0, 24.0
_BESIDE = 14.0  # from a line to what is beside it
_SWEEPS, _PULLS = 12, 60
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

    def __len__(self) -> int:
        raise NotImplementedError

    def boxes(self) -> list[Box]:
        """The boxes of the picture, each after those of its inputs."""
        raise NotImplementedError

    def svg(self, path: str | Path | None = None) -> str:
        """An SVG picture, layer by layer from the leaves down to the outputs; written to ``path`` if given.

        Needs nothing but the standard library; meant for up to some 200 boxes. Raises GradientError above 1000.
        """
        if len(self) > _MOST_BOXES:
            raise GradientError(
                f"svg: {len(self):,} {self.what} make no picture that anybody could read; collapse(depth) a graph by "
                "module first, or give dot() to Graphviz"
            )
        return _written(draw(self.boxes()), path)

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
    return printable(text, kept="\n").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@dataclass(slots=True)
class _Place:
    """A box or a waypoint in the drawing. ``top`` and ``bottom`` are those of its layer."""

    layer: int
    width: float
    height: float
    box: int | None = None
    is_leaf: bool = False
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    top: float = 0.0
    bottom: float = 0.0


def draw(boxes: Sequence[Box]) -> str:
    """The SVG text. Boxes come after the boxes of their inputs."""
    places = _arrange(boxes)
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
        *[_line(place, places[each]) for place in places for each in place.below],
        *[_rectangle(boxes[place.box], place) for place in places if place.box is not None],
        legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _layers(boxes: Sequence[Box]) -> list[int]:
    """The layer of each box."""
    layers = [0] * len(boxes)
    users: list[set[int]] = [set() for _ in boxes]
    for number, box in enumerate(boxes):
        layers[number] = max([layers[each] + 1 for each in box.inputs], default=0)
        for each in box.inputs:
            users[each].add(number)
    for number in range(len(boxes) - 1, -1, -1):
        held = {each for each in boxes[number].inputs if boxes[each].inputs}  # leaves come along
        if users[number] and not held:
            layers[number] = min(layers[each] for each in users[number]) - 1
    return layers


def _arrange(boxes: Sequence[Box]) -> list[_Place]:
    """The places of the boxes, and behind them those of the waypoints, joined by the pieces of the edges."""
    layers = _layers(boxes)
    places = []
    for number, box in enumerate(boxes):
        longest = max((len(line) * (0.92 if at else 1.0) for at, line in enumerate(box.lines)), default=0)
        height = len(box.lines) * _LINE + _PADDING
        width = longest * _CHARACTER + 2 * _PADDING
        places.append(_Place(layers[number], width, height, number, not box.inputs))
    waypoints: dict[tuple[int, int], int] = {}
    for number, box in enumerate(boxes):
        for each in dict.fromkeys(box.inputs):
            upper = each
            for layer in range(layers[each] + 1, layers[number]):
                lower = waypoints.get((each, layer), -1)
                if lower < 0:
                    lower = waypoints[each, layer] = len(places)
                    places.append(_Place(layer, 2.0, 2.0))
                    _join(places, upper, lower)
                upper = lower
            _join(places, upper, number)
    return places


def _join(places: list[_Place], upper: int, lower: int) -> None:
    places[upper].below.append(lower)
    places[lower].above.append(upper)


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
        seen: list[int] = []
        for number in upper:
            ends = sorted(rank[each] for each in places[number].below)
            total += sum(len(seen) - bisect(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _position(places: list[_Place], layers: list[list[int]]) -> None:
    y = _MARGIN
    for layer in layers:
        height = max(places[number].height for number in layer)
        x = _MARGIN
        for number in layer:
            place = places[number]
            place.top, place.y, place.bottom = y, y + height / 2, y + height
            place.x = x + place.width / 2
            x += place.width + _GAP
        y += height + _LAYER_GAP
    for sweep in range(_PULLS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _pull([places[number] for number in layer], places, down, both=sweep >= _SWEEPS)
    left = min((place.x - place.width / 2 for place in places), default=0.0)
    for place in places:
        place.x += _MARGIN - left


def _pull(row: list[_Place], places: list[_Place], down: bool, both: bool) -> None:
    """Move a row's places towards the weighted mean of their neighbours, as near as their order and widths allow.

    That is least squares under the constraint that distances are kept: isotonic regression of the positions less the
    room that those to the left take, by pooling adjacent violators.
    """
    pools: list[tuple[float, float, int]] = []  # weight, mean, count
    taken, offsets = 0.0, []
    for at, place in enumerate(row):
        above, below = place.above, place.below
        wanted_by = above + below if both else (above or below) if down else (below or above)
        neighbours = [places[each] for each in wanted_by]
        weights = [_weight(place, each) for each in neighbours]
        total = sum(weights)
        wanted = sum(w * each.x for w, each in zip(weights, neighbours, strict=True)) / total if total else place.x
        taken += _room(row[at - 1], place) if at else 0.0
        offsets.append(taken)
        weight, mean, count = total or 0.01, wanted - taken, 1
        while pools and pools[-1][1] > mean:
            before, other, several = pools.pop()
            mean = (weight * mean + before * other) / (weight + before)
            weight, count = weight + before, count + several
        pools.append((weight, mean, count))
    means = [mean for _, mean, count in pools for _ in range(count)]
    for place, mean, offset in zip(row, means, offsets, strict=True):
        place.x = mean + offset


def _weight(place: _Place, other: _Place) -> float:
    """How much the line between two places wants to be straight."""
    if place.is_leaf or other.is_leaf:
        return 0.01
    bends = (place.box is None) + (other.box is None)
    return (1.0, 2.0, 8.0)[bends]


def _room(left: _Place, right: _Place) -> float:
    """The least distance between the middles of neighbours."""
    gap = _GAP if left.box is not None and right.box is not None else _BESIDE
    return (left.width + right.width) / 2 + gap


def _line(upper: _Place, lower: _Place) -> str:
    """A piece of an edge: it bends between the layers only, and ends at a box with an arrow or at its layer's end."""
    start = upper.bottom if upper.box is None else upper.y + upper.height / 2
    end = lower.bottom if lower.box is None else lower.y - lower.height / 2 - 1
    x, other = f"{upper.x:.1f}", f"{lower.x:.1f}"
    if x == other:
        path = f"M{x} {start:.1f}V{end:.1f}"
    else:
        middle = (upper.bottom + lower.top) / 2
        bend = f"C{x} {middle:.1f} {other} {middle:.1f} {other} {lower.top - 1:.1f}"
        path = f"M{x} {start:.1f}V{upper.bottom:.1f}{bend}V{end:.1f}"
    marker = "" if lower.box is None else ' marker-end="url(#arrow)"'
    return f'<path d="{path}" fill="none" stroke="#78909c" stroke-width="1.3"{marker}/>'


def _marked(text: str) -> str:
    return escape(printable(text, kept="\n"))


def _rectangle(box: Box, place: _Place) -> str:
    fill, stroke, _ = _COLOURS[box.kind]
    radius = 14 if box.kind in ("parameter", "constant") else 5
    left, top = place.x - place.width / 2, place.y - place.height / 2
    parts = [
        f'<g><title>{_marked(box.tip)}</title><rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{radius:.1f}" fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'
    ]
    for at, line in enumerate(box.lines):
        baseline = top + _PADDING / 2 + _LINE * at + 13
        style = 'font-weight="600" fill="#102027"' if at == 0 else 'font-size="11" fill="#455a64"'
        parts.append(f'<text x="{place.x:.1f}" y="{baseline:.1f}" text-anchor="middle" {style}>{_marked(line)}</text>')
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
