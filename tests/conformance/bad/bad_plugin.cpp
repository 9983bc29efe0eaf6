// A good backend (the template's) with one thing wrong, chosen at compile time by BAD: each variant breaks one promise
// that a named case of the kit must catch (bad_plugins_test.cpp). Plain C ABI, as the wrapper prevents most of these.

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "sdk/abi/backend.h"
#include "sdk/abi/plugin.h"
#include "sdk/cpp/text.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_good();

// Which promise is broken; the numbers have no meaning.
#define WRONG_ABI_VERSION 1
#define NULL_REQUIRED_FUNCTION 2
#define HALF_PAIR 3
#define THROWS 4
#define HANGS 5
#define OPENS_IN_CONSTRUCTOR 6
#define THREAD_IN_CONSTRUCTOR 7
#define GROWS 8
#define STOP_NOT_IDEMPOTENT 9
#define NO_ERROR_IN_SINK 10
#define TWO_RESULTS 11
#define WRITES_OUT_ON_FAILURE 12
#define CRASHES_ON_GARBAGE 13
#define FORGETS_ON_RESTART 14
#define LEAVES_A_PROCESS 15
#define LIES_ABOUT_VERBS 16
#define SWEEPS_KNOWN 17
#define READS_BEYOND_HOST 18
#define CREATES_TWICE 19
#define UNKNOWN_IDS_ARE_FINE 20
#define OPEN_CONFIG_SCHEMA 21
#define CRASHES_ON_NULL_DESTROY 22
#define HALF_MADE_AFTER_DEADLINE 23
#define ANY_CONTRACT 24
#define KEEPS_A_DESCRIPTOR 25
#define SNAPSHOT_WITHOUT_STATE 26
#define SNAPSHOT_KEEPS_EVERYTHING 27
#define SNAPSHOT_IS_LOST 28
#define SNAPSHOT_ENDS_ITS_SOURCE 29
#define RESTORES_ANYTHING 30
#define DELETION_ENDS_THE_SOURCE 31
#define LIES_ABOUT_SNAPSHOTS (BAD >= SNAPSHOT_WITHOUT_STATE && BAD <= DELETION_ENDS_THE_SOURCE)
#define GOOD 99

namespace {

using harena::plugin::to_abi;
using harena::plugin::to_view;

const harena_plugin_descriptor& good() { return *harena_plugin_entry_good(); }
const harena_backend& good_backend(void* self) {
  return *static_cast<const harena_backend*>(good().get_contract(self, to_abi(HARENA_BACKEND_CONTRACT)));
}
bool is_backend(harena_str id) { return to_view(id) == HARENA_BACKEND_CONTRACT; }

[[maybe_unused]] harena_status fail(const harena_call* call, harena_status code, const char* message) {
  harena_error error{sizeof(harena_error), code, to_abi(message), 0, 0, {}};
  call->sink->error(call->sink->context, &error);
  return code;
}

// The functions that differ. What isn't overridden is the good one.
harena_backend bad_backend;
harena_plugin_descriptor bad_descriptor;

#if BAD == OPENS_IN_CONSTRUCTOR
__attribute__((constructor)) void open_early() { (void)!::open("/dev/null", O_RDONLY | O_CLOEXEC); }
#elif BAD == THREAD_IN_CONSTRUCTOR
__attribute__((constructor)) void start_early() {
  pthread_t thread;
  pthread_create(&thread, nullptr, [](void*) -> void* { for (;;) ::pause(); }, nullptr);
}
#endif

harena_status create_instance(const harena_call* call, const harena_host* host, harena_str config, void** out) {
#if BAD == GROWS
  static volatile char* kept = nullptr;
  kept = static_cast<char*>(std::malloc(300));  // never freed
  kept[0] = 1;
#elif BAD == KEEPS_A_DESCRIPTOR
  (void)!::open("/dev/null", O_RDONLY | O_CLOEXEC);
#elif BAD == WRITES_OUT_ON_FAILURE
  harena_status status = good().create(call, host, config, out);
  if (status != HARENA_OK) *out = nullptr;
  return status;
#elif BAD == CRASHES_ON_GARBAGE
  if (config.len == 0 || config.ptr[config.len - 1] != '}') std::abort();
#elif BAD == READS_BEYOND_HOST
  if (host->get_service != nullptr) host->get_service(host->context, to_abi("harena.host.api/1"));
#endif
  return good().create(call, host, config, out);
}

void destroy_instance(void* self) {
#if BAD == CRASHES_ON_NULL_DESTROY
  *static_cast<volatile char*>(self) = *static_cast<volatile char*>(self);
#endif
  good().destroy(self);
}

harena_status describe(void* self, const harena_call* call) {
#if BAD == TWO_RESULTS
  good_backend(self).describe(self, call);
#elif BAD == LIES_ABOUT_VERBS
  call->sink->result(call->sink->context, to_abi(R"({"name":"bad","params_schema":{"type":"object","additionalProperties":false},
    "verbs":["fork"],"session":false,"needs_image":false})"));
  return HARENA_OK;
#endif
  return good_backend(self).describe(self, call);
}

harena_status create(void* self, const harena_call* call, harena_str request) {
#if BAD == HANGS
  ::sleep(3600);
#elif BAD == LEAVES_A_PROCESS
  if (::vfork() == 0) {
    ::execl("/bin/sleep", "sleep", "3600", nullptr);
    ::_exit(127);
  }
#elif BAD == CREATES_TWICE
  harena_call quiet = *call;
  harena_sink sink = *call->sink;
  sink.error = [](void*, const harena_error*) {};
  quiet.sink = &sink;
  if (good_backend(self).create(self, &quiet, request) == HARENA_ALREADY_EXISTS) {
    sink.result(sink.context, to_abi(R"({"state":"1"})"));
    return HARENA_OK;
  }
  return HARENA_OK;
#elif BAD == HALF_MADE_AFTER_DEADLINE
  harena_call endless = *call;
  endless.deadline_ns = 0;
  if (call->deadline_ns == 1) {
    harena_sink sink = *call->sink;
    sink.result = [](void*, harena_str) {};
    endless.sink = &sink;
    good_backend(self).create(self, &endless, request);
    return fail(call, HARENA_DEADLINE_EXCEEDED, "late, but made");
  }
#endif
  return good_backend(self).create(self, call, request);
}

harena_status usage(void* self, const harena_call* call, harena_str id) {
#if BAD == THROWS
  throw std::runtime_error("across the boundary");
#elif BAD == NO_ERROR_IN_SINK
  return HARENA_NOT_FOUND;
#elif BAD == UNKNOWN_IDS_ARE_FINE
  call->sink->result(call->sink->context, to_abi("{}"));
  return HARENA_OK;
#endif
  return good_backend(self).usage(self, call, id);
}

harena_status recover(void* self, const harena_call* call, harena_str id, harena_str state) {
#if BAD == FORGETS_ON_RESTART
  // Knows only what this instance has made: here, nothing.
  call->sink->result(call->sink->context, to_abi(R"({"status":"gone"})"));
  return HARENA_OK;
#endif
  return good_backend(self).recover(self, call, id, state);
}

harena_status stop(void* self, const harena_call* call, harena_str id, int64_t grace_ms) {
#if BAD == STOP_NOT_IDEMPOTENT
  harena_call quiet = *call;
  harena_sink sink = *call->sink;
  sink.error = [](void*, const harena_error*) {};
  sink.result = [](void*, harena_str) {};
  quiet.sink = &sink;
  if (good_backend(self).usage(self, &quiet, id) == HARENA_NOT_FOUND) return fail(call, HARENA_NOT_FOUND, "no such sandbox");
#endif
#if BAD == DELETION_ENDS_THE_SOURCE
  // The kit calls the snapshot of X "sX"; ids have 20 characters.
  if (id.len == 21) return good_backend(self).stop(self, call, {id.ptr + 1, 20}, grace_ms);
#endif
  return good_backend(self).stop(self, call, id, grace_ms);
}

// The good one has no snapshots. These keep nothing, and say so in the right form but for one thing.
[[maybe_unused]] harena_status snapshot(void* self, const harena_call* call, harena_str id, harena_str) {
  (void)self;
  (void)id;
#if BAD == SNAPSHOT_ENDS_ITS_SOURCE
  harena_call quiet = *call;
  harena_sink sink = *call->sink;
  sink.result = [](void*, harena_str) {};
  quiet.sink = &sink;
  good_backend(self).stop(self, &quiet, id, 0);
#endif
#if BAD == SNAPSHOT_WITHOUT_STATE
  const char* result = R"({"kept":"filesystem"})";
#elif BAD == SNAPSHOT_KEEPS_EVERYTHING
  const char* result = R"({"state":"taken","kept":"everything"})";
#else
  const char* result = R"({"state":"taken","kept":"filesystem"})";
#endif
  call->sink->result(call->sink->context, to_abi(result));
  return HARENA_OK;
}

[[maybe_unused]] harena_status restore(void* self, const harena_call* call, harena_str request) {
#if BAD == SNAPSHOT_IS_LOST
  (void)self;
  (void)request;
  return fail(call, HARENA_NOT_FOUND, "it was there a moment ago");
#else
  return good_backend(self).create(self, call, request);
#endif
}

harena_status sweep(void* self, const harena_call* call, harena_str known) {
#if BAD == SWEEPS_KNOWN
  known = to_abi("[]");
#endif
  return good_backend(self).sweep(self, call, known);
}

[[maybe_unused]] harena_status pause_only(void* self, const harena_call* call, harena_str) {
  (void)self;
  call->sink->result(call->sink->context, to_abi("{}"));
  return HARENA_OK;
}

const void* get_contract(void* self, harena_str id) {
#if BAD == ANY_CONTRACT
  return &bad_backend;
#endif
  if (self == nullptr || !is_backend(id)) return nullptr;
  bad_backend = good_backend(self);
  bad_backend.describe = &describe;
  bad_backend.create = &create;
  bad_backend.usage = &usage;
  bad_backend.recover = &recover;
  bad_backend.stop = &stop;
  bad_backend.sweep = &sweep;
#if LIES_ABOUT_SNAPSHOTS
  bad_backend.snapshot = &snapshot;
  bad_backend.restore = &restore;
#endif
#if BAD == NULL_REQUIRED_FUNCTION
  bad_backend.usage = nullptr;
#elif BAD == HALF_PAIR
  bad_backend.pause = &pause_only;
#endif
  return &bad_backend;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const harena_plugin_descriptor* HARENA_PLUGIN_ENTRY() {
  bad_descriptor = good();
  bad_descriptor.create = &create_instance;
  bad_descriptor.destroy = &destroy_instance;
  bad_descriptor.get_contract = &get_contract;
#if BAD == WRONG_ABI_VERSION
  bad_descriptor.abi_minor = HARENA_ABI_MINOR + 1;
#elif BAD == OPEN_CONFIG_SCHEMA
  bad_descriptor.config_schema = to_abi(R"({"type":"object","properties":{"root":{"type":"string"}}})");
#endif
  return &bad_descriptor;
}
