#include "core/pluginhost/testing/tiny_plugin.h"

#include <string.h>

#include "sdk/abi/backend.h"
#include "sdk/abi/image_store.h"
#include "sdk/abi/state_store.h"

tiny_script tiny;

static harena_str text(const char* bytes) {
  harena_str result = {bytes, bytes ? strlen(bytes) : 0};
  return result;
}

static void note(char* out, size_t size, harena_str in) {
  size_t length = in.len < size - 1 ? (size_t)in.len : size - 1;
  if (in.ptr) memcpy(out, in.ptr, length);
  out[length] = 0;
}

static void see(const harena_call* call, harena_str input) {
  tiny.calls++;
  tiny.deadline_ns = call->deadline_ns;
  tiny.cancelled = call->cancelled ? call->cancelled(call->cancel_context) : 0;
  note(tiny.input, sizeof(tiny.input), input);
  note(tiny.principal, sizeof(tiny.principal), call->principal);
}

static harena_status play(const harena_call* call, harena_str input) {
  const harena_sink* sink = call->sink;
  see(call, input);
  if (tiny.progress) sink->progress(sink->context, text(tiny.progress));
  for (int i = 0; i < tiny.item_count; ++i) {
    const tiny_item* item = &tiny.items[i];
    if (sink->item(sink->context, text(item->key), text(item->value), item->revision) != 0) break;
  }
  for (int i = 0; tiny.result && i < tiny.results; ++i) sink->result(sink->context, text(tiny.result));
  if (tiny.error.code != 0) sink->error(sink->context, &tiny.error);
  return tiny.lie ? tiny.status : tiny.error.code;
}

static harena_status describe(void* self, const harena_call* call) {
  (void)self;
  if (tiny.description) call->sink->result(call->sink->context, text(tiny.description));
  return HARENA_OK;
}
static harena_status plain(void* self, const harena_call* call) {
  (void)self;
  return play(call, text(""));
}
static harena_status one(void* self, const harena_call* call, harena_str a) {
  (void)self;
  return play(call, a);
}
static harena_status two(void* self, const harena_call* call, harena_str a, harena_str b) {
  (void)self, (void)b;
  return play(call, a);
}
static harena_status with_number(void* self, const harena_call* call, harena_str a, int64_t n) {
  (void)self, (void)n;
  return play(call, a);
}
static harena_status with_fd(void* self, const harena_call* call, harena_str a, int fd) {
  (void)self, (void)fd;
  return play(call, a);
}
static harena_status two_with_number(void* self, const harena_call* call, harena_str a, harena_str b, int64_t n) {
  (void)self, (void)b, (void)n;
  return play(call, a);
}
static harena_status transaction(void* self, const harena_call* call, const harena_state_op* const* ops,
                                 uint64_t count) {
  (void)self;
  tiny.flags = call->flags;
  return play(call, count > 0 ? ops[count - 1]->key : text(""));
}

static const harena_backend backend = {
    .struct_size = sizeof(harena_backend), .describe = describe, .probe = plain, .create = one, .recover = two,
    .stop = with_number, .sweep = one, .usage = one, .pause = one, .resume = one};
static const harena_backend backend_without_stop = {
    .struct_size = sizeof(harena_backend), .describe = describe, .probe = plain, .create = one, .recover = two,
    .sweep = one, .usage = one};
static const harena_image_store image_store = {
    .struct_size = sizeof(harena_image_store), .put = with_fd, .open = one, .list = two_with_number, .resolve = one,
    .tag = two, .remove = one, .list_blobs = with_number, .check = one};
static const harena_state_store state_store = {
    .struct_size = sizeof(harena_state_store), .get = one, .range = two_with_number, .txn = transaction,
    .watch = with_number};

static harena_status create(const harena_call* call, const harena_host* host, harena_str config, void** out) {
  see(call, config);
  tiny.host = host;
  tiny.instances++;
  *out = &tiny;
  return HARENA_OK;
}
static void destroy(void* instance) {
  if (instance) tiny.instances--;
}

static int is(harena_str id, const char* name) { return id.len == strlen(name) && memcmp(id.ptr, name, id.len) == 0; }

static const void* get_contract(void* instance, harena_str id) {
  (void)instance;
  if (is(id, HARENA_BACKEND_CONTRACT)) return &backend;
  if (is(id, HARENA_IMAGE_STORE_CONTRACT)) return &image_store;
  if (is(id, HARENA_STATE_STORE_CONTRACT)) return &state_store;
  return 0;
}
static const void* get_bad_contract(void* instance, harena_str id) {
  (void)instance, (void)id;
  return &backend_without_stop;
}

#define STR(literal) {literal, sizeof(literal) - 1}
static const harena_str contracts[] = {STR(HARENA_BACKEND_CONTRACT), STR(HARENA_IMAGE_STORE_CONTRACT),
                                       STR(HARENA_STATE_STORE_CONTRACT)};

#define DESCRIPTOR(minor, plugin_id, count, getter)                                                             \
  {sizeof(harena_plugin_descriptor), HARENA_ABI_MAJOR, minor, STR(plugin_id), STR("1.2.3"), STR("Apache-2.0"),  \
   contracts, count,                                                                                            \
   STR("{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"size\":{\"type\":\"integer\"}}}"), \
   create, destroy, getter}

const harena_plugin_descriptor* tiny_plugin_entry(void) {
  static const harena_plugin_descriptor descriptor = DESCRIPTOR(HARENA_ABI_MINOR, "test.harena.tiny", 3, get_contract);
  return &descriptor;
}
const harena_plugin_descriptor* tiny_plugin_other_abi(void) {
  static const harena_plugin_descriptor descriptor = DESCRIPTOR(99, "test.harena.other", 3, get_contract);
  return &descriptor;
}
const harena_plugin_descriptor* tiny_plugin_without_stop(void) {
  static const harena_plugin_descriptor descriptor =
      DESCRIPTOR(HARENA_ABI_MINOR, "test.harena.half", 1, get_bad_contract);
  return &descriptor;
}
