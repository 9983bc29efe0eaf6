#include "core/store/idempotency.hpp"

#include "core/store/pages.hpp"
#include "core/store/sandbox_repository.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena {

using nlohmann::json;

std::optional<IdempotencyKey> idempotency_of(const CreateSpec& spec) {
  if (spec.idempotency_key.empty()) return std::nullopt;
  const std::string canonical = spec.backend + "\n" + record_text(to_json(spec));
  return IdempotencyKey{spec.project, spec.idempotency_key, sha256_hex(canonical)};
}

json to_json(const IdempotencyRecord& record) {
  json value{{"schema", 1}, {"request_hash", record.request_hash}, {"sandbox_id", record.sandbox_id.str()}};
  if (record.remembered) value["remembered"] = to_stored_json(*record.remembered);
  return value;
}

namespace {

Result<IdempotencyRecord> idempotency_from(const json& value) {
  HARENA_TRY(auto id, SandboxId::parse(value.at("sandbox_id").get<std::string>()));
  IdempotencyRecord record{value.at("request_hash").get<std::string>(), std::move(id), std::nullopt};
  if (value.contains("remembered")) {
    HARENA_TRY(record.remembered, sandbox_from_stored_json(value.at("remembered")));
  }
  return record;
}

}  // namespace

Result<IdempotencyRecord> idempotency_from_entry(const StateEntry& entry) {
  HARENA_TRY(const auto value, parse_record(entry));
  try {
    return idempotency_from(value);
  } catch (const json::exception& problem) {
    return make_error(ErrorCode::data_loss, "the record '" + entry.key + "' can't be read: " + problem.what());
  }
}

}  // namespace harena
