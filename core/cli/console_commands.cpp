// console

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "core/cli/detach_keys.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/signals.hpp"
#include "core/cli/terminal.hpp"
#include "sdk/client/attach.hpp"

namespace harena::cli {

namespace {

struct ConsoleOptions {
  std::string sandbox;
  std::string detach_keys = "ctrl-p,ctrl-q";
};

/// The serial line with this program's stdin and stdout, until the keys, a signal or the machine end it.
class ConsoleSession {
 public:
  ConsoleSession(client::Attachment& line, const BlockedSignals& signals, DetachKeys keys)
      : line_(line), signals_(signals), keys_(std::move(keys)) {}

  Status run() {
    while (!left_) HARENA_TRY_STATUS(step());
    return {};
  }

 private:
  Status step() {
    std::array<pollfd, 3> waited = {pollfd{line_.fd(), POLLIN, 0}, pollfd{signals_.fd(), POLLIN, 0},
                                    pollfd{input_open_ ? STDIN_FILENO : -1, POLLIN, 0}};
    if (!line_.pending() && ::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return errno_error(errno, "poll");
    if (waited[1].revents != 0 && signals_.take() != 0) left_ = true;
    if (waited[2].revents != 0) HARENA_TRY_STATUS(on_input());
    if (left_ || (!line_.pending() && waited[0].revents == 0)) return {};
    HARENA_TRY(const auto message, line_.receive());
    return message ? write_all(STDOUT_FILENO, message->output) : ok_status();
  }

  Status on_input() {
    std::array<char, 4096> buffer;
    const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    input_open_ = count > 0;  // what the guest writes is still shown
    if (!input_open_) return {};
    const auto typed = keys_.feed({buffer.data(), static_cast<std::size_t>(count)});
    left_ = typed.detached;
    return typed.forward.empty() ? ok_status() : line_.send_input(typed.forward);
  }

  client::Attachment& line_;
  const BlockedSignals& signals_;
  DetachKeys keys_;
  bool input_open_ = true;
  bool left_ = false;
};

Result<int> console(Program& program, const ConsoleOptions& options) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  auto keys = DetachKeys();  // bytes from a pipe mean nothing to us
  if (terminal) {
    HARENA_TRY(keys, DetachKeys::parse(options.detach_keys));
  }
  HARENA_TRY(const auto signals, BlockedSignals::block({SIGINT, SIGTERM, SIGHUP}));
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto line, client::Attachment::open_console(*client, options.sandbox));
  std::optional<RawMode> raw;
  if (terminal) {
    HARENA_TRY(auto entered, RawMode::enter());
    raw.emplace(std::move(entered));
  }
  HARENA_TRY_STATUS(ConsoleSession(*line, signals, std::move(keys)).run());
  raw.reset();
  if (terminal) HARENA_TRY_STATUS(write_all(STDERR_FILENO, "\nleft the console of " + options.sandbox + "\n"));
  return kExitOk;
}

}  // namespace

void add_console(Program& program) {
  auto options = std::make_shared<ConsoleOptions>();
  auto* sub = program.command("console", "The serial console of a full machine",
                              [&program, options] { return console(program, *options); });
  sub->add_option("sandbox", options->sandbox, "Id of the sandbox")->required();
  sub->add_option("--detach-keys", options->detach_keys, "Keys that leave it")->capture_default_str();
}

}  // namespace harena::cli
