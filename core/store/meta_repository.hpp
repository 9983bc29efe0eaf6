#pragma once
// MetaRepository: the few facts about an installation that are made once.

#include <string>
#include <string_view>

#include "core/contracts/state_store.hpp"
#include "sdk/base/random.hpp"

namespace harena {

/// The layout of the keys in keys.hpp and of the records below them.
inline constexpr std::int64_t kStoreSchemaVersion = 1;

/// Thread-safe, blocking.
class MetaRepository {
 public:
  /// `store` must outlive this.
  explicit MetaRepository(StateStore& store) : store_(store) {}

  /// Writes kStoreSchemaVersion into a new store. failed_precondition for a store of another version, naming both:
  /// call it before anything else is read.
  Status check_schema(const CallContext& call);
  /// The 5 characters with which this edge's sandbox ids begin: `configured` when it isn't empty, else random once.
  /// invalid_argument for a configured one that isn't an edge code; failed_precondition when the store has another:
  /// its sandboxes would no longer be routed here.
  Result<std::string> edge_code(const CallContext& call, std::string_view configured, RandomSource& random);
  /// 32 hexadecimal digits, random once; tells two installations apart.
  Result<std::string> instance_id(const CallContext& call, RandomSource& random);
  /// 64 hexadecimal digits, random once: what the secrets of frontends are derived from. Never shown.
  Result<std::string> frontend_key(const CallContext& call, RandomSource& random);

 private:
  Result<std::string> get_or_create(const CallContext& call, std::string_view name, const std::string& fresh);

  StateStore& store_;
};

}  // namespace harena
