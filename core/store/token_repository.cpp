#include "core/store/token_repository.hpp"

#include "core/store/keys.hpp"
#include "core/store/pages.hpp"

namespace harena {

using nlohmann::json;

json to_json(const TokenRecord& record) {
  return {{"schema", 1},
          {"id", record.id},
          {"secret_hash", record.secret_hash},
          {"name", record.name},
          {"project", record.project.str()},
          {"permissions", record.permissions},
          {"created_by", record.created_by},
          {"created_ms", record.created_ms},
          {"expires_ms", record.expires_ms}};
}

namespace {

Result<TokenRecord> token_from(const json& value) {
  TokenRecord record;
  record.id = value.at("id").get<std::string>();
  record.secret_hash = value.at("secret_hash").get<std::string>();
  record.name = value.at("name").get<std::string>();
  HARENA_TRY(record.project, ProjectPath::parse(value.at("project").get<std::string>()));
  record.permissions = value.at("permissions").get<std::vector<std::string>>();
  record.created_by = value.at("created_by").get<std::string>();
  record.created_ms = value.at("created_ms").get<std::int64_t>();
  record.expires_ms = value.at("expires_ms").get<std::int64_t>();
  return record;
}

}  // namespace

Result<TokenRecord> token_from_json(const json& value) {
  try {
    return token_from(value);
  } catch (const json::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("a stored token can't be read: ") + problem.what());
  }
}

Status TokenRepository::create(const CallContext& call, const TokenRecord& record) {
  const std::string key = keys::token(record.secret_hash);
  const auto done =
      store_.txn(call, {StateOp::check(key, 0), StateOp::put(key, record_text(to_json(record)))});
  if (done) return ok_status();
  if (done.error().code != ErrorCode::aborted) return done.error();
  return make_error(ErrorCode::already_exists, "this token is stored already");
}

Result<std::vector<TokenRecord>> TokenRepository::load_all(const CallContext& call) {
  std::vector<TokenRecord> records;
  HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kTokens, "", [&](const StateEntry& entry) -> Result<bool> {
    HARENA_TRY(const auto value, parse_record(entry));
    HARENA_TRY(auto record, token_from_json(value));
    records.push_back(std::move(record));
    return true;
  }));
  return records;
}

Status TokenRepository::remove(const CallContext& call, const std::string& secret_hash) {
  HARENA_TRY([[maybe_unused]] const auto revision, store_.txn(call, {StateOp::remove(keys::token(secret_hash))}));
  return ok_status();
}

}  // namespace harena
