"""Box plots, which matplotlib draws as loose lines: put together again by where these lie."""

import math

TOLERANCE = 1e-9


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=TOLERANCE)


def outline(artist, across):
    """The corners of a box's outline as (across, along) pairs, or None. ``across``: 0 for standing boxes, 1 for lying ones."""
    from matplotlib.lines import Line2D

    if isinstance(artist, Line2D):
        points = artist.get_xydata()
    else:
        points = artist.get_path().vertices
    pairs = [(float(point[across]), float(point[1 - across])) for point in points]
    if len(pairs) < 5 or not all(near(a, b) for a, b in zip(pairs[0], pairs[4 if len(pairs) == 6 else -1])):
        return None
    return pairs


def straight_lines(axes, across):
    """Lines of two points as ((across, along), (across, along))."""
    for line in axes.lines:
        points = line.get_xydata()
        if len(points) == 2:
            yield tuple((float(point[across]), float(point[1 - across])) for point in points)


def find_boxes(axes):
    """[(centre, {min, first_quartile, median, third_quartile, max, outliers})], and 0 or 1: the axis along which they are named."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch

    candidates = [one for one in (*axes.lines, *axes.patches) if type(one) in (Line2D, PathPatch)]
    for across in (0, 1):
        lines = list(straight_lines(axes, across))
        found = [read_box(axes, corners, lines, across) for one in candidates if (corners := outline(one, across))]
        boxes = [one for one in found if one]
        if boxes:
            return boxes, across
    return [], 0


def read_box(axes, corners, lines, across):
    sides, heights = [one[0] for one in corners], [one[1] for one in corners]
    left, right, low, high = min(sides), max(sides), min(heights), max(heights)
    if len(corners) > 6:  # notched: the notch may reach beyond the box
        low, high = heights[0], heights[5]
    centre = (left + right) / 2
    whiskers = [(a[1], b[1]) for a, b in lines if near(a[0], centre) and near(b[0], centre)]
    below = [min(pair) for pair in whiskers if any(near(one, low) for one in pair) and max(pair) <= low + TOLERANCE]
    above = [max(pair) for pair in whiskers if any(near(one, high) for one in pair) and min(pair) >= high - TOLERANCE]
    medians = [(abs(a[0] - b[0]), number, a[1]) for number, (a, b) in enumerate(lines)
               if near(a[1], b[1]) and low - TOLERANCE <= a[1] <= high + TOLERANCE and not near(a[0], b[0])
               and left - TOLERANCE <= min(a[0], b[0]) and max(a[0], b[0]) <= right + TOLERANCE]
    if not (below and above and medians):
        return None
    return centre, {
        "min": min(below), "first_quartile": low, "median": max(medians)[2], "third_quartile": high, "max": max(above),
        "outliers": outliers(axes, centre, across)}


def outliers(axes, centre, across):
    found = []
    for line in axes.lines:
        points = line.get_xydata()
        if line.get_linestyle() in ("None", "", " ") and len(points) and all(near(float(one[across]), centre) for one in points):
            found += [float(one[1 - across]) for one in points]
    return found
