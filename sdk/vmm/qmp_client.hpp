#pragma once
// QmpClient: QEMU's machine protocol (QMP, docs/interop/qmp-spec of QEMU) on a connected socket. Bounded in every direction: a QEMU
// that was
// taken over by its guest can say anything here.
//
//   HARENA_TRY(auto qmp, QmpClient::start(loop, std::move(socket), deadline));      // greeting and qmp_capabilities
//   HARENA_TRY(json status, qmp->execute("query-status", {}, deadline));

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::vmm {

using nlohmann::json;

/// A longer line of QEMU ends the connection: no answer that is asked for comes near it. The longest are lists of the snapshots in a
/// machine's disks, some 200 bytes for each and disk.
inline constexpr std::size_t kMaxQmpLineBytes = 16 << 20;
/// Events between two looks that are remembered by name; further ones are dropped.
inline constexpr std::size_t kMaxQmpEvents = 64;

class QmpClient {
 public:
  /// Waits for the greeting, checks that it is one and leaves the negotiation mode. `loop` outlives the client.
  static Result<std::unique_ptr<QmpClient>> start(EventLoop& loop, UniqueFd socket, std::int64_t deadline_ns);
  ~QmpClient();
  QmpClient(const QmpClient&) = delete;
  QmpClient& operator=(const QmpClient&) = delete;

  /// One command, its "return". `fds` go along (SCM_RIGHTS; getfd and add-fd). What QEMU refuses is failed_precondition with its words;
  /// a closed or broken connection unavailable; one command at a time.
  Result<json> execute(const std::string& command, const json& arguments, std::int64_t deadline_ns, std::span<const int> fds = {});
  /// Whether QEMU can still be heard.
  bool connected() const { return !broken_; }
  /// How often an event of this name came ("SHUTDOWN", "GUEST_PANICKED"); from the start, at most kMaxQmpEvents different ones.
  int event_count(const std::string& name) const;
  /// "data" of the last one; null without.
  json last_event(const std::string& name) const;
  /// QEMU's version, from the greeting: "7.2.22".
  const std::string& version() const { return version_; }

 private:
  QmpClient(EventLoop& loop, UniqueFd socket) : loop_(loop), socket_(std::move(socket)) {}
  Status watch();
  Status greet(std::int64_t deadline_ns);
  void on_readable();
  void take_line(const std::string& line);
  void break_off(Error why);
  Status send(const std::string& text, std::span<const int> fds) const;

  EventLoop& loop_;
  UniqueFd socket_;
  std::string in_;
  std::string version_;
  std::optional<json> greeting_;
  std::optional<json> reply_;
  std::uint64_t last_id_ = 0;
  std::optional<Error> broken_;
  struct Event {
    int count = 0;
    json data;
  };
  std::map<std::string, Event> events_;
};

}  // namespace harena::vmm
