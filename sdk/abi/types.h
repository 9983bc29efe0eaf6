/* Types that every contract of the plugin ABI shares. C11, no allocation, no ownership across the boundary.
 *
 * Rules (docs/plugin-abi.md has them with reasons):
 *  - inputs are borrowed for the duration of the call; copy what you keep;
 *  - results are written into the sink of the call, by calling it: nothing is freed across the boundary;
 *  - every struct begins with struct_size, filled by its author with sizeof; a reader never looks beyond it;
 *  - on failure out-parameters are untouched and exactly one sink->error has been made;
 *  - marks: [control] one call at a time for a plugin instance; [task] one at a time for a sandbox id;
 *    [any] from any thread at any time; [no-block] returns without waiting for I/O;
 *  - `self` of a contract's functions is the instance that the plugin's create made;
 *  - until ABI 1.0 the host and the plugin must have the same major and minor.
 */
#ifndef HARENA_ABI_TYPES_H
#define HARENA_ABI_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HARENA_ABI_MAJOR 0
#define HARENA_ABI_MINOR 1

/* Bytes, not terminated by zero; UTF-8 where a text is meant. {0, 0} is empty. */
typedef struct harena_str {
  const char* ptr;
  uint64_t len;
} harena_str;

/* Status of a call: 0, or one of the 16 canonical error codes with the numbers of google.rpc.Code. */
typedef int32_t harena_status;
enum {
  HARENA_OK = 0,
  HARENA_CANCELLED = 1,
  HARENA_UNKNOWN = 2,
  HARENA_INVALID_ARGUMENT = 3,
  HARENA_DEADLINE_EXCEEDED = 4,
  HARENA_NOT_FOUND = 5,
  HARENA_ALREADY_EXISTS = 6,
  HARENA_PERMISSION_DENIED = 7,
  HARENA_RESOURCE_EXHAUSTED = 8,
  HARENA_FAILED_PRECONDITION = 9,
  HARENA_ABORTED = 10,
  HARENA_OUT_OF_RANGE = 11,
  HARENA_UNIMPLEMENTED = 12,
  HARENA_INTERNAL = 13,
  HARENA_UNAVAILABLE = 14,
  HARENA_DATA_LOSS = 15,
  HARENA_UNAUTHENTICATED = 16
};

/* Whose fault a failure is. */
enum { HARENA_CAUSE_NONE = 0, HARENA_CAUSE_AGENT = 1, HARENA_CAUSE_LIMIT = 2, HARENA_CAUSE_INFRASTRUCTURE = 3 };
/* Where repeating the call may help. */
enum { HARENA_RETRY_NEVER = 0, HARENA_RETRY_SAME_NODE = 1, HARENA_RETRY_OTHER_NODE = 2 };

/* What went wrong: message names the value that was wrong and what would be right;
 * cause_detail says which limit (`memory`) or which part of the infrastructure (`image-store`). */
typedef struct harena_error {
  uint32_t struct_size;
  harena_status code;
  harena_str message;
  int32_t cause;
  int32_t retry;
  harena_str cause_detail;
} harena_error;

/* Where a call puts its outcome. The callbacks copy what they are given before they return; they are called
 * only during the call, from the thread of the call. */
typedef struct harena_sink {
  uint32_t struct_size;
  void* context;
  /* The result document of a successful call; at most once. JSON (UTF-8) unless the function says otherwise. */
  void (*result)(void* context, harena_str bytes);
  /* One element of a sequence (range, list, watch). Returns 0 to go on, else the plugin ends the sequence
   * and returns HARENA_CANCELLED. */
  int32_t (*item)(void* context, harena_str key, harena_str value, int64_t revision);
  /* Exactly once before a call returns something else than HARENA_OK. */
  void (*error)(void* context, const harena_error* error);
  /* Any number of times; a JSON document such as {"stage":"unpack","done_bytes":1,"total_bytes":2}. */
  void (*progress)(void* context, harena_str json);
} harena_sink;

enum { HARENA_LOG_DEBUG = 0, HARENA_LOG_INFO = 1, HARENA_LOG_WARNING = 2, HARENA_LOG_ERROR = 3 };

/* What the host offers to a plugin, from its creation to its destruction. All functions [any]. */
typedef struct harena_host {
  uint32_t struct_size;
  void* context;
  /* [any][no-block] */
  void (*log)(void* context, int32_t level, harena_str message);
  /* [any][no-block] Something happened that no call asked for, as a JSON document with a "type":
   * {"type":"sandbox_exited","sandbox_id":"...","cause":"agent|limit|infrastructure|none","detail":"..."};
   * {"type":"probe_changed"}: the host asks probe again. Types that a host doesn't know are ignored. */
  void (*event)(void* context, harena_str json);
  /* [any][no-block] Further services by id and major (`harena.host.api/1`); null when not offered. */
  const void* (*get_service)(void* context, harena_str service_id);
} harena_host;

/* The record that every call gets. */
typedef struct harena_call {
  uint32_t struct_size;
  /* Bits that the contract of the function names (HARENA_STATE_RELAXED); a function ignores those that it doesn't know. */
  uint32_t flags;
  /* CLOCK_MONOTONIC in nanoseconds; 0 means none. Past it: HARENA_DEADLINE_EXCEEDED, nothing half-made stays. */
  int64_t deadline_ns;
  /* [any][no-block] Not 0 once the caller wants the call to end: HARENA_CANCELLED, nothing half-made stays.
   * May be null: never cancelled. */
  int32_t (*cancelled)(void* cancel_context);
  void* cancel_context;
  harena_str trace_id;
  /* Who asked, set by the core; a plugin can't be told another by its caller. Empty for the core's own work. */
  harena_str principal;
  const harena_sink* sink;
} harena_call;

#ifdef __cplusplus
}
#endif
#endif
