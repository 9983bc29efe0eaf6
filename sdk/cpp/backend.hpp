#pragma once
// BackendPlugin: harena.backend/1 for authors in C++. sdk/abi/backend.h says what each document holds, and what
// must be idempotent; this class only carries it.
//
// The optional verbs are those that a class overrides; a class that supports some of them only at times (a host
// without a freezer) says so in has_verb(), which is asked once, when the instance is made. A pair must be whole:
// pause with resume, snapshot with restore; rollback needs snapshot.

#include <string>
#include <string_view>
#include <vector>

#include "sdk/abi/backend.h"
#include "sdk/cpp/guard.hpp"
#include "sdk/cpp/host.hpp"

namespace harena::plugin {

class BackendPlugin {
 public:
  static constexpr std::string_view kContract = HARENA_BACKEND_CONTRACT;
  virtual ~BackendPlugin() = default;

  /// [any] "verbs" may be left out: the wrapper fills in the optional verbs that this instance has.
  virtual Result<json> describe(const Call& call) = 0;
  /// [any] {"usable": bool, "why_not": [...], "facts": {...}}. An unusable host is a result.
  virtual Result<json> probe(const Call& call) = 0;
  /// [task] {"state": "opaque", "session_endpoint": "/socket", "details": {...}}.
  virtual Result<json> create(const Call& call, const json& request) = 0;
  /// [task] Idempotent; a sandbox that isn't there any more is {"status": "gone"}.
  virtual Result<json> recover(const Call& call, std::string_view sandbox_id, std::string_view state) = 0;
  /// [task] Idempotent; ok for unknown and half-made ids.
  virtual Status stop(const Call& call, std::string_view sandbox_id, std::int64_t grace_ms) = 0;
  /// [control] {"removed": [ids]}. Idempotent; removes only what this plugin made.
  virtual Result<json> sweep(const Call& call, const std::vector<std::string>& known_ids) = 0;
  /// [any] not_found for an unknown id.
  virtual Result<json> usage(const Call& call, std::string_view sandbox_id) = 0;

  /// [task] Both idempotent; not_found for an unknown id.
  virtual Result<json> pause(const Call&, std::string_view /*sandbox_id*/) { return lacks("pause"); }
  virtual Result<json> resume(const Call&, std::string_view /*sandbox_id*/) { return lacks("resume"); }
  virtual Result<json> snapshot(const Call&, std::string_view /*sandbox_id*/, const json& /*request*/) {
    return lacks("snapshot");
  }
  virtual Result<json> restore(const Call&, const json& /*request*/) { return lacks("restore"); }
  /// [task] `requests` is an array; so is the result, in the same order.
  virtual Result<json> fork(const Call&, std::string_view /*sandbox_id*/, const json& /*requests*/) {
    return lacks("fork");
  }
  virtual Status rollback(const Call&, std::string_view /*sandbox_id*/, std::string_view /*snapshot_state*/) {
    return lacks("rollback").error();
  }

  /// Whether this instance has an optional verb that its class overrides. Asked once.
  virtual bool has_verb(std::string_view /*verb*/) const { return true; }

 private:
  static Result<json> lacks(std::string_view verb) {
    return make_error(ErrorCode::unimplemented, "this backend doesn't have the verb '" + std::string(verb) + "'");
  }
};

namespace detail {

/// Names of the optional verbs that a table has, in the order of the header.
inline std::vector<std::string> verbs_of(const harena_backend& table) {
  std::vector<std::string> verbs;
  auto add = [&verbs](const char* name, bool there) {
    if (there) verbs.emplace_back(name);
  };
  add("pause", table.pause != nullptr);
  add("resume", table.resume != nullptr);
  add("snapshot", table.snapshot != nullptr);
  add("restore", table.restore != nullptr);
  add("fork", table.fork != nullptr);
  add("rollback", table.rollback != nullptr);
  return verbs;
}

inline Result<json> describe_with_verbs(BackendPlugin& plugin, const Call& call, const harena_backend& table) {
  HARENA_TRY(json document, plugin.describe(call));
  document["verbs"] = verbs_of(table);
  return document;
}

inline Result<std::vector<std::string>> parse_ids(harena_str text) {
  HARENA_TRY(json ids, parse_input(text, "the list of known sandbox ids"));
  return ids.get<std::vector<std::string>>();
}

/// The C functions of harena.backend/1 over `Instance`, a struct with members `backend` (the plugin) and
/// `backend_table`.
template <class Instance>
struct BackendThunks {
  static BackendPlugin& of(void* self) { return *static_cast<Instance*>(self)->backend; }

  static harena_status describe(void* self, const harena_call* raw) {
    return guarded(raw, [&](const Call& call) {
      return describe_with_verbs(of(self), call, static_cast<Instance*>(self)->backend_table);
    });
  }
  static harena_status probe(void* self, const harena_call* raw) {
    return guarded(raw, [&](const Call& call) { return of(self).probe(call); });
  }
  static harena_status create(void* self, const harena_call* raw, harena_str request) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(json document, parse_input(request, "the request of create"));
      return of(self).create(call, document);
    });
  }
  static harena_status recover(void* self, const harena_call* raw, harena_str id, harena_str state) {
    return guarded(raw, [&](const Call& call) { return of(self).recover(call, to_view(id), to_view(state)); });
  }
  static harena_status stop(void* self, const harena_call* raw, harena_str id, std::int64_t grace_ms) {
    return guarded(raw, [&](const Call& call) { return of(self).stop(call, to_view(id), grace_ms); });
  }
  static harena_status sweep(void* self, const harena_call* raw, harena_str known) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(auto ids, parse_ids(known));
      return of(self).sweep(call, ids);
    });
  }
  static harena_status usage(void* self, const harena_call* raw, harena_str id) {
    return guarded(raw, [&](const Call& call) { return of(self).usage(call, to_view(id)); });
  }
  static harena_status pause(void* self, const harena_call* raw, harena_str id) {
    return guarded(raw, [&](const Call& call) { return of(self).pause(call, to_view(id)); });
  }
  static harena_status resume(void* self, const harena_call* raw, harena_str id) {
    return guarded(raw, [&](const Call& call) { return of(self).resume(call, to_view(id)); });
  }
  static harena_status snapshot(void* self, const harena_call* raw, harena_str id, harena_str request) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(json document, parse_input(request, "the request of snapshot"));
      return of(self).snapshot(call, to_view(id), document);
    });
  }
  static harena_status restore(void* self, const harena_call* raw, harena_str request) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(json document, parse_input(request, "the request of restore"));
      return of(self).restore(call, document);
    });
  }
  static harena_status fork(void* self, const harena_call* raw, harena_str id, harena_str request) {
    return guarded(raw, [&](const Call& call) -> Result<json> {
      HARENA_TRY(json documents, parse_input(request, "the requests of fork"));
      return of(self).fork(call, to_view(id), documents);
    });
  }
  static harena_status rollback(void* self, const harena_call* raw, harena_str id, harena_str state) {
    return guarded(raw, [&](const Call& call) { return of(self).rollback(call, to_view(id), to_view(state)); });
  }
};

// A member pointer has the type of the class that declares it: unchanged means not overridden.
#define HARENA_OVERRIDES(Plugin, Base, verb) (!std::is_same_v<decltype(&Plugin::verb), decltype(&Base::verb)>)

/// Sets table.verb when Plugin overrides it and this instance has it.
#define HARENA_OPTIONAL_VERB(table, Thunks, Plugin, instance, verb)      \
  if constexpr (HARENA_OVERRIDES(Plugin, BackendPlugin, verb)) {         \
    if ((instance).has_verb(#verb)) (table).verb = &Thunks::verb;        \
  }

template <class Plugin, class Instance>
harena_backend make_backend_table(const BackendPlugin& plugin) {
  using Thunks = BackendThunks<Instance>;
  harena_backend table{};
  table.struct_size = sizeof(table);
  table.describe = &Thunks::describe;
  table.probe = &Thunks::probe;
  table.create = &Thunks::create;
  table.recover = &Thunks::recover;
  table.stop = &Thunks::stop;
  table.sweep = &Thunks::sweep;
  table.usage = &Thunks::usage;
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, pause)
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, resume)
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, snapshot)
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, restore)
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, fork)
  HARENA_OPTIONAL_VERB(table, Thunks, Plugin, plugin, rollback)
  return table;
}

}  // namespace detail
}  // namespace harena::plugin
