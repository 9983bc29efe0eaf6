/* harena.frontend/1: another protocol in front of the core's API. A frontend listens by itself and asks the core through
 * harena.host.api/1, with the credential of whoever called it: so it can do nothing that its caller couldn't do over the
 * network, and authentication, permissions, quotas and audit are the core's.
 *
 * A frontend keeps no state that must outlive it: what belongs to a sandbox is in that sandbox's labels, what is secret is
 * derived. So any number of replicas answer alike, and a restart loses nothing.
 */
#ifndef HARENA_ABI_FRONTEND_H
#define HARENA_ABI_FRONTEND_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_FRONTEND_CONTRACT "harena.frontend/1"

typedef struct harena_frontend {
  uint32_t struct_size;
  uint32_t flags; /* zero */

  /* [control] Listens. The API may be asked from now on. Threads, sockets and everything else that the frontend needs to
   * serve are made here, none before. Result: {"listen": ["http://127.0.0.1:7400"]}, the addresses as they came out.
   * unavailable when an address is taken (and it names it): nothing is left then, and start may be called again.
   * failed_precondition when it has been started already. */
  harena_status (*start)(void* self, const harena_call* call);

  /* [control] Ends it: what has begun may end until the deadline of the call (none: at once), new requests are refused in
   * the words of the protocol; then everything that is still open is closed, and every thread and socket made by start is
   * gone. Always succeeds; idempotent, also before start; start may be called again after it. The API answers until
   * drain has returned. */
  harena_status (*drain)(void* self, const harena_call* call);

  /* [any] Optional. What it counts, read at each scrape of the host's metrics. It only reads memory. Result:
   * {"metrics": [{"name": "harena_e2b_requests_total", "help": "...", "type": "counter" | "gauge",
   *               "series": [{"labels": {"route": "create"}, "value": 12}]}]}
   * Names begin with "harena_" and the plugin's name ([^a-z0-9_] becomes _) and "_"; others are dropped. */
  harena_status (*metrics)(void* self, const harena_call* call);
} harena_frontend;

#define HARENA_HOST_API_SERVICE "harena.host.api/1"

/* The core's API, in process: harena_host.get_service(HARENA_HOST_API_SERVICE). Valid from create to destroy. */
typedef struct harena_host_api {
  uint32_t struct_size;
  uint32_t flags; /* zero */
  void* context;

  /* [any][no-block] A new connection to the API: `*out_take_stream` becomes a connected stream socket (AF_UNIX, CLOEXEC,
   * non-blocking) that is the caller's to close. On it HTTP/1.1 is spoken exactly as on the API's TCP port, without TLS: any
   * number of requests one after the other, bodies and answers streamed (the socket is the back-pressure), 101 for
   * WebSocket, terminals and TCP to ports. Closing it cancels what was asked on it. Each request carries its own
   * credential (Authorization: Bearer TOKEN): the connection has none.
   * `call` may have a deadline and the like, and must have a sink. unavailable before the API is up and after it has gone.
   */
  harena_status (*connect)(void* context, const harena_call* call, int* out_take_stream);

  /* [any][no-block] A credential for traffic that brings none of the core's own: a public port, a signed URL. With it one
   * sandbox can be read and used, and nothing else: only one that was created with the label `frontend` = the plugin's id,
   * and only as far as the token that created it still can (a revoked token closes its sandboxes' ports). An empty
   * sandbox_id: sandboxes with that label can be listed, and nothing else. Valid in this process alone: never let it out.
   * Result: {"token": "..."} */
  harena_status (*act_for)(void* context, const harena_call* call, harena_str sandbox_id);

  /* [any][no-block] A secret of this installation, of this plugin and of `purpose`: the same after a restart and in every
   * replica, so that tokens can be derived instead of stored. Result: {"secret": 64 hexadecimal digits} */
  harena_status (*secret)(void* context, const harena_call* call, harena_str purpose);
} harena_host_api;

#ifdef __cplusplus
}
#endif
#endif
