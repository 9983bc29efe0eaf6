"""The house as data: which room may use which, and which outside header is seen where.

architecture.md ("Who may include whom") in the form that check_layers.py reads. A room is a folder; the longest prefix
wins, so `sdk/session/client` is a room of its own. A new room needs a line here: that is where its place is decided.
"""

_STATE = ["sdk/base", "core/model", "core/contracts"]
_SDK = ["sdk/abi", "sdk/base", "sdk/cpp", "sdk/digest", "sdk/frontend", "sdk/http", "sdk/loader", "sdk/schema", "sdk/session",
        "sdk/session/client", "sdk/session/tunnel", "sdk/support", "sdk/vmm"]

MAY_USE = {
    "sdk/abi": [],
    "sdk/base": [],
    "sdk/json": [],
    "sdk/digest": ["sdk/base"],
    "sdk/schema": ["sdk/base"],
    "sdk/support": ["sdk/base"],
    "sdk/vmm": ["sdk/base", "sdk/support"],
    "sdk/http": ["sdk/base", "sdk/json"],  # sdk/json: in the precompiled header
    "sdk/session": ["sdk/base"],
    "sdk/session/tunnel": ["sdk/base", "sdk/session"],
    "sdk/session/client": ["sdk/base", "sdk/session", "sdk/http"],
    "sdk/cpp": ["sdk/abi", "sdk/base"],
    "sdk/frontend": ["sdk/abi", "sdk/base", "sdk/cpp", "sdk/http"],
    "sdk/loader": ["sdk/abi", "sdk/base", "sdk/schema", "sdk/digest"],
    "sdk/conformance": _SDK,
    "sdk/client": ["sdk/base", "sdk/json"],
    "sdk/template": ["sdk/abi", "sdk/base", "sdk/cpp"],
    # What stands beside or inside a sandbox links as little as possible.
    "shim": ["sdk/base", "sdk/support", "sdk/session"],
    "guest": ["sdk/base", "sdk/support", "sdk/session", "sdk/session/tunnel"],

    "core/model": ["sdk/base"],
    "core/contracts": ["sdk/base", "core/model", "sdk/http"],  # sdk/http: Task, for the coroutines of Edge
    "core/config": ["sdk/base", "sdk/schema"],
    "core/crypto": ["sdk/base", "sdk/digest"],
    "core/telemetry": ["sdk/base", "sdk/http"],
    "core/steps": ["sdk/base"],
    "core/store": _STATE + ["sdk/digest"],
    "core/iam": _STATE + ["core/store", "core/crypto"],
    "core/placement": ["sdk/base", "core/model"],
    "core/image": _STATE + ["sdk/digest"],
    "core/pluginhost": _STATE + ["sdk/abi", "sdk/loader", "sdk/schema"],
    "core/trajectory": _STATE + ["core/store"],
    "core/lifecycle": _STATE + ["core/store", "core/iam", "core/placement", "sdk/http", "sdk/schema"],
    # core/store: the trail of events, which is read as it lies there.
    "core/api": _STATE + ["core/config", "core/store", "core/iam", "core/image", "core/placement", "core/telemetry", "core/crypto",
                          "sdk/http", "sdk/schema", "sdk/digest", "sdk/session", "sdk/session/client"],
    "core/cli": ["sdk/base", "sdk/client", "sdk/json"],
    # The roles: ordered start steps. Nothing includes them but the daemon.
    "core/edge": _STATE + ["core/config", "core/crypto", "core/iam", "core/image", "core/lifecycle", "core/placement",
                           "core/pluginhost", "core/steps", "core/store", "core/telemetry", "sdk/http", "sdk/schema",
                           "sdk/support", "sdk/session/client", "sdk/session", "sdk/digest"],
    "core/watcher": _STATE + ["core/config", "core/placement", "core/steps", "core/telemetry", "sdk/http"],
    "core/apiserver": _STATE + ["core/api", "core/config", "core/iam", "core/image", "core/placement",
                                "core/pluginhost", "core/steps", "core/telemetry", "sdk/http", "sdk/session",
                                "sdk/session/client"],
    "core/daemon": _STATE + ["core/apiserver", "core/config", "core/edge", "core/iam", "core/pluginhost", "core/steps",
                             "core/telemetry", "core/watcher", "sdk/http", "sdk/support"],
    # A plugin uses the SDK and never the core or another plugin.
    "plugins/*": _SDK,
    # What crosses rooms.
    "tests/*": ["*"],
    "bench": ["*"],
}

# What tests beside the code may use beyond the room's own.
TESTS_MAY_USE = ["sdk/conformance", "sdk/http", "plugins/fake", "core/*/testing"]

# Outside libraries: prefix of the header -> rooms that may see it.
OUTSIDE = {
    "openssl/": ["core/crypto", "sdk/http", "sdk/digest"],
    "sqlite3.h": ["plugins/statestore-sqlite"],
    "boost/dll/": ["sdk/loader"],
    "boost/beast/": ["sdk/http", "bench", "plugins/microvm"],
    "boost/asio/": ["sdk/http", "sdk/session/client", "core/contracts", "core/lifecycle", "core/api", "core/edge",
                    "core/apiserver", "core/watcher", "core/telemetry", "core/daemon", "bench", "sdk/frontend", "plugins/e2b",
                    "plugins/console", "plugins/mcp", "plugins/microvm"],
    "spdlog/": ["core/telemetry", "sdk/http"],  # sdk/http: pch.hpp, the precompiled header of all
    "archive": ["core/image", "core/cli", "shim"],
    "Poco/": ["sdk/client", "core/cli"],
    "CLI/": ["core/cli", "core/daemon", "sdk/conformance", "bench"],
    "google/protobuf/": ["plugins/e2b", "tests/fuzz"],
    "zlib.h": ["plugins/e2b"],
    "bpf/": ["plugins/netpolicy-ebpf"],
    "seccomp.h": ["plugins/container"],
    "sys/apparmor.h": ["plugins/container"],
}
# Words that are calls into a library of which everybody has the header.
OUTSIDE_CALLS = {r"\bdl(m?open|v?sym)\s*\(": ["sdk/loader"]}

# These rooms do no I/O: no header through which they could (tests beside them may).
PURE = ["core/model", "core/placement", "core/iam"]
IO_HEADERS = ["fcntl.h", "unistd.h", "poll.h", "sys/", "netinet/", "arpa/", "fstream", "iostream", "cstdio", "stdio.h",
              "boost/asio/", "spawn.h", "dirent.h"]

# These see the standard library and the system alone.
BARE = ["sdk/base", "sdk/abi"]
BARE_FORBIDDEN = ["nlohmann/", "boost/", "Poco/", "openssl/", "spdlog/", "CLI/"]

# Rooms in which GoogleTest is part of what they offer.
GOOGLETEST = ["sdk/conformance"]
# A project of its own, as an author outside would have it: its includes begin in its own folder.
OWN_PROJECTS = ["sdk/template"]

MAX_LINES = 500
