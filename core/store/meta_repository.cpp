#include "core/store/meta_repository.hpp"

#include "core/store/keys.hpp"
#include "sdk/base/ids.hpp"

namespace harena {

/// What is stored under the name, after writing `fresh` if nothing was.
Result<std::string> MetaRepository::get_or_create(const CallContext& call, std::string_view name,
                                                  const std::string& fresh) {
  const std::string key = keys::meta(name);
  HARENA_TRY(const auto present, store_.get(call, key));
  if (present) return present->value;
  auto written = store_.txn(call, {StateOp::check(key, 0), StateOp::put(key, fresh)});
  if (written) return fresh;
  if (written.error().code != ErrorCode::aborted) return std::move(written).error();
  HARENA_TRY(const auto other, store_.get(call, key));  // somebody was quicker
  if (other) return other->value;
  return std::move(written).error();
}

Status MetaRepository::check_schema(const CallContext& call) {
  const std::string ours = std::to_string(kStoreSchemaVersion);
  HARENA_TRY(const auto stored, get_or_create(call, "schema-version", ours));
  if (stored == ours) return ok_status();
  return make_error(ErrorCode::failed_precondition, "the state store has schema version " + stored.substr(0, 32) +
                                                        "; this release of Harena reads version " + ours);
}

Result<std::string> MetaRepository::edge_code(const CallContext& call, std::string_view configured,
                                              RandomSource& random) {
  if (!configured.empty() && !is_edge_code(configured)) {
    return make_error(ErrorCode::invalid_argument, "the edge code '" + std::string(configured.substr(0, 64)) +
                                                       "' must be 5 characters of 0-9 and a-z");
  }
  const std::string fresh = configured.empty() ? random.base36(kEdgeCodeLength) : std::string(configured);
  HARENA_TRY(auto stored, get_or_create(call, "edge-code", fresh));
  if (!is_edge_code(stored)) return make_error(ErrorCode::data_loss, "the stored edge code is not one");
  if (configured.empty() || configured == stored) return stored;
  return make_error(ErrorCode::failed_precondition,
                    "the configured edge code '" + std::string(configured) + "' is not '" + stored +
                        "', with which the sandboxes in the state store begin; set edge.code to that or leave it out");
}

Result<std::string> MetaRepository::instance_id(const CallContext& call, RandomSource& random) {
  return get_or_create(call, "instance-id", random.hex(16));
}

Result<std::string> MetaRepository::frontend_key(const CallContext& call, RandomSource& random) {
  return get_or_create(call, "frontend-key", random.hex(32));
}

}  // namespace harena
