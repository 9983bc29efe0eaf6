"""Which handler answers what."""

from __future__ import annotations

from .archives import Archives
from .attaching import Attaching
from .command_routes import CommandRoutes
from .files import Files
from .installation import Installation
from .ports import Ports
from .sandboxes import Sandboxes


class Handler(Sandboxes, CommandRoutes, Attaching, Files, Archives, Ports, Installation):
    pass


S = r"/sandboxes/([^/]+)"
C = S + r"/commands/([^/]+)"
Handler.ROUTES = [
    ("GET", r"/backends", Handler.backends),
    ("POST", r"/backends/([^/]+)/sandboxes", Handler.create),
    ("POST", r"/backends/([^/]+)/sandboxes:batch", Handler.batch),
    ("GET", r"/sandboxes", Handler.list),
    ("GET", S, Handler.get), ("PATCH", S, Handler.patch), ("DELETE", S, Handler.stop),
    ("POST", S + "/pause", Handler.pause), ("POST", S + "/resume", Handler.resume), ("POST", S + "/stop", Handler.stop),
    ("POST", S + "/fork", Handler.fork), ("GET", S + "/usage", Handler.usage),
    ("POST", S + "/commands", Handler.start), ("GET", S + "/commands", Handler.commands),
    ("GET", C, Handler.command_info), ("DELETE", C, Handler.forget), ("GET", C + "/output", Handler.output),
    ("POST", C + "/stdin", Handler.stdin), ("POST", C + "/signal", Handler.signal), ("POST", C + "/resize", Handler.resize),
    ("GET", C + "/attach", Handler.attach),
    ("GET", S + "/files", Handler.file_read), ("PUT", S + "/files", Handler.file_write),
    ("DELETE", S + "/files", Handler.file_delete), ("GET", S + "/files/stat", Handler.file_stat),
    ("GET", S + "/files/list", Handler.file_list), ("POST", S + "/files/([a-z]+)", Handler.file_verb),
    ("GET", S + "/files/archive", Handler.archive_read), ("PUT", S + "/files/archive", Handler.archive_write),
    ("*", S + "/files/xattrs", Handler.xattrs), ("GET", S + "/files/watch", Handler.watch),
    ("GET", S + r"/ports/(\d+)", Handler.port_tcp), ("*", S + r"/ports/(\d+)/(.*)", Handler.port_http),
    ("GET", "/images", Handler.images), ("POST", "/images/import", Handler.image_import),
    ("POST", "/images/tag", Handler.image_tag), ("GET", "/images/([^/]+)", Handler.image_get),
    ("DELETE", "/images/([^/]+)", Handler.image_delete),
    ("*", "/projects", Handler.projects), ("DELETE", "/projects/([^/]+)", Handler.project_delete),
    ("*", "/tokens", Handler.token_routes), ("DELETE", "/tokens/([^/]+)", Handler.token_delete),
    ("GET", "/([a-z.]+)", Handler.installation),
]
