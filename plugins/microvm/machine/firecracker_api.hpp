#pragma once
// FirecrackerApi: HTTP on the Unix socket of a Firecracker process (its published API: firecracker.yaml). One request, one connection; whatever a
// VMM that its guest has taken over may answer is bounded.
//
//   FirecrackerApi api(loop, folder_of_the_socket, "api.sock");
//   HARENA_TRY_STATUS(api.await([&] { return vmm.ended(); }, deadline));
//   HARENA_TRY(json version, api.call("GET", "/version", nullptr, deadline));

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

using nlohmann::json;

/// A longer answer ends the call: the longest that is asked for has a few hundred bytes.
inline constexpr std::size_t kMaxFirecrackerAnswerBytes = 256 << 10;

class FirecrackerApi {
 public:
  /// `folder`: holds the socket; by descriptor, since paths in a jail are longer than a socket's address may be. `loop` outlives it.
  FirecrackerApi(vmm::EventLoop& loop, UniqueFd folder, std::string name) : loop_(loop), folder_(std::move(folder)), name_(std::move(name)) {}

  /// Until somebody listens on the socket. `ended`: how the process ended, empty while it lives. unavailable when it ended before,
  /// deadline_exceeded when the socket doesn't come.
  Status await(const std::function<std::string()>& ended, std::int64_t deadline_ns);
  /// The answer's body; null without one. `body` null: none is sent. What Firecracker refuses is failed_precondition with its fault_message;
  /// a connection that ends, or isn't HTTP, unavailable.
  Result<json> call(const std::string& method, const std::string& path, const json& body, std::int64_t deadline_ns);

 private:
  vmm::EventLoop& loop_;
  UniqueFd folder_;
  std::string name_;
};

/// Connects to the Unix socket `name` in the folder; doesn't wait. not_found, unavailable (nobody listens).
Result<UniqueFd> connect_in_folder(int folder, const std::string& name);

}  // namespace harena::microvm
