"""Where the names on a chart go, in pixels of the layout: apart, and off points and lines where there is room."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Pixel = tuple[float, float]

# What a candidate place costs: names never touch one another; a point covered is worse than a line crossed.
ON_A_POINT, ON_A_LINE = 10.0, 3.0
CLEARANCE = 3.0
BESIDE = 5.0


@dataclass(frozen=True)
class Box:
    """A rectangle with sides along the axes."""

    left: float
    bottom: float
    right: float
    top: float

    def gap(self, point: Pixel) -> float:
        """From a point to the nearest side; 0 inside."""
        x, y = point
        return math.hypot(max(self.left - x, x - self.right, 0), max(self.bottom - y, y - self.top, 0))

    def inside(self, other: "Box") -> bool:
        """Whether this lies wholly in the other."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.bottom >= other.bottom
            and self.top <= other.top
        )


@dataclass(frozen=True)
class Place:
    """A text of `width` × `height` centred at `center` and turned by `angle` radians; `inline` on its own line."""

    center: Pixel
    width: float
    height: float
    angle: float = 0.0
    inline: bool = False

    @property
    def box(self) -> Box:
        """The upright rectangle around the turned one."""
        cosine, sine = abs(math.cos(self.angle)), abs(math.sin(self.angle))
        half_width = (self.width * cosine + self.height * sine) / 2
        half_height = (self.width * sine + self.height * cosine) / 2
        x, y = self.center
        return Box(x - half_width, y - half_height, x + half_width, y + half_height)

    def meets(self, other: "Place") -> bool:
        """Whether the two turned rectangles are closer than `CLEARANCE`, by separating axes: those of their sides."""
        dx, dy = other.center[0] - self.center[0], other.center[1] - self.center[1]
        for angle in (self.angle, other.angle):
            for axis in (angle, angle + math.pi / 2):
                apart = abs(dx * math.cos(axis) + dy * math.sin(axis))
                if apart >= self._reach(axis) + other._reach(axis) + CLEARANCE:
                    return False
        return True

    def _reach(self, axis: float) -> float:
        """From the centre to the farthest corner, along a direction."""
        turned = axis - self.angle
        return (self.width * abs(math.cos(turned)) + self.height * abs(math.sin(turned))) / 2

    def covers(self, point: Pixel, radius: float) -> bool:
        """Whether a disc around `point` meets the turned rectangle."""
        dx, dy = point[0] - self.center[0], point[1] - self.center[1]
        along = dx * math.cos(self.angle) + dy * math.sin(self.angle)
        across = dy * math.cos(self.angle) - dx * math.sin(self.angle)
        return abs(along) < self.width / 2 + radius and abs(across) < self.height / 2 + radius


@dataclass
class Labels:
    """The names placed so far on one chart, and what they should stay clear of.

    `slopes` are the pixel heights at which each (parallel) slope meets x = 0, `angle` what they rise by; `roofs` where
    each flat line begins, `drops` where each line begins that falls to the bottom.
    """

    area: Box
    points: Sequence[Pixel]
    angle: float
    slopes: Sequence[float]
    roofs: Sequence[Pixel]
    drops: Sequence[Pixel]
    radius: float = 5.0
    taken: list[Place] = field(default_factory=list)

    def take(self, place: Place) -> None:
        """Keep later names off this one."""
        self.taken.append(place)

    def best(self, places: Sequence[Place], most: float = math.inf) -> Place | None:
        """The cheapest free place, the earlier of equals, which is then taken; None if each costs more than `most`."""
        free = [(self._cost(place), order) for order, place in enumerate(places) if self._free(place)]
        cost, order = min(free, default=(math.inf, 0))
        if not free or cost > most:
            return None
        self.take(places[order])
        return places[order]

    def belonging(self, places: Sequence[Place], point: Pixel) -> list[Place]:
        """Those of the places that lie nearer to `point` than to any other point, so that a reader ties them to it."""
        others = [other for other in self.points if other != point]
        return [place for place in places if all(place.box.gap(point) < place.box.gap(other) for other in others)]

    def _free(self, place: Place) -> bool:
        return place.box.inside(self.area) and not any(place.meets(other) for other in self.taken)

    def _cost(self, place: Place) -> float:
        covered = sum(place.covers(point, self.radius) for point in self.points)
        return ON_A_POINT * covered + ON_A_LINE * (self._slopes_crossed(place) + self._others_crossed(place))

    def _slopes_crossed(self, place: Place) -> int:
        """Slopes through the text, but for its own where it is written on that."""
        x, y = place.center
        tilt = place.angle - self.angle
        reach = (place.width * abs(math.sin(tilt)) + place.height * abs(math.cos(tilt))) / 2
        here = y - x * math.tan(self.angle)
        distances = [abs(here - slope) * math.cos(self.angle) for slope in self.slopes]
        return sum(distance < reach + 1 for distance in distances) - place.inline

    def _others_crossed(self, place: Place) -> int:
        box = place.box
        roofs = sum(box.bottom < y < box.top and box.right > start for start, y in self.roofs)
        return roofs + sum(box.left < x < box.right and box.bottom < top for x, top in self.drops)


def along_slope(start: Pixel, end: Pixel, size: Pixel, radius: float = 0.0, from_end: bool = False) -> list[Place]:
    """Places for a name of `size` by the slope between two pixels: above the line, below, then on it.

    Beside the line there is room for points of `radius`. The first place is at the start, or `from_end`.
    """
    width, height = size
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    steps = int(max(length - width, 0) / 8)
    beside = height / 2 + radius + 2
    offsets = (beside, -beside, 0.0)
    places = []
    for offset in offsets:
        for step in range(steps + 1):
            along = length - width / 2 - step * 8 if from_end else width / 2 + step * 8
            x = start[0] + along * math.cos(angle) - offset * math.sin(angle)
            y = start[1] + along * math.sin(angle) + offset * math.cos(angle)
            places.append(Place((x, y), width, height, angle, inline=not offset))
    return places


def around(point: Pixel, width: float, height: float, radius: float) -> list[Place]:
    """Places for the name of a point: right, left, above, below and the corners, then the same further out."""
    places = []
    for gap in (radius + 3, radius + 12, radius + 24):
        dx, dy = width / 2 + gap, height / 2 + gap
        slanted = (width / 2 + gap * 0.7, height / 2 + gap * 0.7)
        offsets = [(dx, 0), (-dx, 0), (0, -dy), (0, dy)]
        offsets += [(sx * slanted[0], sy * slanted[1]) for sx in (1, -1) for sy in (-1, 1)]
        places += [Place((point[0] + x, point[1] + y), width, height) for x, y in offsets]
    return places


def above_or_below(point: Pixel, width: float, height: float, radius: float) -> list[Place]:
    """Places for a name that a flat line through its point would cross elsewhere."""
    x, y = point
    distance = height / 2 + radius + 2
    return [Place((x, y + side * distance), width, height) for side in (1, -1)]


def staircase(corners: Sequence[Pixel], widths: Sequence[float], height: float, area: Box) -> list[Place]:
    """Places at the bottom for the names of corners (given from the left) whose lines drop to them.

    Names stand right of their lines, the leftmost lowest, so that none crosses a line; where one has no room there, all
    stand left of them, the rightmost lowest.
    """
    fits = all(x + BESIDE + width <= area.right for (x, _), width in zip(corners, widths, strict=True))
    side = 1 if fits else -1
    places = []
    for order, ((x, _), width) in enumerate(zip(corners, widths, strict=True)):
        level = order if fits else len(corners) - 1 - order
        y = area.bottom + BESIDE + (level + 0.5) * (height + CLEARANCE + 1)
        places.append(Place((x + side * (BESIDE + width / 2), y), width, height))
    return places


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights at least `gap` apart, in the order of `wanted` (descending) and as near to it as that allows.

    Neighbours that are too close are pooled and centred on their mean wish (pool-adjacent-violators, Barlow et al.
    1972).
    """
    pools: list[list[float]] = []
    for wish in wanted:
        pools.append([wish])
        while len(pools) > 1 and _top(pools[-1], gap) + gap > _bottom(pools[-2], gap):
            last = pools.pop()
            pools[-1] += last
    heights = [height for pool in pools for height in _stacked(pool, gap)]
    return list(_kept_within(heights, gap, low, high))


def _center(pool: Sequence[float]) -> float:
    return sum(pool) / len(pool)


def _top(pool: Sequence[float], gap: float) -> float:
    return _center(pool) + (len(pool) - 1) * gap / 2


def _bottom(pool: Sequence[float], gap: float) -> float:
    return _center(pool) - (len(pool) - 1) * gap / 2


def _stacked(pool: Sequence[float], gap: float) -> list[float]:
    return [_top(pool, gap) - place * gap for place in range(len(pool))]


def _kept_within(heights: Sequence[float], gap: float, low: float, high: float) -> Iterator[float]:
    """Push what lies outside back in, from the bottom up and then from the top down."""
    floor, raised = low, []
    for height in reversed(heights):
        floor = max(height, floor)
        raised.append(floor)
        floor += gap
    top = high
    for height in reversed(raised):
        top = min(height, top)
        yield top
        top -= gap
