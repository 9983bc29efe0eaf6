"""Every format of a result, data frames and figures."""

import base64
import importlib.util

import pytest

from interpreter_service import PACKAGE

NOTHING = {"type": "result", "is_main_result": False}


@pytest.fixture(scope="module")
def fresh(service):
    """One context for all of these: none looks at what another left."""
    return {"context_id": service.context()}


def need(module, package):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"this host has no {package}")


def only(service, fresh, code):
    got = service.run(code, **fresh)
    assert got.error is None, got.error
    assert len(got.results) == 1, got.results
    return got.results[0]


@pytest.mark.parametrize("made,field,value", [
    ("HTML('<b>x</b>')", "html", "<b>x</b>"),
    ("Markdown('*x*')", "markdown", "*x*"),
    ("Latex('$x$')", "latex", "$x$"),
    ("SVG(data='<svg xmlns=\"http://www.w3.org/2000/svg\"/>')", "svg", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    ("JSON({'a': [1, None, 'x']})", "json", {"a": [1, None, "x"]}),
    ("Javascript('1 + 1')", "javascript", "1 + 1"),
    ("Image(data=b'\\x89PNG\\r\\n\\x1a\\n-', format='png')", "png", base64.b64encode(b"\x89PNG\r\n\x1a\n-").decode()),
    ("Image(data=b'\\xff\\xd8\\xff-', format='jpeg')", "jpeg", base64.b64encode(b"\xff\xd8\xff-").decode()),
])
def test_formats(service, fresh, made, field, value):
    got = only(service, fresh, f"from IPython.display import *\ndisplay({made})")
    assert got[field] == value and not got["is_main_result"]
    assert set(got) - {"type", "is_main_result", "text", field} == set()
    assert only(service, fresh, made)["is_main_result"]


def test_pdf_and_types_without_a_field(service, fresh):
    got = only(service, fresh, "display({'application/pdf': 'JVBE\\nRi0=\\n', 'application/x-own': {'a': 1}, 'text/plain': 'p'}, raw=True)")
    assert got == {**NOTHING, "pdf": "JVBERi0=", "text": "p", "extra": {"application/x-own": {"a": 1}}}


def test_several_formats_of_one_result(service, fresh):
    got = only(service, fresh, "class Rich:\n  def _repr_html_(self): return '<i>'\n  def _repr_markdown_(self): return '_i_'\n  def __repr__(self): return 'i'\nRich()")
    assert got == {"type": "result", "is_main_result": True, "text": "i", "html": "<i>", "markdown": "_i_"}


@pytest.mark.parametrize("code,text", [("'quoted'", "quoted"), ('"it\'s"', "it's"), ("''", ""), ("b'x'", "b'x"[:-1] + "x'" if False else "b'x'"), ("['a']", "['a']"), ("float('nan')", "nan")])
def test_texts(service, fresh, code, text):
    assert service.run(code, **fresh).text == text


def test_numbers_that_json_lacks_become_null(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGE))
    from harena_interpreter.output import encoded

    assert encoded({"a": [float("nan"), float("inf"), 1.5]}) == b'{"a":[null,null,1.5]}\n'


def test_data_frames(service, fresh):
    need("pandas", "python3-pandas")
    got = only(service, fresh, "import pandas as pd, numpy as np\npd.DataFrame({'n': [1, 2], 'f': [0.5, np.nan], 's': ['a', None], 'b': [True, False],"
                               " 't': pd.to_datetime(['2026-01-02 03:04', None]), 7: [[1], {'k': np.int64(2)}]})")
    assert got["data"] == {"n": [1, 2], "f": [0.5, None], "s": ["a", None], "b": [True, False], "t": ["2026-01-02T03:04:00", None], "7": [[1], {"k": 2}]}
    assert "<table" in got["html"] and "text" in got and got["is_main_result"]
    assert only(service, fresh, "pd.DataFrame([[1, 2]], columns=['x', 'x'])")["data"] == {"x": [1], "x_": [2]}
    assert "data" not in only(service, fresh, "pd.DataFrame(np.zeros((1001, 1000)))")


def chart(service, fresh, code):
    need("matplotlib", "python3-matplotlib")
    got = only(service, fresh, "import matplotlib.pyplot as plt\nplt.close('all')\n" + code + "\nplt.show()")
    assert base64.b64decode(got["png"]).startswith(b"\x89PNG")
    return got["chart"]


def test_line_chart(service, fresh):
    got = chart(service, fresh, "plt.plot([0, 1, 2], [3, 4, 5], label='rise')\nplt.plot([0, 2], [1, 1])\nplt.axhline(2)\n"
                                "plt.xlabel('Time (s)'); plt.ylabel('Speed [m/s]'); plt.title('Runs'); plt.xticks([0, 1, 2], ['a', 'b', 'c'])")
    assert (got["type"], got["title"], got["x_label"], got["x_unit"], got["y_label"], got["y_unit"]) == ("line", "Runs", "Time (s)", "s", "Speed [m/s]", "m/s")
    assert got["elements"] == [{"label": "rise", "points": [[0, 3], [1, 4], [2, 5]]}, {"label": "Line 1", "points": [[0, 1], [2, 1]]}]
    assert got["x_ticks"] == [0, 1, 2] and got["x_tick_labels"] == ["a", "b", "c"] and got["x_scale"] == "linear" and got["y_scale"] == "linear"


def test_scales(service, fresh):
    got = chart(service, fresh, "import datetime\nplt.plot([datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)], [1, 1000])\nplt.yscale('log')")
    assert got["x_scale"] == "datetime" and got["y_scale"] == "log"
    assert got["elements"][0]["points"] == [["2026-01-01T00:00:00", 1], ["2026-01-03T00:00:00", 1000]]
    got = chart(service, fresh, "plt.plot(['low', 'high'], [1, 2])")
    assert got["x_scale"] == "categorical" and got["elements"][0]["points"] == [["low", 1], ["high", 2]] and got["x_ticks"] == ["low", "high"]


def test_scatter_chart(service, fresh):
    got = chart(service, fresh, "plt.scatter([1, 2], [3, 4], label='one')\nplt.scatter([5], [6])\nplt.plot([7], [8], 'o', label='dots')")
    assert got["type"] == "scatter" and got["title"] == "" and got["x_label"] is None
    assert sorted((one["label"], one["points"]) for one in got["elements"]) == [("Group 2", [[5, 6]]), ("dots", [[7, 8]]), ("one", [[1, 3], [2, 4]])]


def test_bar_charts(service, fresh):
    got = chart(service, fresh, "plt.bar(['a', 'b'], [1, 2], label='x')\nplt.bar(['a', 'b'], [3, 4], bottom=[1, 2], label='y')")
    assert got["type"] == "bar" and got["elements"] == [
        {"label": "a", "value": 1, "group": "x"}, {"label": "b", "value": 2, "group": "x"},
        {"label": "a", "value": 3, "group": "y"}, {"label": "b", "value": 4, "group": "y"}]
    got = chart(service, fresh, "plt.barh(['a', 'b'], [1, 2])")
    assert got["elements"] == [{"label": "a", "value": 1, "group": "Group 0"}, {"label": "b", "value": 2, "group": "Group 0"}]


def test_pie_chart(service, fresh):
    got = chart(service, fresh, "plt.pie([1, 3], labels=['p', 'q'], radius=2)")
    assert [(one["label"], round(one["angle"], 3), one["radius"]) for one in got["elements"]] == [("p", 90, 2), ("q", 270, 2)]


@pytest.mark.parametrize("options", ["", ", vert=False", ", patch_artist=True", ", notch=True"])
def test_box_plots(service, fresh, options):
    got = chart(service, fresh, f"plt.boxplot([[1, 2, 3, 4, 50], [2, 4, 6]], labels=['one', 'two']{options})")
    assert got["type"] == "box_and_whisker"
    numbers = {"min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": [50]}
    assert got["elements"] == [{"label": "one", **numbers},
                               {"label": "two", "min": 2, "first_quartile": 3, "median": 4, "third_quartile": 5, "max": 6, "outliers": []}]


def test_several_axes_and_unknown_ones(service, fresh):
    got = chart(service, fresh, "fig, (a, b) = plt.subplots(1, 2)\nfig.suptitle('both')\na.plot([1, 2], [1, 2]); a.set_title('left')\nb.imshow([[1, 2]])\nfig.colorbar(b.images[0])")
    assert (got["type"], got["title"], [(one["type"], one["title"]) for one in got["elements"]]) == ("superchart", "both", [("line", "left"), ("unknown", "")])


def test_a_figure_of_too_many_points_is_a_picture(service, fresh):
    need("matplotlib", "python3-matplotlib")
    got = only(service, fresh, "import matplotlib.pyplot as plt\nplt.plot(range(100_002))\nplt.show()")
    assert "png" in got and "chart" not in got
