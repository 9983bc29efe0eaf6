#pragma once
// The offset and size of every slot of the ABI, frozen at compile time by layout_test. The same list as
// layout.lock, which a reviewer sees change: HARENA_ABI_LAYOUT(X, X_SIZE) calls X(struct, member, offset, size) and
// X_SIZE(struct, size).

#define HARENA_ABI_LAYOUT(X, X_SIZE) \
  X(harena_str, ptr, 0, 8) \
  X(harena_str, len, 8, 8) \
  X_SIZE(harena_str, 16) \
  X(harena_error, struct_size, 0, 4) \
  X(harena_error, code, 4, 4) \
  X(harena_error, message, 8, 16) \
  X(harena_error, cause, 24, 4) \
  X(harena_error, retry, 28, 4) \
  X(harena_error, cause_detail, 32, 16) \
  X_SIZE(harena_error, 48) \
  X(harena_sink, struct_size, 0, 4) \
  X(harena_sink, context, 8, 8) \
  X(harena_sink, result, 16, 8) \
  X(harena_sink, item, 24, 8) \
  X(harena_sink, error, 32, 8) \
  X(harena_sink, progress, 40, 8) \
  X_SIZE(harena_sink, 48) \
  X(harena_host, struct_size, 0, 4) \
  X(harena_host, context, 8, 8) \
  X(harena_host, log, 16, 8) \
  X(harena_host, event, 24, 8) \
  X(harena_host, get_service, 32, 8) \
  X_SIZE(harena_host, 40) \
  X(harena_call, struct_size, 0, 4) \
  X(harena_call, flags, 4, 4) \
  X(harena_call, deadline_ns, 8, 8) \
  X(harena_call, cancelled, 16, 8) \
  X(harena_call, cancel_context, 24, 8) \
  X(harena_call, trace_id, 32, 16) \
  X(harena_call, principal, 48, 16) \
  X(harena_call, sink, 64, 8) \
  X_SIZE(harena_call, 72) \
  X(harena_plugin_descriptor, struct_size, 0, 4) \
  X(harena_plugin_descriptor, abi_major, 4, 2) \
  X(harena_plugin_descriptor, abi_minor, 6, 2) \
  X(harena_plugin_descriptor, id, 8, 16) \
  X(harena_plugin_descriptor, version, 24, 16) \
  X(harena_plugin_descriptor, licence, 40, 16) \
  X(harena_plugin_descriptor, contracts, 56, 8) \
  X(harena_plugin_descriptor, contract_count, 64, 8) \
  X(harena_plugin_descriptor, config_schema, 72, 16) \
  X(harena_plugin_descriptor, create, 88, 8) \
  X(harena_plugin_descriptor, destroy, 96, 8) \
  X(harena_plugin_descriptor, get_contract, 104, 8) \
  X_SIZE(harena_plugin_descriptor, 112) \
  X(harena_backend, struct_size, 0, 4) \
  X(harena_backend, flags, 4, 4) \
  X(harena_backend, describe, 8, 8) \
  X(harena_backend, probe, 16, 8) \
  X(harena_backend, create, 24, 8) \
  X(harena_backend, recover, 32, 8) \
  X(harena_backend, stop, 40, 8) \
  X(harena_backend, sweep, 48, 8) \
  X(harena_backend, usage, 56, 8) \
  X(harena_backend, pause, 64, 8) \
  X(harena_backend, resume, 72, 8) \
  X(harena_backend, snapshot, 80, 8) \
  X(harena_backend, restore, 88, 8) \
  X(harena_backend, fork, 96, 8) \
  X(harena_backend, rollback, 104, 8) \
  X_SIZE(harena_backend, 112) \
  X(harena_image_store, struct_size, 0, 4) \
  X(harena_image_store, flags, 4, 4) \
  X(harena_image_store, put, 8, 8) \
  X(harena_image_store, open, 16, 8) \
  X(harena_image_store, list, 24, 8) \
  X(harena_image_store, resolve, 32, 8) \
  X(harena_image_store, tag, 40, 8) \
  X(harena_image_store, remove, 48, 8) \
  X(harena_image_store, list_blobs, 56, 8) \
  X(harena_image_store, check, 64, 8) \
  X_SIZE(harena_image_store, 72) \
  X(harena_state_op, struct_size, 0, 4) \
  X(harena_state_op, kind, 4, 4) \
  X(harena_state_op, key, 8, 16) \
  X(harena_state_op, value, 24, 16) \
  X(harena_state_op, revision, 40, 8) \
  X_SIZE(harena_state_op, 48) \
  X(harena_state_store, struct_size, 0, 4) \
  X(harena_state_store, flags, 4, 4) \
  X(harena_state_store, get, 8, 8) \
  X(harena_state_store, range, 16, 8) \
  X(harena_state_store, txn, 24, 8) \
  X(harena_state_store, watch, 32, 8) \
  X_SIZE(harena_state_store, 40) \
  X(harena_frontend, struct_size, 0, 4) \
  X(harena_frontend, flags, 4, 4) \
  X(harena_frontend, start, 8, 8) \
  X(harena_frontend, drain, 16, 8) \
  X(harena_frontend, metrics, 24, 8) \
  X_SIZE(harena_frontend, 32) \
  X(harena_host_api, struct_size, 0, 4) \
  X(harena_host_api, flags, 4, 4) \
  X(harena_host_api, context, 8, 8) \
  X(harena_host_api, connect, 16, 8) \
  X(harena_host_api, act_for, 24, 8) \
  X(harena_host_api, secret, 32, 8) \
  X_SIZE(harena_host_api, 40) \
  X(harena_backend_container, struct_size, 0, 4) \
  X(harena_backend_container, flags, 4, 4) \
  X(harena_backend_container, resize, 8, 8) \
  X_SIZE(harena_backend_container, 16)
