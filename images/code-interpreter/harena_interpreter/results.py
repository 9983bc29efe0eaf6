"""From Jupyter's bundles (MIME type -> data) to the results of the protocol."""

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}
BINARY = ("png", "jpeg", "pdf")


def as_text(value):
    """Kernels may send a text as a list of lines."""
    return "".join(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else value


def unquoted(text):
    """A string's representation without its quotation marks, as clients of the protocol expect it."""
    if isinstance(text, str) and len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def result_event(bundle, is_main_result):
    """``bundle``: MIME type -> data. Types that have no field of their own go to ``extra``; absent ones aren't mentioned."""
    event = {"type": "result", "is_main_result": is_main_result}
    extra = {}
    for mime, value in bundle.items():
        field = FIELDS.get(mime)
        if field is None:
            extra[mime] = value
        elif field == "text":
            event["text"] = unquoted(as_text(value))
        elif field in BINARY:
            event[field] = "".join(as_text(value).split())
        elif field in ("json", "data", "chart"):
            event[field] = value
        else:
            event[field] = as_text(value)
    if extra:
        event["extra"] = extra
    return event


def error_event(name, value, traceback=()):
    lines = [traceback] if isinstance(traceback, str) else traceback
    return {"type": "error", "name": str(name), "value": str(value), "traceback": "\n".join(lines)}


def event_of(message):
    """The event that a message of a kernel's iopub channel is, or None."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "execute_input":
        return {"type": "number_of_executions", "execution_count": content.get("execution_count") or 0}
    if kind == "stream":
        name = "stderr" if content.get("name") == "stderr" else "stdout"
        return {"type": name, "text": content.get("text", ""), "timestamp": date_of(message)}
    if kind in ("display_data", "execute_result"):
        return result_event(content.get("data", {}), kind == "execute_result")
    if kind == "error":
        return error_event(content.get("ename") or "Error", content.get("evalue", ""), content.get("traceback", ()))
    return None


def date_of(message):
    date = message["header"].get("date")
    return date.isoformat() if hasattr(date, "isoformat") else date or ""
