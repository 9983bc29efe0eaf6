/* harena.backend.container/1: what backends of containers have beside harena.backend/1, which a plugin with this contract implements too.
 */
#ifndef HARENA_ABI_BACKEND_CONTAINER_H
#define HARENA_ABI_BACKEND_CONTAINER_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_BACKEND_CONTAINER_CONTRACT "harena.backend.container/1"

typedef struct harena_backend_container {
  uint32_t struct_size;
  uint32_t flags; /* zero */

  /* ---- required ---- */

  /* [task] Other limits for a sandbox that runs or is paused; it stays what it is. `request`:
   *   {"before": {create's "params" as they are}, "params": {those that are to hold: whole, valid against params_schema},
   *    "details": {what create's "details" were}}
   * All or nothing: on failure what "before" says holds again. Idempotent, also after a host that died in the middle: a repetition
   * with the same request, or with both exchanged, leaves what its "params" say.
   * Result: {"state": "opaque text", "details": {...}}: both from now on; without "state" it is as before.
   * Errors: not_found; invalid_argument names the parameter that is wrong or can't change while the sandbox lives;
   * failed_precondition when this host can't, or (cause limit) when more is in use than would be left: names the use. */
  harena_status (*resize)(void* self, const harena_call* call, harena_str sandbox_id, harena_str request);
} harena_backend_container;

#ifdef __cplusplus
}
#endif
#endif
