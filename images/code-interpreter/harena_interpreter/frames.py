"""A pandas data frame as JSON: column -> list of values. Runs inside the Python kernel."""

import datetime
import json
import math

MAX_CELLS = 1_000_000  # a larger frame is shown, not sent as data


def plain(value):
    """``value`` as JSON has it: numpy's and pandas' scalars as Python's, dates as ISO 8601, what is missing as None, the rest as text."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat() if value == value else None  # pandas' NaT isn't equal to itself
    if hasattr(value, "item") and not isinstance(value, (list, dict)):
        try:
            value = value.item()
        except (TypeError, ValueError):
            return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    try:
        if value != value:
            return None
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value


def column_name(name):
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def frame_data(frame):
    """None, which means no data, for a frame of more than MAX_CELLS."""
    if frame.size > MAX_CELLS:
        return None
    columns = {}
    for position, name in enumerate(frame.columns):
        key = column_name(name)
        while key in columns:  # two columns may have one name
            key += "_"
        columns[key] = [plain(value) for value in frame.iloc[:, position].tolist()]
    return columns
