/* harena.backend/1: what the core must be able to do to any sandbox, and nothing else. What only one kind of
 * backend has (console, disks, devices, live resize) belongs to that kind's own contract.
 *
 * Commands, files and ports don't cross this boundary: create returns a *session endpoint*, a Unix socket that
 * speaks harena.session/1 (docs/session-protocol.md).
 */
#ifndef HARENA_ABI_BACKEND_H
#define HARENA_ABI_BACKEND_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_BACKEND_CONTRACT "harena.backend/1"

typedef struct harena_backend {
  uint32_t struct_size;
  uint32_t flags; /* zero */

  /* ---- required ---- */

  /* [any] Result: {"name": "container", "params_schema": {JSON Schema of create's "params", additionalProperties
   * false}, "verbs": ["pause","resume",...], "kept": {"pause":"memory", "fork":"filesystem", ...},
   * "session": true, "needs_image": true}. Constant for the life of the instance. */
  harena_status (*describe)(void* self, const harena_call* call);

  /* [any] Result: {"usable": true, "why_not": ["..."], "facts": {...}}: may change with the host. An unusable
   * host is a result, not a failure. */
  harena_status (*probe)(void* self, const harena_call* call);

  /* [task] Makes a sandbox. `request`:
   *   {"sandbox_id": "...", "run_dir": "/run/harena/sandboxes/ID", "state_dir": "/var/lib/harena/sandboxes/ID",
   *    "params": {...valid against params_schema...},
   *    "layers": [{"digest":"sha256:...","path":"...","format":"erofs"}, ...lowest first],
   *    "image_config": {"env": ["K=V"], "workdir": "/", "user": "", "entrypoint": [], "cmd": []},
   *    "env": {...}, "labels": {...}}
   * run_dir (volatile) and state_dir exist, empty, mode 0700, and are the sandbox's own; the core removes them
   * after stop.
   * Result: {"state": "opaque text", "session_endpoint": "/path/of/socket", "details": {...}}. The core stores
   * `state` in the same transaction as the sandbox's state and gives it back to recover.
   * On failure, and when the host dies in the middle, stop(sandbox_id) removes whatever was made.
   * Errors: invalid_argument (names the parameter), resource_exhausted, failed_precondition (this host can't),
   * unavailable, deadline_exceeded, cancelled, already_exists (the id is in use). */
  harena_status (*create)(void* self, const harena_call* call, harena_str request);

  /* [task] After a restart of the host: finds the sandbox again. Never makes one.
   * Result: {"status": "running" | "paused" | "gone", "session_endpoint": "...", "cause": "...", "detail": "..."}.
   * `gone` is a result, not a failure. Idempotent. */
  harena_status (*recover)(void* self, const harena_call* call, harena_str sandbox_id, harena_str state);

  /* [task] Ends the sandbox and removes everything of it. grace_ms: how long its processes may take to end after
   * a polite signal, 0 for none. Idempotent; HARENA_OK for an unknown id, and for one that is half-made.
   * When it returns, no process of the sandbox lives. Groups, mounts and files may be removed a little later by a thread of the
   * plugin; a second stop of the id returns when they are, and only then the core removes run_dir and state_dir. */
  harena_status (*stop)(void* self, const harena_call* call, harena_str sandbox_id, int64_t grace_ms);

  /* [control] Removes whatever this instance finds of sandboxes that aren't in `known` (a JSON array of ids); never
   * touches what it has not made. Result: {"removed": ["..."]}. Idempotent. */
  harena_status (*sweep)(void* self, const harena_call* call, harena_str known);

  /* [any] Result: {"cpu_ns": 1, "memory_bytes": 1, "memory_peak_bytes": 1, "pids": 1, "oom_kills": 0, ...};
   * a key that the host can't measure is absent. not_found for an unknown id. */
  harena_status (*usage)(void* self, const harena_call* call, harena_str sandbox_id);

  /* ---- optional, null when absent; each pair is whole or absent ---- */

  /* [task] pause: no instruction of the sandbox runs until resume. Both idempotent; not_found for an unknown id.
   * Result of both: {"kept": "memory"} or {} . */
  harena_status (*pause)(void* self, const harena_call* call, harena_str sandbox_id);
  harena_status (*resume)(void* self, const harena_call* call, harena_str sandbox_id);

  /* [task] snapshot: `request` {"snapshot_id": "...", "dir": "..."}; result {"state": "opaque", "kept":
   * "memory"|"filesystem", ...}. Deleted by: dir removed, then stop(snapshot_id). restore: create with {"snapshot_state": "..."} beside. */
  harena_status (*snapshot)(void* self, const harena_call* call, harena_str sandbox_id, harena_str request);
  harena_status (*restore)(void* self, const harena_call* call, harena_str request);

  /* [task] fork: `request` is an array of create-like requests (ids and folders of the children);
   * result an array in the same order, each {"state":...} or {"error":{...}}. */
  harena_status (*fork)(void* self, const harena_call* call, harena_str sandbox_id, harena_str request);

  /* [task] rollback: the sandbox goes back to one of its own snapshots, keeping its id. */
  harena_status (*rollback)(void* self, const harena_call* call, harena_str sandbox_id, harena_str snapshot_state);
} harena_backend;

#ifdef __cplusplus
}
#endif
#endif
