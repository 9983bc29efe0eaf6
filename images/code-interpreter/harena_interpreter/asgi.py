"""The little of HTTP that the routes need, on ASGI."""

import json

from .errors import Refused
from .limits import MAX_BODY_BYTES


async def read_body(receive):
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client went away before its request was whole")
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise Refused(413, f"the request's body has more than {MAX_BODY_BYTES >> 20} MiB, which is what one may have")
        if not message.get("more_body"):
            return body


async def read_object(receive, fields):
    """The request's JSON object. ``fields``: name -> type of the values that are read; null is as good as absent, what isn't named is
    ignored, as clients add fields faster than servers."""
    body = await read_body(receive)
    if not body.strip():
        return {}
    try:
        document = json.loads(body)
    except ValueError as problem:
        raise Refused(400, f"the request's body isn't JSON: {problem}") from None
    if not isinstance(document, dict):
        raise Refused(400, f"the request's body is {json.dumps(document)[:100]}; a JSON object is right")
    read = {}
    for name, kind in fields.items():
        value = document.get(name)
        if value is None:
            continue
        if not isinstance(value, kind):
            word = {str: "a text", dict: "an object"}[kind]
            raise Refused(400, f"{name} is {json.dumps(value)[:100]}; {word} is right")
        read[name] = value
    return read


async def answer(send, status, body, content_type):
    await send({"type": "http.response.start", "status": status, "headers": [
        (b"content-type", content_type), (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


async def answer_json(send, value, status=200):
    await answer(send, status, json.dumps(value).encode(), b"application/json")


async def answer_text(send, status, text):
    await answer(send, status, text.encode("utf-8", "replace"), b"text/plain; charset=utf-8")
