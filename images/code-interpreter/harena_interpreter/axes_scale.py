"""An axis of matplotlib's: what its numbers mean, its ticks and its unit."""

import math
import re

UNIT = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")


class Scale:
    def __init__(self, axis, name):
        """``axis``: Axes.xaxis or Axes.yaxis; ``name``: what matplotlib calls its scale."""
        from matplotlib.category import StrCategoryLocator
        from matplotlib.dates import DateLocator

        self._axis = axis
        locator = axis.get_major_locator()
        self._labels = {}
        if isinstance(locator, DateLocator):
            self.name = "datetime"
        elif isinstance(locator, StrCategoryLocator):
            self.name = "categorical"
            mapping = getattr(axis.get_units(), "_mapping", None) or {}
            self._labels = {number: str(label) for label, number in mapping.items()}
        else:
            self.name = name

    def value(self, number):
        """A coordinate as the caller gave it: a number, an ISO 8601 date or a category. What isn't finite is None."""
        number = float(number)
        if not math.isfinite(number):
            return None
        if self.name == "datetime":
            from matplotlib.dates import num2date

            return num2date(number).replace(tzinfo=None).isoformat()
        if self.name == "categorical":
            return self._labels.get(round(number), number)
        return number

    def ticks(self):
        low, high = sorted(self._axis.get_view_interval())
        return [self.value(one) for one in self._axis.get_majorticklocs() if low <= one <= high]

    def tick_labels(self):
        low, high = sorted(self._axis.get_view_interval())
        located = zip(self._axis.get_majorticklocs(), self._axis.get_majorticklabels())
        return [label.get_text() for place, label in located if low <= place <= high]

    def label_at(self, number):
        """The tick's label at a place, or the place itself as text: what a reader of the picture would call it."""
        if self.name in ("categorical", "datetime"):
            return str(self.value(number))
        for place, label in zip(self._axis.get_majorticklocs(), self._axis.get_majorticklabels()):
            if math.isclose(place, number, abs_tol=1e-9) and label.get_text():
                return label.get_text()
        return f"{float(number):g}"

    @property
    def label(self):
        return self._axis.get_label_text() or None

    @property
    def unit(self):
        """What stands in brackets at the end of the label: "Time (s)" has the unit s."""
        found = UNIT.search(self.label or "")
        return (found[1] or found[2] or None) if found else None
