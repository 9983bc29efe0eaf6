"""The routes, as an ASGI application."""

import asyncio

from . import environment
from .errors import KernelFailed, Refused
from .asgi import answer_json, answer_text, read_object
from .limits import KEEPALIVE_S
from .output import encoded

ROUTES = ("GET /health, POST /execute, GET and POST /contexts, POST /contexts/{id}/restart, POST /contexts/{id}/interrupt, "
          "DELETE /contexts/{id}, POST /environment")


class App:
    def __init__(self, contexts, keepalive_s=KEEPALIVE_S):
        self.contexts = contexts
        self.keepalive_s = keepalive_s

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        try:
            await self._route(scope["method"], scope["path"].strip("/").split("/"), receive, send)
        except Refused as refused:
            await answer_text(send, refused.status, refused.message)
        except KernelFailed as problem:
            await answer_text(send, 500, str(problem))
        except ConnectionResetError:
            pass

    async def _route(self, method, path, receive, send):
        handler, arguments = self._find(path)
        if handler is None:
            raise Refused(404, f"there is no /{'/'.join(path)} here; there are {ROUTES}")
        if method not in handler:
            raise Refused(405, f"/{'/'.join(path)} takes {' and '.join(handler)}, not {method}")
        await handler[method](receive, send, *arguments)

    def _find(self, path):
        fixed = {
            ("health",): {"GET": self.health},
            ("execute",): {"POST": self.execute},
            ("contexts",): {"GET": self.list_contexts, "POST": self.create_context},
            ("environment",): {"POST": self.set_environment},
        }
        if tuple(path) in fixed:
            return fixed[tuple(path)], ()
        if len(path) == 2 and path[0] == "contexts":
            return {"DELETE": self.remove_context}, (path[1],)
        if len(path) == 3 and path[0] == "contexts" and path[2] == "restart":
            return {"POST": self.restart_context}, (path[1],)
        if len(path) == 3 and path[0] == "contexts" and path[2] == "interrupt":
            return {"POST": self.interrupt_context}, (path[1],)
        return None, ()

    async def health(self, receive, send):
        if not self.contexts.ready:
            raise Refused(503, "the kernel is starting")
        await answer_json(send, "OK")

    async def list_contexts(self, receive, send):
        await answer_json(send, [one.describe() for one in self.contexts.list()])

    async def create_context(self, receive, send):
        body = await read_object(receive, {"language": str, "cwd": str})
        made = await self.contexts.create(body.get("language"), body.get("cwd"))
        await answer_json(send, made.describe())

    async def restart_context(self, receive, send, context_id):
        await self.contexts.find(context_id).restart()
        await answer_json(send, None)

    async def interrupt_context(self, receive, send, context_id):
        await answer_json(send, {"interrupted": await self.contexts.find(context_id).interrupt()})

    async def remove_context(self, receive, send, context_id):
        await self.contexts.remove(context_id)
        await answer_json(send, None)

    async def set_environment(self, receive, send):
        body = await read_object(receive, {"env_vars": dict})
        await self.contexts.set_variables(environment.checked(body.get("env_vars")))
        await answer_json(send, None)

    async def execute(self, receive, send):
        body = await read_object(receive, {"code": str, "context_id": str, "language": str, "env_vars": dict})
        if "code" not in body:
            raise Refused(400, "code is missing; the text to run is right")
        if body.get("context_id") and body.get("language"):
            raise Refused(400, "Only one of context_id or language can be provided")
        variables = environment.checked(body.get("env_vars"))
        if body.get("context_id"):
            context = self.contexts.find(body["context_id"])
        else:
            context = self.contexts.default(body.get("language"))
        await self._stream(context, context.submit(body["code"], variables), receive, send)

    async def _stream(self, context, execution, receive, send):
        """The events of an execution until its end. A client that goes away takes its execution along."""
        writing = asyncio.ensure_future(self._write(execution.output, send))
        leaving = asyncio.ensure_future(self._until_gone(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not writing.done() or writing.exception():
                await context.abandon(execution)
        finally:
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, output, send):
        await send({"type": "http.response.start", "status": 200, "headers": [
            (b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]})
        while (lines := await output.take(self.keepalive_s)) is not None:
            await send({"type": "http.response.body", "body": lines or encoded({"type": "keepalive"}), "more_body": True})
            output.sent(len(lines))
        await send({"type": "http.response.body", "body": b""})

    @staticmethod
    async def _until_gone(receive):
        while (await receive())["type"] != "http.disconnect":
            pass
