/* The one symbol that a plugin exports, and what it returns. */
#ifndef HARENA_ABI_PLUGIN_H
#define HARENA_ABI_PLUGIN_H

#include "sdk/abi/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct harena_plugin_descriptor {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  harena_str id;       /* reverse DNS: "dev.harena.container" */
  harena_str version;  /* semantic version of the plugin: "0.1.0" */
  harena_str licence;  /* SPDX: "Apache-2.0" */
  /* Contract ids with their majors: "harena.backend/1". */
  const harena_str* contracts;
  uint64_t contract_count;
  /* JSON Schema (2020-12) of the configuration, with additionalProperties false at the top:
   * the host refuses unknown keys before it calls create. */
  harena_str config_schema;
  /* [control] Makes an instance. `config` is a JSON object that is valid against config_schema ({} when the
   * operator gave none). `host` outlives the instance. No threads or descriptors may exist before this call. */
  harena_status (*create)(const harena_call* call, const harena_host* host, harena_str config, void** out_instance);
  /* [control] Ends an instance: its threads are joined, its descriptors closed; its sandboxes live on. Takes null. */
  void (*destroy)(void* instance);
  /* [any][no-block] The contract's struct of functions, valid until destroy; null when the plugin has not got it. */
  const void* (*get_contract)(void* instance, harena_str contract_id);
} harena_plugin_descriptor;

/* Does no work: returns the address of a constant. */
typedef const harena_plugin_descriptor* (*harena_plugin_entry_fn)(void);
#define HARENA_PLUGIN_ENTRY_SYMBOL "harena_plugin_entry"

#ifdef __cplusplus
}
#endif
#endif
