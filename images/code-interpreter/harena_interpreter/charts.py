"""What a matplotlib figure shows, as data: the chart objects of the protocol. Runs inside the Python kernel.

    {"type": "line", "title": "...", "x_label": ..., "elements": [{"label": "...", "points": [[x, y], ...]}], ...}
"""

from harena_interpreter.axes_scale import Scale
from harena_interpreter.box_plots import find_boxes

MAX_POINTS = 100_000  # a figure of more is a picture alone


class TooLarge(Exception):
    pass


def figure_chart(figure):
    """The chart of a figure with one pair of axes, a superchart of several; None without axes or with more than MAX_POINTS points."""
    drawn = [one for one in figure.axes if one.get_visible() and not is_colour_bar(one)]
    if not drawn:
        return None
    try:
        charts = [axes_chart(one) for one in drawn]
    except TooLarge:
        return None
    title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else figure._suptitle.get_text() if figure._suptitle else ""
    if len(charts) == 1:
        charts[0]["title"] = charts[0]["title"] or title
        return charts[0]
    return {"type": "superchart", "title": title, "elements": charts}


def is_colour_bar(axes):
    return axes.get_label() == "<colorbar>" or hasattr(axes, "_colorbar")


def axes_chart(axes):
    title = axes.get_title() or axes.get_title(loc="left") or axes.get_title(loc="right")
    for read in (pie, boxes, bars, points):
        chart = read(axes)
        if chart:
            return {"type": chart.pop("type"), "title": title, **chart}
    return {"type": "unknown", "title": title, "elements": []}


def scales(axes):
    return Scale(axes.xaxis, axes.get_xscale()), Scale(axes.yaxis, axes.get_yscale())


def labels_of(x, y):
    return {"x_label": x.label, "y_label": y.label, "x_unit": x.unit, "y_unit": y.unit}


def own_label(artist, otherwise=""):
    """Labels that begin with an underscore are matplotlib's own and stand in no legend."""
    label = str(artist.get_label())
    return otherwise if label.startswith("_") else label


def pie(axes):
    from matplotlib.patches import Wedge

    wedges = [one for one in axes.patches if isinstance(one, Wedge)]
    if not wedges:
        return None
    return {"type": "pie", "elements": [
        {"label": own_label(one), "angle": float(one.theta2 - one.theta1), "radius": float(one.r)} for one in wedges]}


def boxes(axes):
    found, across = find_boxes(axes)
    if not found:
        return None
    x, y = scales(axes)
    named = y if across else x
    return {"type": "box_and_whisker", **labels_of(x, y), "elements": [
        {"label": named.label_at(centre), **numbers} for centre, numbers in found]}


def bars(axes):
    from matplotlib.container import BarContainer

    groups = [one for one in axes.containers if isinstance(one, BarContainer)]
    if not groups:
        return None
    x, y = scales(axes)
    elements = []
    for number, group in enumerate(groups):
        name = own_label(group, f"Group {number}")
        lying = group.orientation == "horizontal"
        for bar in group.patches:
            value = bar.get_width() if lying else bar.get_height()
            place = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            elements.append({"label": (y if lying else x).label_at(place), "value": finite(value), "group": name})
    return {"type": "bar", **labels_of(x, y), "elements": elements}


def finite(value):
    value = float(value)
    return value if value - value == 0 else None


def points(axes):
    """Lines and scattered points together; it's a scatter chart when nothing is joined."""
    x, y = scales(axes)
    joined, series = False, []
    for line in axes.lines:
        if not is_data(line, axes):
            continue
        joined = joined or line.get_linestyle() not in ("None", "", " ")
        series.append((own_label(line, f"Line {len(series)}"), zip(line.get_xdata(orig=False), line.get_ydata(orig=False))))
    from matplotlib.collections import PathCollection

    for cloud in axes.collections:
        if isinstance(cloud, PathCollection):
            series.append((own_label(cloud, f"Group {len(series)}"), cloud.get_offsets()))
    if not series:
        return None
    return {
        "type": "line" if joined else "scatter", **labels_of(x, y),
        "x_ticks": x.ticks(), "x_tick_labels": x.tick_labels(), "x_scale": x.name,
        "y_ticks": y.ticks(), "y_tick_labels": y.tick_labels(), "y_scale": y.name,
        "elements": [{"label": label, "points": pairs(places, x, y)} for label, places in series]}


def is_data(line, axes):
    """Lines of axhline and axvline have one coordinate in the axes' own measure."""
    in_x, in_y = line.get_transform().contains_branch_seperately(axes.transData)
    return in_x and in_y


def pairs(places, x, y):
    made = []
    for place in places:
        made.append([x.value(place[0]), y.value(place[1])])
        if len(made) > MAX_POINTS:
            raise TooLarge
    return made
