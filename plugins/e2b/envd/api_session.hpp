#pragma once
// ApiSession: Harena's API, asked in process with the credential of one caller; one request after the other.
//
//   ApiSession api(client, token);
//   HARENA_CO_TRY(auto info, co_await api.ask("GET", "/v1/sandboxes/" + id + "/commands"));

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sdk/frontend/api_client.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

struct ApiBody {
  std::string text;
  std::string type = "application/json";
};

/// Used by one coroutine at a time. Destroyed, it cancels what was asked.
class ApiSession {
 public:
  /// Borrows the client.
  ApiSession(frontend::ApiClient& client, std::string credential) : client_(client), credential_(std::move(credential)) {}

  /// A whole answer, parsed; null for an empty one. The API's error comes as it was said, see also reason().
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target);
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target, nlohmann::json body);
  http::Task<Result<nlohmann::json>> send(std::string method, std::string target, ApiBody body);
  /// The same with a body that is passed on as it comes.
  http::Task<Result<nlohmann::json>> upload(std::string method, std::string target, http::BodySource& body);

  /// An answer that is read as it comes: any status, also of errors (those become an Error with error_of()).
  http::Task<Result<http::ResponseHead>> open(std::string target, http::Headers headers);
  http::Task<Result<http::ResponseHead>> open(std::string target, http::Headers headers, nlohmann::json body);
  /// 1 to into.size() bytes of it, 0 at its end and behind it.
  http::Task<Result<std::size_t>> read(std::span<std::byte> into);
  /// The open answer's body, whole; up to 16 MiB.
  http::Task<Result<std::string>> read_all();
  /// What an answer with status >= 400 says; reads its body.
  http::Task<Error> error_of(const http::ResponseHead& head);

  /// `details.reason` of the last error: "no_such_cwd", "port_closed"; empty if it had none.
  const std::string& reason() const { return reason_; }
  const std::string& credential() const { return credential_; }
  frontend::ApiClient& client() const { return client_; }

 private:
  frontend::ApiRequest request(std::string method, std::string target) const;
  http::Task<Result<http::ResponseHead>> begin(frontend::ApiRequest request);
  http::Task<Result<nlohmann::json>> whole(http::ResponseHead head);

  frontend::ApiClient& client_;
  std::string credential_;
  std::string reason_;
  /// Null once its answer has been read: then another request of this loop may have the connection.
  std::unique_ptr<frontend::Exchange> exchange_;
};

}  // namespace harena::e2b
