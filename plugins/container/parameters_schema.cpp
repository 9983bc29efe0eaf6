#include "plugins/container/parameters.hpp"

namespace harena::container {
namespace {

// Two spellings of sizes: bytes, or a text with a unit. Numbers here are those of the constants in parameters.hpp.
constexpr const char* kSchema = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "cpu": {"type": "number", "minimum": 0.01, "maximum": 1024, "default": 1,
            "description": "cores, also parts of one; a quota over periods of 100 ms"},
    "cpu_weight": {"type": "integer", "minimum": 1, "maximum": 10000,
                   "description": "share among sandboxes that compete for the CPU, as in cgroup v2's cpu.weight; 100 for each core of 'cpu' if not given"},
    "cpuset": {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$",
               "description": "CPUs that it may run on, such as 0-1,3; nproc inside counts them"},
    "cpu_idle": {"type": "boolean", "default": false, "description": "runs only when nobody else wants the CPU"},
    "memory": {"type": ["string", "integer"],
               "description": "size such as 512MiB, or bytes; 8 MiB to 16 TiB, without it 1 GiB"},
    "memory_bytes": {"type": "integer", "minimum": 8388608, "maximum": 17592186044416, "description": "the same in bytes"},
    "memory_high": {"type": ["string", "integer"],
                    "description": "above it the sandbox is slowed and its caches are taken back; on cgroup v1 a soft limit, for a host that is short of memory"},
    "swap": {"type": ["string", "integer"], "default": 0, "description": "swap beside the memory; none by default"},
    "pids": {"type": "integer", "minimum": 4, "maximum": 4000000, "default": 1024, "description": "processes and threads"},
    "disk": {"type": ["string", "integer"],
             "description": "size of what it may write outside of memory file systems, 16 MiB to 8 TiB; without it the host's disk is the limit"},
    "disk_bytes": {"type": "integer", "minimum": 16777216, "maximum": 8796093022208, "description": "the same in bytes"},
    "inodes": {"type": "integer", "minimum": 256, "maximum": 2147483648,
               "description": "files and folders on the disk; needs disk; by default one for 16 KiB of it"},
    "io_weight": {"type": "integer", "minimum": 1, "maximum": 10000,
                  "description": "share of the host's disk among sandboxes that compete for it; needs the scheduler bfq or io.cost there"},
    "io_read_bps": {"type": ["string", "integer"], "description": "bytes a second read from the host's disk"},
    "io_write_bps": {"type": ["string", "integer"],
                     "description": "bytes a second written to the host's disk; on cgroup v1 only of direct writes"},
    "io_read_iops": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "reads a second"},
    "io_write_iops": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "writes a second, as io_write_bps"},
    "open_files": {"type": "integer", "minimum": 16, "maximum": 1048576,
                   "description": "open files of one process; by default 65536, or what harenad itself has if that is less"},
    "core_size": {"type": ["string", "integer"], "default": 0, "description": "size of a core file; none by default"},
    "file_size": {"type": ["string", "integer"], "description": "size of one file that a command writes; no limit by default"},
    "shm": {"type": ["string", "integer"], "default": "64MiB", "description": "size of /dev/shm, charged to memory"},
    "tmpfs": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}, "default": {},
              "description": "path to size of memory file systems, e.g. {\"/tmp\": \"256MiB\"}; charged to memory"},
    "hostname": {"type": "string", "pattern": "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$", "description": "default: the sandbox's id"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "environment of every command"},
    "network": {"type": "object", "properties": {"mode": {"type": "string"}}, "default": {"mode": "none"},
                "description": "only {\"mode\": \"none\"} (loopback) so far; everything else is refused"},
    "user": {"type": "string", "default": "", "description": "user of commands that name none; empty: the image's, else root"},
    "readonly_rootfs": {"type": "boolean", "default": false},
    "mounts": {"type": "array", "maxItems": 32, "default": [],
               "items": {"type": "object", "required": ["source", "target"], "additionalProperties": false,
                         "properties": {"source": {"type": "string"}, "target": {"type": "string"}, "writable": {"type": "boolean", "default": false}}},
               "description": "folders of the host, read-only unless writable is asked for and allowed; below the operator's host_mount_roots, and only with his allowance host_mounts"},
    "capabilities": {"type": "array", "items": {"type": "string"}, "default": [],
                     "description": "capabilities beyond the default set, such as net_raw; each needs the operator's allowance capability:NAME"},
    "privileged": {"type": "boolean", "default": false, "description": "not supported: refused"},
    "devices": {"type": "array", "items": {"type": "string"}, "default": [], "description": "not supported: refused"},
    "nested_user_namespaces": {"type": "boolean", "default": false, "description": "not supported: refused"},
    "docker": {"type": "boolean", "default": false, "description": "not supported: refused"}
  }
})";

}  // namespace

const json& parameters_schema() {
  static const json kParsed = json::parse(kSchema);
  return kParsed;
}

}  // namespace harena::container
