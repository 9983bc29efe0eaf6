#pragma once
// Typed ways to call a plugin's contracts from C++: for the kit and for plugins' own tests. Every call goes through
// loader::Invocation, so that a broken promise of the plugin is an `internal` error that says so.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/loader/library.hpp"

namespace harena::conformance {

using nlohmann::json;
using loader::CallOptions;

/// Calls `function(self, record, arguments...)`; the result document, or an empty object when there was none.
template <class Function, class... Arguments>
Result<json> invoke(Function function, void* self, CallOptions options, Arguments... arguments) {
  loader::Invocation call(std::move(options));
  HARENA_TRY(std::string text, call.finish(function(self, call.record(), arguments...)));
  if (text.empty()) return json::object();
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return make_error(ErrorCode::internal, "the plugin's result isn't JSON: " + text.substr(0, 200));
  return document;
}

inline harena_str abi(std::string_view text) { return loader::to_abi(text); }

class BackendDriver {
 public:
  /// failed_precondition when the plugin has no backend contract.
  static Result<BackendDriver> of(const loader::Instance& instance) {
    HARENA_TRY(auto table, instance.backend());
    return BackendDriver(instance.self(), table);
  }
  using Options = CallOptions;
  Result<json> describe(Options o = {}) const { return invoke(table.describe, self, std::move(o)); }
  Result<json> probe(Options o = {}) const { return invoke(table.probe, self, std::move(o)); }
  Result<json> create(const json& request, Options o = {}) const {
    return invoke(table.create, self, std::move(o), abi(request.dump()));
  }
  Result<json> recover(std::string_view id, std::string_view state, Options o = {}) const {
    return invoke(table.recover, self, std::move(o), abi(id), abi(state));
  }
  Result<json> stop(std::string_view id, std::int64_t grace_ms = 0, Options o = {}) const {
    return invoke(table.stop, self, std::move(o), abi(id), grace_ms);
  }
  Result<json> sweep(const json& known, Options o = {}) const {
    return invoke(table.sweep, self, std::move(o), abi(known.dump()));
  }
  Result<json> usage(std::string_view id, Options o = {}) const { return invoke(table.usage, self, std::move(o), abi(id)); }
  /// Precondition of the verbs from here on: the plugin has them.
  Result<json> pause(std::string_view id, Options o = {}) const { return invoke(table.pause, self, std::move(o), abi(id)); }
  Result<json> resume(std::string_view id, Options o = {}) const { return invoke(table.resume, self, std::move(o), abi(id)); }
  Result<json> snapshot(std::string_view id, const json& request, Options o = {}) const {
    return invoke(table.snapshot, self, std::move(o), abi(id), abi(request.dump()));
  }
  Result<json> restore(const json& request, Options o = {}) const {
    return invoke(table.restore, self, std::move(o), abi(request.dump()));
  }
  Result<json> fork(std::string_view id, const json& requests, Options o = {}) const {
    return invoke(table.fork, self, std::move(o), abi(id), abi(requests.dump()));
  }
  Result<json> rollback(std::string_view id, std::string_view state, Options o = {}) const {
    return invoke(table.rollback, self, std::move(o), abi(id), abi(state));
  }

  void* self;
  harena_backend table;

 private:
  BackendDriver(void* s, const harena_backend& t) : self(s), table(t) {}
};

class ImageStoreDriver {
 public:
  static Result<ImageStoreDriver> of(const loader::Instance& instance) {
    HARENA_TRY(auto table, instance.image_store());
    return ImageStoreDriver(instance.self(), table);
  }
  using Options = CallOptions;
  Result<json> put(std::string_view expected, int fd, Options o = {}) const {
    return invoke(table.put, self, std::move(o), abi(expected), fd);
  }
  Result<json> open(std::string_view digest, Options o = {}) const { return invoke(table.open, self, std::move(o), abi(digest)); }
  Result<json> resolve(std::string_view r, Options o = {}) const { return invoke(table.resolve, self, std::move(o), abi(r)); }
  Result<json> tag(std::string_view r, std::string_view digest, Options o = {}) const {
    return invoke(table.tag, self, std::move(o), abi(r), abi(digest));
  }
  Result<json> remove(std::string_view what, Options o = {}) const { return invoke(table.remove, self, std::move(o), abi(what)); }
  Result<json> check(std::string_view digest, Options o = {}) const { return invoke(table.check, self, std::move(o), abi(digest)); }
  /// (reference, digest) pairs.
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix, std::string_view cursor, std::int64_t limit) const;
  /// (digest, size) pairs.
  Result<std::vector<std::pair<std::string, std::int64_t>>> list_blobs(std::string_view cursor, std::int64_t limit) const;

  void* self;
  harena_image_store table;

 private:
  ImageStoreDriver(void* s, const harena_image_store& t) : self(s), table(t) {}
};

class FrontendDriver {
 public:
  static Result<FrontendDriver> of(const loader::Instance& instance) {
    HARENA_TRY(auto table, instance.frontend());
    return FrontendDriver(instance.self(), table);
  }
  using Options = CallOptions;
  Result<json> start(Options o = {}) const { return invoke(table.start, self, std::move(o)); }
  Result<json> drain(Options o = {}) const { return invoke(table.drain, self, std::move(o)); }
  /// Precondition: the plugin has it.
  Result<json> metrics(Options o = {}) const { return invoke(table.metrics, self, std::move(o)); }

  void* self;
  harena_frontend table;

 private:
  FrontendDriver(void* s, const harena_frontend& t) : self(s), table(t) {}
};

struct StateItem {
  std::string key, value;
  std::int64_t revision = 0;
  bool deleted = false;
  bool operator==(const StateItem&) const = default;
};

/// One operation of a transaction, owning its texts.
struct StateChange {
  std::uint32_t kind = HARENA_STATE_CHECK;
  std::string key, value;
  std::int64_t revision = 0;
};
inline StateChange check_revision(std::string key, std::int64_t revision) {
  return {HARENA_STATE_CHECK, std::move(key), "", revision};
}
inline StateChange put_value(std::string key, std::string value) { return {HARENA_STATE_PUT, std::move(key), std::move(value), 0}; }
inline StateChange delete_key(std::string key) { return {HARENA_STATE_DELETE, std::move(key), "", 0}; }

class StateStoreDriver {
 public:
  static Result<StateStoreDriver> of(const loader::Instance& instance) {
    HARENA_TRY(auto table, instance.state_store());
    return StateStoreDriver(instance.self(), table);
  }
  struct Read {
    std::vector<StateItem> items;
    std::int64_t revision = 0;
  };
  Result<std::optional<StateItem>> get(std::string_view key, CallOptions o = {}) const;
  Result<Read> range(std::string_view start, std::string_view end, std::int64_t limit, CallOptions o = {}) const;
  /// The revision.
  Result<std::int64_t> txn(const std::vector<StateChange>& changes, CallOptions o = {}) const;
  /// Blocks; items go to options.on_item.
  Status watch(std::string_view prefix, std::int64_t after, CallOptions o) const;

  void* self;
  harena_state_store table;

 private:
  StateStoreDriver(void* s, const harena_state_store& t) : self(s), table(t) {}
};

}  // namespace harena::conformance
