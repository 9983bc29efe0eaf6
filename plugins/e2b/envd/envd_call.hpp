#pragma once
// SandboxCall: what is done with one sandbox for one caller; EnvdCall: that, for one HTTP request.

#include <optional>
#include <string>
#include <string_view>

#include "plugins/e2b/envd/accounts.hpp"
#include "plugins/e2b/envd/api_session.hpp"
#include "plugins/e2b/envd/sandbox_access.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// Who asks, as which user, and Harena's API. Used by one coroutine at a time.
class SandboxCall {
 public:
  /// Borrows the client. The user is the sandbox's default one until as_user().
  SandboxCall(SandboxAccess access, frontend::ApiClient& client)
      : sandbox(std::move(access)), api(client, sandbox.credential), user_name_(sandbox.default_user) {}

  const SandboxAccess sandbox;
  ApiSession api;

  /// Empty: no change.
  void as_user(std::string name) {
    if (!name.empty()) user_name_ = std::move(name);
  }
  const std::string& user_name() const { return user_name_; }

  /// The sandbox's users and groups, read once.
  http::Task<Result<const Accounts*>> accounts();
  /// unauthenticated for a user that the sandbox hasn't got.
  http::Task<Result<Account>> account();
  /// As expand_path() says; asks for the user's home only when it matters.
  http::Task<Result<std::string>> path(std::string text);

  /// "/v1/sandboxes/ID" and `rest`, which is encoded already.
  std::string target(std::string_view rest) const { return "/v1/sandboxes/" + sandbox.id + std::string(rest); }
  /// The same for a call of the file API: `/files` + verb + `?path=`, encoded.
  std::string file_target(std::string_view verb, std::string_view path) const;

  /// A small file, whole (up to 16 MiB); empty when there is none.
  http::Task<Result<std::string>> read_small(std::string path);

 private:
  std::string user_name_;
  std::optional<Accounts> accounts_;
};

class EnvdCall : public SandboxCall {
 public:
  /// Borrows all but the sandbox.
  EnvdCall(http::Request& asked, http::ResponseWriter& answer, SandboxAccess access, frontend::ApiClient& client)
      : SandboxCall(std::move(access), client), request(asked), response(answer) {}

  http::Request& request;
  http::ResponseWriter& response;
};

}  // namespace harena::e2b
