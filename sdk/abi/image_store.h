/* harena.image-store/1: content-addressed blobs (layers and manifests), and tags that name manifests.
 * The store knows nothing of what is inside a blob. Digests are "sha256:" and 64 lower-case hexadecimal digits.
 * References are opaque to the store: UTF-8, at most 512 bytes, no control characters.
 */
#ifndef HARENA_ABI_IMAGE_STORE_H
#define HARENA_ABI_IMAGE_STORE_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_IMAGE_STORE_CONTRACT "harena.image-store/1"

typedef struct harena_image_store {
  uint32_t struct_size;
  uint32_t flags; /* zero */

  /* [any] Stores all bytes of borrow_fd (a regular file from its start, or a pipe to its end) under their digest.
   * When `expected_digest` isn't empty and the bytes have another: data_loss, nothing is stored. Durable when it
   * returns; atomic; idempotent (a blob that is there already is not written again).
   * Result: {"digest": "sha256:...", "size": 1}. Errors: resource_exhausted (disk full), invalid_argument. */
  harena_status (*put)(void* self, const harena_call* call, harena_str expected_digest, int borrow_fd);

  /* [any] Result: {"path": "/absolute/path", "size": 1}: a read-only regular file that can be mounted, and stays
   * until delete. It may be filled lazily by the store. not_found names the digest. */
  harena_status (*open)(void* self, const harena_call* call, harena_str digest);

  /* [any] Items: key = reference, value = digest, ordered by bytes, those after `cursor` that begin with `prefix`;
   * at most `limit` (1 to 10,000). */
  harena_status (*list)(void* self, const harena_call* call, harena_str prefix, harena_str cursor, int64_t limit);

  /* [any] Result: {"digest": "..."}; not_found for an unknown reference. */
  harena_status (*resolve)(void* self, const harena_call* call, harena_str reference);

  /* [any] Makes `reference` name `digest` (which must be stored: not_found), replacing what it named. Atomic. */
  harena_status (*tag)(void* self, const harena_call* call, harena_str reference, harena_str digest);

  /* [any] Removes a reference, or a blob by digest. A blob that a tag names is failed_precondition (the error names
   * one); references from manifests to layers are the core's to check. Idempotent: HARENA_OK when absent. */
  harena_status (*remove)(void* self, const harena_call* call, harena_str reference_or_digest);

  /* [any] Items: key = digest, value = "" , revision = size, for every stored blob after `cursor`; for sweeps. */
  harena_status (*list_blobs)(void* self, const harena_call* call, harena_str cursor, int64_t limit);

  /* [any] Reads one blob, or all when `digest` is empty, and compares with the digests. Result: {"checked": 1,
   * "damaged": ["sha256:..."]}; damage is a result, not a failure. */
  harena_status (*check)(void* self, const harena_call* call, harena_str digest);
} harena_image_store;

#ifdef __cplusplus
}
#endif
#endif
