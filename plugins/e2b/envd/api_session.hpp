#pragma once
// ApiSession: Harena's API, asked in process on one connection, with the credential of one caller; one request after the other.
//
//   ApiSession api(connect, token);
//   HARENA_CO_TRY(auto info, co_await api.ask("GET", "/v1/sandboxes/" + id + "/commands"));

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sdk/http/byte_stream.hpp"
#include "sdk/http/client_connection.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

/// A new connection to the API, on the executor of the caller; any thread. unavailable while the API isn't up.
using ApiConnect = std::function<http::Task<Result<std::unique_ptr<http::ByteStream>>>()>;

struct ApiBody {
  std::string text;
  std::string type = "application/json";
};

/// Used by one coroutine at a time. Destroyed, it cancels what was asked.
class ApiSession {
 public:
  ApiSession(const ApiConnect& connect, std::string credential) : connect_(connect), credential_(std::move(credential)) {}

  /// A whole answer, parsed; null for an empty one. The API's error comes as it was said, see also reason().
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target);
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target, nlohmann::json body);
  http::Task<Result<nlohmann::json>> send(std::string method, std::string target, ApiBody body);
  /// The same with a body that is passed on as it comes.
  http::Task<Result<nlohmann::json>> upload(std::string method, std::string target, http::BodySource& body);

  /// An answer that is read as it comes: any status, also of errors (those become an Error with `refuse`).
  http::Task<Result<http::ResponseHead>> open(std::string target, http::Headers headers);
  http::Task<Result<std::size_t>> read(std::span<std::byte> into) { return connection_->read_body(into); }
  /// The open answer's body, whole; up to 16 MiB.
  http::Task<Result<std::string>> read_all() { return connection_->read_all(kMaxAnswerBytes); }
  /// What an answer with status >= 400 says; reads its body.
  http::Task<Error> error_of(const http::ResponseHead& head);

  /// `details.reason` of the last error: "no_such_cwd", "port_closed"; empty if it had none.
  const std::string& reason() const { return reason_; }
  const std::string& credential() const { return credential_; }
  const ApiConnect& connector() const { return connect_; }

 private:
  static constexpr std::size_t kMaxAnswerBytes = 16 << 20;
  http::Task<Status> ready();
  http::Task<Result<http::ResponseHead>> begin(http::ClientHead head, std::string text);
  http::Task<Result<nlohmann::json>> whole(http::ResponseHead head);

  const ApiConnect& connect_;
  std::string credential_;
  std::string reason_;
  std::unique_ptr<http::ClientConnection> connection_;
};

}  // namespace harena::e2b
