"""The Python kernel: ipykernel with output in order, nothing dropped, and figures and data frames as data.

    python3 -m harena_interpreter.python_kernel -f CONNECTION_FILE
"""

import weakref

from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from ipykernel.ipkernel import IPythonKernel
from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Type, Unicode

from harena_interpreter.limits import MAX_MESSAGE_BYTES, MESSAGES_AHEAD, STREAM_CHUNK



class OrderedStream(OutStream):
    """What was written to the other stream first goes out first, and no message grows beyond STREAM_CHUNK characters by waiting."""

    _last = staticmethod(lambda: None)
    _waiting = 0

    def write(self, string):
        other = OrderedStream._last()
        if other is not self:
            if other is not None:
                other.flush()
            OrderedStream._last = weakref.ref(self)
        written = super().write(string)
        self._waiting += len(string)
        if self._waiting >= STREAM_CHUNK:
            self.flush()
        return written

    def flush(self):
        self._waiting = 0
        super().flush()


class DataFormatter(BaseFormatter):
    """A data frame's columns."""

    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    """What a figure shows (charts.py)."""

    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = dict

    def __call__(self, obj):
        # Not by for_type: matplotlib_inline throws everybody's printers of figures out when it sets its own.
        if any(one.__module__ == "matplotlib.figure" and one.__name__ == "Figure" for one in type(obj).__mro__):
            return figure_chart(obj)
        return super().__call__(obj)


def frame_data(frame):
    from harena_interpreter.frames import frame_data as convert

    return convert(frame)


def figure_chart(figure):
    from harena_interpreter.charts import figure_chart as convert

    try:
        return convert(figure)
    except Exception:  # an artist that we don't understand mustn't cost the caller the picture
        return {"type": "unknown", "title": "", "elements": []}


class Shell(ZMQInteractiveShell):
    def init_display_formatter(self):
        super().init_display_formatter()
        data, chart = DataFormatter(parent=self.display_formatter), ChartFormatter(parent=self.display_formatter)
        data.for_type_by_name("pandas.core.frame", "DataFrame", frame_data)
        self.display_formatter.formatters[data.format_type] = data
        self.display_formatter.formatters[chart.format_type] = chart


class Kernel(IPythonKernel):
    shell_class = Type(Shell)


def left_out(content, size):
    """The same message without what makes it too large."""
    note = f"<{size >> 20} MiB were left out here: one message may have {MAX_MESSAGE_BYTES >> 20} MiB>"
    if "data" in content:
        return {**content, "data": {"text/plain": note}, "metadata": {}}
    if "text" in content:
        return {**content, "text": note + "\n"}
    return content


def without_surrogates(value):
    """Half of a surrogate pair is a text for Python, and none for anybody who reads UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_surrogates(one) for one in value]
    return value


def bound(session):
    """Makes ``session`` leave out what is too large, before the service has to hold it, and send what is no text as escapes."""
    serialize = session.serialize

    def bounded(message, ident=None):
        try:
            parts = serialize(message, ident)
        except UnicodeEncodeError:
            message = without_surrogates(message)
            parts = serialize(message, ident)
        size = sum(map(len, parts))
        if size <= MAX_MESSAGE_BYTES or not isinstance(message.get("content"), dict):
            return parts
        return serialize({**message, "content": left_out(message["content"], size)}, ident)

    session.serialize = bounded


class KernelApp(IPKernelApp):
    kernel_class = Type(Kernel)

    def init_iopub(self, context):
        bound(self.session)
        # The kernel waits for a service that is behind; otherwise ZeroMQ would drop what doesn't fit.
        context.sndhwm, context.xpub_nodrop = MESSAGES_AHEAD, 1
        try:
            super().init_iopub(context)
        finally:
            del context.sndhwm, context.xpub_nodrop


def main():
    app = KernelApp.instance()
    app.outstream_class = "harena_interpreter.python_kernel.OrderedStream"
    app.initialize()
    app.start()


if __name__ == "__main__":
    # The classes above must be the ones that are imported by name.
    from harena_interpreter.python_kernel import main as imported_main

    imported_main()
