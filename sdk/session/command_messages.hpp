#pragma once
// Commands: start, attach, stdin, signal, list; what is known about one, and how it ended.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/session/fields.hpp"

namespace harena::session {

enum class Stream : std::uint8_t { out = 1, err = 2 };
enum class StdinMode : std::uint8_t { none = 0, pipe = 1 };
enum class OnOutputLimit : std::uint8_t { discard = 0, kill = 1 };
enum class OnDisconnect : std::uint8_t { keep = 0, kill = 1 };
enum class SignalTarget : std::uint8_t { process = 0, group = 1, tree = 2 };
enum class CommandState : std::uint8_t { starting = 0, running = 1, exited = 2 };

/// Why a command ended. `exit` and `signal` are the command's own doing.
enum class ExitCause : std::uint8_t {
  exit = 0,
  signal = 1,
  timeout = 2,
  no_output_timeout = 3,
  oom = 4,
  pids = 5,
  disk = 6,
  output_limit = 7,
  sandbox_stopped = 8,
  platform = 9,
  /// Killed through the API: signal to the tree, forget, or on_disconnect.
  killed = 10,
};
/// "exit", "no_output_timeout", ...
std::string_view to_string(ExitCause cause);
std::string_view to_string(CommandState state);

inline constexpr std::uint64_t kDefaultOutputLimit = 64ull << 20;
/// A request has at most kMaxMessageBytes in all; this leaves room for a script beside it.
inline constexpr std::size_t kMaxStdinDataBytes = 4 << 20;
/// Op ids: 1 to 128 bytes.
inline constexpr std::size_t kMaxOpBytes = 128;

/// Exactly one of argv / shell. Errors come before any stream: not_found (binary, cwd, user), permission_denied,
/// resource_exhausted with cause limit and detail "pids", invalid_argument, already_exists (op with other arguments).
struct StartRequest {
  static constexpr bool kIsMessage = true;
  std::vector<std::string> argv;
  /// Run by the sandbox's /bin/sh; up to kMaxMessageBytes in all.
  std::string shell;
  /// Byte-exact; added to the image's environment, or all there is with replace_env.
  std::vector<std::pair<std::string, std::string>> env;
  bool replace_env = false;
  /// Empty: the user's home if it can be entered, else "/".
  std::string cwd;
  /// "", "name", "name:group", "uid" or "uid:gid"; empty is root.
  std::string user;
  /// Supplementary groups, names or numbers; empty: those of /etc/group for a named user.
  std::vector<std::string> groups;
  StdinMode stdin_mode = StdinMode::none;
  bool pty = false;
  std::uint16_t rows = 24;
  std::uint16_t cols = 80;
  /// 0: none. From the start to the main process' exit.
  std::uint64_t timeout_ms = 0;
  /// 0: none. Ends the command when neither stream got a byte for so long.
  std::uint64_t no_output_timeout_ms = 0;
  /// Bytes kept a stream.
  std::uint64_t output_limit_bytes = kDefaultOutputLimit;
  OnOutputLimit on_output_limit = OnOutputLimit::discard;
  /// Same op and same arguments: the command that was started under it, running or ended.
  std::string op;
  OnDisconnect on_disconnect = OnDisconnect::keep;
  /// Go on as an attach from offset 0 in the same operation.
  bool attach = false;
  /// Run by the platform's own tools, which the agent can't replace, cover or trace: `shell` by their sh, argv[0] a bare name among
  /// them; an environment with nothing of the sandbox's in it. Excludes pty, replace_env and users by name (invalid_argument);
  /// failed_precondition where the sandbox has no such tools.
  bool trusted_tools = false;
  /// With StdinMode::pipe: all that the command gets on stdin, then its end; at most kMaxStdinDataBytes. The endpoint has it when it
  /// answers `started`, so it arrives whatever becomes of the client. Needs kFeatureStdinData.
  std::string stdin_data;
  /// With attach: `started` isn't awaited by itself, so it may come together with the first frame behind it. A hint; older endpoints skip it.
  bool late_started = false;
  bool operator==(const StartRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &StartRequest::argv);
    f(2, &StartRequest::shell);
    f(3, &StartRequest::env);
    f(4, &StartRequest::replace_env);
    f(5, &StartRequest::cwd);
    f(6, &StartRequest::user);
    f(7, &StartRequest::groups);
    f(8, &StartRequest::stdin_mode);
    f(9, &StartRequest::pty);
    f(10, &StartRequest::rows);
    f(11, &StartRequest::cols);
    f(12, &StartRequest::timeout_ms);
    f(13, &StartRequest::no_output_timeout_ms);
    f(14, &StartRequest::output_limit_bytes);
    f(15, &StartRequest::on_output_limit);
    f(16, &StartRequest::op);
    f(17, &StartRequest::on_disconnect);
    f(18, &StartRequest::attach);
    f(19, &StartRequest::trusted_tools);
    f(20, &StartRequest::stdin_data);
    f(0x8001, &StartRequest::late_started);
  }
};

struct Started {
  static constexpr bool kIsMessage = true;
  std::string command;
  /// In the sandbox's own numbering where it has one; kept after its end.
  std::int64_t pid = 0;
  /// The op id was known: nothing was started now.
  bool existing = false;
  bool operator==(const Started&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &Started::command);
    f(2, &Started::pid);
    f(3, &Started::existing);
  }
};

/// Sent after the last byte of both streams up to the totals that it states.
struct ExitStatus {
  static constexpr bool kIsMessage = true;
  /// -1 when a signal ended it.
  std::int32_t code = -1;
  std::int32_t signal = 0;
  ExitCause cause = ExitCause::exit;
  /// oom: "memory"; pids: "pids"; disk: "sandbox" (its own) or "spool" (where output is kept); output_limit: "stream" or "sandbox"
  /// (which cap); platform: the part, as "host_memory". Else empty.
  std::string cause_detail;
  std::int64_t started_ms = 0;
  std::int64_t exited_ms = 0;
  /// Bytes that the command wrote until its end was recorded, and how many of them are kept.
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::uint64_t stdout_kept = 0;
  std::uint64_t stderr_kept = 0;
  /// A process that it left behind still held its output when the end was recorded.
  bool background = false;
  std::uint64_t cpu_user_us = 0;
  std::uint64_t cpu_system_us = 0;
  std::uint64_t max_rss_bytes = 0;
  /// What the kernel counted in the whole sandbox between the command's start and its end: processes that the OOM killer ended,
  /// forks that the limit of processes refused. Also when the cause is another.
  std::uint64_t oom_kills = 0;
  std::uint64_t forks_refused = 0;
  bool operator==(const ExitStatus&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ExitStatus::code);
    f(2, &ExitStatus::signal);
    f(3, &ExitStatus::cause);
    f(4, &ExitStatus::cause_detail);
    f(5, &ExitStatus::started_ms);
    f(6, &ExitStatus::exited_ms);
    f(7, &ExitStatus::stdout_bytes);
    f(8, &ExitStatus::stderr_bytes);
    f(9, &ExitStatus::stdout_kept);
    f(10, &ExitStatus::stderr_kept);
    f(11, &ExitStatus::background);
    f(12, &ExitStatus::cpu_user_us);
    f(13, &ExitStatus::cpu_system_us);
    f(14, &ExitStatus::max_rss_bytes);
    f(15, &ExitStatus::oom_kills);
    f(16, &ExitStatus::forks_refused);
  }
};

struct CommandInfo {
  static constexpr bool kIsMessage = true;
  std::string id;
  std::string op;
  /// As asked; a shell text is shown as its first kShownShellBytes.
  std::vector<std::string> argv;
  std::string shell;
  CommandState state = CommandState::starting;
  std::int64_t pid = 0;
  std::int64_t started_ms = 0;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  std::uint64_t stdout_kept = 0;
  std::uint64_t stderr_kept = 0;
  std::uint64_t stdin_bytes = 0;
  bool pty = false;
  bool stdin_open = false;
  OnDisconnect on_disconnect = OnDisconnect::keep;
  std::optional<ExitStatus> exit;
  bool operator==(const CommandInfo&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &CommandInfo::id);
    f(2, &CommandInfo::op);
    f(3, &CommandInfo::argv);
    f(4, &CommandInfo::shell);
    f(5, &CommandInfo::state);
    f(6, &CommandInfo::pid);
    f(7, &CommandInfo::started_ms);
    f(8, &CommandInfo::stdout_bytes);
    f(9, &CommandInfo::stderr_bytes);
    f(10, &CommandInfo::stdout_kept);
    f(11, &CommandInfo::stderr_kept);
    f(12, &CommandInfo::stdin_bytes);
    f(13, &CommandInfo::pty);
    f(14, &CommandInfo::stdin_open);
    f(15, &CommandInfo::exit);
    f(16, &CommandInfo::on_disconnect);
  }
};
inline constexpr std::size_t kShownShellBytes = 256;

/// Output from the offsets on, then exit. Offsets past what is kept are out_of_range.
struct AttachRequest {
  static constexpr bool kIsMessage = true;
  std::string command;
  std::uint64_t stdout_offset = 0;
  std::uint64_t stderr_offset = 0;
  /// false: what there is now, then ok without exit if it still runs.
  bool follow = true;
  /// Also what processes left behind wrote after the recorded end, until the last of them closes its output.
  bool background = false;
  bool operator==(const AttachRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &AttachRequest::command);
    f(2, &AttachRequest::stdout_offset);
    f(3, &AttachRequest::stderr_offset);
    f(4, &AttachRequest::follow);
    f(5, &AttachRequest::background);
  }
};

/// Once a stream, when the reader has all that is kept and more was written.
struct Truncated {
  static constexpr bool kIsMessage = true;
  Stream stream = Stream::out;
  std::uint64_t kept = 0;
  /// "stream" (the command's own limit), "sandbox" (the sandbox's total) or "disk".
  std::string limit;
  bool operator==(const Truncated&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &Truncated::stream);
    f(2, &Truncated::kept);
    f(3, &Truncated::limit);
  }
};

/// Then data frames, and data_end to close the command's stdin. The first byte has number `offset`; bytes that
/// the command has already got are skipped, a gap is out_of_range. Without data_end stdin stays open.
struct StdinRequest {
  static constexpr bool kIsMessage = true;
  std::string command;
  /// Default: behind what was taken until now.
  std::optional<std::uint64_t> offset;
  bool operator==(const StdinRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &StdinRequest::command);
    f(2, &StdinRequest::offset);
  }
};

struct ResizeRequest {
  static constexpr bool kIsMessage = true;
  std::string command;
  std::uint16_t rows = 0;
  std::uint16_t cols = 0;
  bool operator==(const ResizeRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ResizeRequest::command);
    f(2, &ResizeRequest::rows);
    f(3, &ResizeRequest::cols);
  }
};

struct SignalRequest {
  static constexpr bool kIsMessage = true;
  std::string command;
  /// 1 to 64.
  std::int32_t signal = 0;
  SignalTarget target = SignalTarget::process;
  bool operator==(const SignalRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &SignalRequest::command);
    f(2, &SignalRequest::signal);
    f(3, &SignalRequest::target);
  }
};

/// info, wait (until the end; answers CommandInfo, at the latest after timeout_ms when it isn't 0) and forget
/// (kills the tree, removes record and output; idempotent only while the record exists).
struct CommandRequest {
  static constexpr bool kIsMessage = true;
  std::string command;
  std::uint64_t timeout_ms = 0;
  bool operator==(const CommandRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &CommandRequest::command);
    f(2, &CommandRequest::timeout_ms);
  }
};

struct CommandList {
  static constexpr bool kIsMessage = true;
  std::vector<CommandInfo> commands;
  bool operator==(const CommandList&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &CommandList::commands);
  }
};

struct Empty {
  static constexpr bool kIsMessage = true;
  bool operator==(const Empty&) const = default;
  template <class F>
  static void fields(F&) {}
};

}  // namespace harena::session
