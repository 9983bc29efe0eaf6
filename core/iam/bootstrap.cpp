#include "core/iam/bootstrap.hpp"

#include "core/crypto/token_hash.hpp"
#include "core/iam/permission.hpp"
#include "core/store/keys.hpp"
#include "core/store/pages.hpp"
#include "core/store/project_repository.hpp"
#include "core/store/secret_file.hpp"
#include "core/store/token_repository.hpp"

namespace harena {
namespace {

std::vector<StateOp> first_records(const std::string& token, Clock& clock, RandomSource& random) {
  const ProjectRecord root{ProjectPath::root(), clock.wall_ms(), "system", {}};
  TokenRecord admin;
  admin.id = random.base36(kTokenIdLength);
  admin.secret_hash = token_hash(token);
  admin.name = "admin";
  admin.permissions = {std::string(to_string(Permission::admin))};
  admin.created_by = "system";
  admin.created_ms = clock.wall_ms();
  const std::string project_key = keys::project(root.path);
  const std::string mark = keys::meta("bootstrap");
  return {StateOp::check(mark, 0),
          StateOp::put(mark, admin.id),
          StateOp::put(project_key, record_text(to_json(root))),
          StateOp::put(keys::token(admin.secret_hash), record_text(to_json(admin)))};
}

/// What an earlier start that was cut off has left.
Result<std::optional<std::string>> left_token(const std::filesystem::path& file) {
  HARENA_TRY(auto text, read_secret_file(file));
  if (!text || is_token(*text)) return text;
  return make_error(ErrorCode::failed_precondition,
                    "the admin token file '" + file.string() +
                        "' holds no token (hrn_ and 64 hexadecimal digits); remove it to get a new one at this first start");
}

}  // namespace

Result<BootstrapOutcome> bootstrap_admin(const CallContext& call, StateStore& store, Clock& clock,
                                         RandomSource& random, const std::filesystem::path& token_file) {
  HARENA_TRY(const auto mark, store.get(call, keys::meta("bootstrap")));
  if (mark) return BootstrapOutcome{BootstrapOutcome::Kind::done_before, token_file};
  HARENA_TRY(auto token, left_token(token_file));
  const bool mended = token.has_value();
  if (!mended) {
    token = mint_token(random);
    HARENA_TRY_STATUS(create_secret_file(token_file, *token, random));
  }
  HARENA_TRY([[maybe_unused]] const auto revision, store.txn(call, first_records(*token, clock, random)));
  return BootstrapOutcome{mended ? BootstrapOutcome::Kind::mended : BootstrapOutcome::Kind::first_start, token_file};
}

}  // namespace harena
