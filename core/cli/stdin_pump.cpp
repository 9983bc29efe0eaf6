#include "core/cli/stdin_pump.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/cli/signals.hpp"

namespace harena::cli {

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

/// It ended, or closed its stdin: as with a local pipe, that is its own affair.
bool is_closed(const Error& error) {
  return error.code == ErrorCode::failed_precondition || error.code == ErrorCode::not_found;
}

}  // namespace

Result<std::unique_ptr<StdinPump>> StdinPump::start(const client::Client& client, const std::string& sandbox_id,
                                                    std::string command_id) {
  HARENA_TRY(auto wakeup, make_wakeup());
  std::unique_ptr<StdinPump> pump(new StdinPump(client.clone(), sandbox_id, std::move(command_id), std::move(wakeup)));
  pump->thread_ = std::thread([raw = pump.get()] { raw->run(); });
  return pump;
}

StdinPump::StdinPump(std::unique_ptr<client::Client> client, const std::string& sandbox_id, std::string command_id,
                     UniqueFd wakeup)
    : client_(std::move(client)),
      commands_(*client_, sandbox_id),
      command_id_(std::move(command_id)),
      wakeup_(std::move(wakeup)) {}

StdinPump::~StdinPump() { stop(); }

void StdinPump::stop() {
  if (!thread_.joinable()) return;
  wake(wakeup_);
  client_->connection().abort();
  thread_.join();
}

void StdinPump::run() {
  const auto status = carry();
  if (!status.ok() && !is_closed(status.error()) && status.error().code != ErrorCode::cancelled) error_ = status.error();
}

Status StdinPump::carry() {
  std::string buffer(kPieceBytes, '\0');
  std::int64_t offset = 0;
  while (wait_for_input()) {
    const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return errno_error(errno, "reading stdin");
    if (count == 0) {
      HARENA_TRY_STATUS(commands_.write_stdin(command_id_, "", offset, true));
      return {};
    }
    std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
    while (!rest.empty()) {
      HARENA_TRY(const auto accepted, commands_.write_stdin(command_id_, rest, offset, false));
      if (accepted < offset || accepted > offset + static_cast<std::int64_t>(rest.size())) {
        return make_error(ErrorCode::data_loss, "the server counts the bytes of stdin differently: somebody else writes too");
      }
      rest.remove_prefix(static_cast<std::size_t>(accepted - offset));
      offset = accepted;
    }
  }
  return {};
}

bool StdinPump::wait_for_input() {
  std::array<pollfd, 2> waited = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{wakeup_.get(), POLLIN, 0}};
  while (::poll(waited.data(), waited.size(), -1) < 0 && errno == EINTR) {
  }
  return waited[1].revents == 0;
}

}  // namespace harena::cli
