/* A plugin in C with all three contracts, linked in, which does what its script says: what the adapters make of
 * good and bad answers can be tested without any wrapper. One instance at a time. */
#ifndef HARENA_CORE_PLUGINHOST_TESTING_TINY_PLUGIN_H
#define HARENA_CORE_PLUGINHOST_TESTING_TINY_PLUGIN_H

#include "sdk/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tiny_item {
  const char* key;
  const char* value; /* null: a deletion */
  int64_t revision;
} tiny_item;

typedef struct tiny_script {
  const char* description; /* the result of describe */
  const char* result;      /* of every other function; null: none */
  tiny_item items[8];
  int item_count;
  int results;             /* how often the result is given */
  const char* progress;    /* null: none */
  harena_error error;      /* code 0: success */
  harena_status status;    /* what is returned when it isn't error.code */
  int lie;                 /* 1: return `status` */
  /* What was seen. */
  int instances;
  int calls;
  int64_t deadline_ns;
  uint32_t flags;
  int cancelled;
  char input[4096];
  char principal[64];
  const harena_host* host;
} tiny_script;

extern tiny_script tiny;
const harena_plugin_descriptor* tiny_plugin_entry(void);
/* The same with another ABI. */
const harena_plugin_descriptor* tiny_plugin_other_abi(void);
/* A backend without `stop`. */
const harena_plugin_descriptor* tiny_plugin_without_stop(void);

#ifdef __cplusplus
}
#endif
#endif
