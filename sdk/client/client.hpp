#pragma once
// Client: calls of the API with its rules for errors and repetition.
//
//   HARENA_TRY(auto endpoint, client::discover(inputs));
//   client::Client client(endpoint);
//   HARENA_TRY(auto sandbox, client::Sandboxes(client).create("container", {{"image", "root/base:v1"}}));
//
// A Client is one connection: one call at a time. Threads take a `clone` each.

#include <chrono>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"
#include "sdk/client/connection.hpp"
#include "sdk/client/retry.hpp"
#include "sdk/client/wire.hpp"

namespace harena::client {

struct ClientOptions {
  Timeouts timeouts;
  RetryPolicy retry;
  /// For what has begun and can go on where it broke (output, stdin, transfers): it outlives a restart of the server.
  RetryPolicy stream_retry{.attempts = 15};
  /// Null: std::this_thread::sleep_for.
  Attempts::Sleep sleep;
};

class Client {
 public:
  explicit Client(Endpoint endpoint, ClientOptions options = {});
  /// The same server and options over a connection of its own.
  std::unique_ptr<Client> clone() const;

  /// Calls, repeats what may be repeated, decodes. An empty answer is `null`. GET, PUT, PATCH and DELETE are idempotent;
  /// a POST is when the caller says so.
  Result<json> get(const std::string& target);
  Result<json> post(const std::string& target, const json& body, bool idempotent = false);
  Result<json> patch(const std::string& target, const json& body);
  Result<json> remove(const std::string& target);
  Result<json> exchange(const Request& request, bool idempotent);
  /// A part of something that has begun: idempotent, repeated by `stream_retry`.
  Result<json> go_on(const Request& request);

  /// Follows an answer of newline-delimited JSON once, without repeating. `on_event` fails to stop.
  Status events(const Request& request, const std::function<Status(const json&)>& on_event);

  /// All entries of a list that comes in pages: `name` is the array's key, `target` has no cursor. `on_entry` fails to stop.
  Status pages(const std::string& target, const std::string& name, const std::function<Status(const json&)>& on_entry);

  Connection& connection() { return *connection_; }
  const Endpoint& endpoint() const { return endpoint_; }
  /// By `stream_retry`.
  Attempts stream_attempts();
  /// For idempotency keys and operation ids: 32 hexadecimal digits.
  std::string unique_key() { return random_.hex(16); }

 private:
  Result<json> exchange(const Request& request, bool idempotent, Attempts tries);
  Endpoint endpoint_;
  ClientOptions options_;
  SystemRandom random_;
  std::unique_ptr<Connection> connection_;
};

/// One segment of a path: slashes are encoded too.
std::string segment(std::string_view text);

}  // namespace harena::client
