#include "plugins/e2b/envd/envd_call.hpp"

#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;

std::string SandboxCall::file_target(std::string_view verb, std::string_view path) const {
  return target("/files") + std::string(verb) + "?path=" + percent_encode(path);
}

Task<Result<std::string>> SandboxCall::read_small(std::string path) {
  auto where = file_target("", path);
  const http::Headers none;
  HARENA_CO_TRY(const auto head, co_await api.open(std::move(where), none));
  if (head.status == 404) {
    (void)co_await api.error_of(head);
    co_return std::string();
  }
  if (head.status >= 400) co_return co_await api.error_of(head);
  co_return co_await api.read_all();
}

Task<Result<const Accounts*>> SandboxCall::accounts() {
  if (!accounts_) {
    HARENA_CO_TRY(const auto passwd, co_await read_small("/etc/passwd"));
    HARENA_CO_TRY(const auto group, co_await read_small("/etc/group"));
    accounts_ = Accounts::parse(passwd, group);
  }
  co_return &*accounts_;
}

Task<Result<Account>> SandboxCall::account() {
  HARENA_CO_TRY(const auto* all, co_await accounts());
  co_return all->find(user_name_);
}

Task<Result<std::string>> SandboxCall::path(std::string text) {
  const Account nobody;
  if (text.starts_with('/')) co_return expand_path(text, nobody, sandbox.default_folder);
  HARENA_CO_TRY(const auto user, co_await account());
  co_return expand_path(text, user, sandbox.default_folder);
}

}  // namespace harena::e2b
