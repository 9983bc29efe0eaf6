/* harena.state-store/1: a small ordered key-value store with compare-and-set transactions, as etcd's model has it
 * (revisions, ranges, watches), so that SQLite on one machine and etcd on many are the same to the core.
 * Keys: 1 to 1,024 bytes, any bytes. Values: at most 1 MiB, any bytes. Revisions: one counter for the store, 0 when
 * it is new, growing by one with each transaction that changes something; an absent key has revision 0.
 * A limit that is broken is invalid_argument, and the error names the key and the limit.
 */
#ifndef HARENA_ABI_STATE_STORE_H
#define HARENA_ABI_STATE_STORE_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_STATE_STORE_CONTRACT "harena.state-store/1"

#define HARENA_STATE_MAX_KEY_BYTES 1024u
#define HARENA_STATE_MAX_VALUE_BYTES (1024u * 1024u)
/* A transaction: etcd's default limits are 128 operations and 1.5 MiB a request. */
#define HARENA_STATE_MAX_TXN_OPS 128u
#define HARENA_STATE_MAX_TXN_BYTES (1280u * 1024u)
#define HARENA_STATE_MAX_RANGE 10000

enum {
  HARENA_STATE_CHECK = 0,  /* the key's revision is `revision` (0: absent), else the transaction fails */
  HARENA_STATE_PUT = 1,    /* sets the key to `value` */
  HARENA_STATE_DELETE = 2  /* removes the key; fine when absent */
};

/* A bit of harena_call.flags, for txn. The transaction must outlive every end of the host process, but not a power cut of its machine:
 * what it records has none of its own either. A store may answer before it is on the disk and has a second to bring it there; it
 * never keeps a later transaction and loses an earlier one. A store that ignores the bit is right, too. */
#define HARENA_STATE_RELAXED 1u

typedef struct harena_state_op {
  uint32_t struct_size;
  uint32_t kind;
  harena_str key;
  harena_str value;
  int64_t revision;
} harena_state_op;

typedef struct harena_state_store {
  uint32_t struct_size;
  uint32_t flags; /* zero */

  /* [any] One item (key, value, the revision that last changed it), or none: absence is not an error.
   * Result: {"revision": 12}, the store's revision that was read. An empty value has a non-null ptr. */
  harena_status (*get)(void* self, const harena_call* call, harena_str key);

  /* [any] Items with start <= key < end in the order of bytes, at most `limit` (1 to 10,000). An empty `end`: no
   * upper bound. All items are of one revision of the store. Result: {"revision": 12}: that one, so that
   * watch(prefix, 12) sees every later change and nothing twice. */
  harena_status (*range)(void* self, const harena_call* call, harena_str start, harena_str end, int64_t limit);

  /* [any] All or nothing, durable when it returns (but see HARENA_STATE_RELAXED). Checks see the store as it was before the transaction; a failed
   * check: aborted, and the error names the key. A key may be put or deleted once: invalid_argument.
   * Result: {"revision": 12}: the transaction's own, or the store's when nothing changed. `ops` points to
   * op_count (1 to 128) pointers. After an error other than those of data_loss, unknown and internal nothing
   * has changed. */
  harena_status (*txn)(void* self, const harena_call* call, const harena_state_op* const* ops, uint64_t op_count);

  /* [any] Items for every change after `after_revision` to keys that begin with `prefix`, in order; a deletion has
   * an item whose value.ptr is null. Blocks until cancelled (noticed within 250 ms), past the deadline, or the sink
   * says stop: cancelled or deadline_exceeded. out_of_range when `after_revision` is older than what the store
   * remembers or newer than it is: read the range again and watch from there. */
  harena_status (*watch)(void* self, const harena_call* call, harena_str prefix, int64_t after_revision);
} harena_state_store;

#ifdef __cplusplus
}
#endif
#endif
