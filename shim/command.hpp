#pragma once
// One command: from its start to the record of its end, and the output in between. Readers and writers are listeners;
// none of them can hold it up.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "sdk/session/command_messages.hpp"
#include "shim/command_streams.hpp"
#include "shim/exit_cause.hpp"
#include "shim/process_set.hpp"
#include "shim/reaper.hpp"
#include "shim/spawner.hpp"

namespace harena::shim {

class Command;

/// Who keeps commands, and what it knows that one of them doesn't.
class CommandOwner {
 public:
  virtual ~CommandOwner() = default;
  /// It has ended, or never ran. Called once, after the listeners.
  virtual void on_settled(const Command& command) = 0;
  virtual bool sandbox_ending() const = 0;
  /// OOM kills since the shim's start that no command's end was explained by.
  virtual std::uint64_t unexplained_oom_kills() const = 0;
  virtual void explained_by_oom() = 0;
};

/// What commands share.
struct CommandHost {
  EventLoop& loop;
  Reaper& reaper;
  const Sandbox& sandbox;
  SpoolBudget& budget;
  LeafPool& leaves;
  Spawner& spawner;
  CommandOwner& owner;
};

class CommandListener {
 public:
  virtual ~CommandListener() = default;
  /// Something changed: state, output, or the end. May remove itself.
  virtual void on_command() = 0;
};

class Command : public std::enable_shared_from_this<Command> {
 public:
  /// After the exit of the main process, output that others still hold is waited for: so long without a byte ...
  static constexpr std::int64_t kDrainQuietMs = 200;
  /// ... and so long at most.
  static constexpr std::int64_t kDrainMaxMs = 5'000;
  static constexpr std::int64_t kSpawnTimeoutMs = 30'000;

  Command(CommandHost host, std::string id, session::StartRequest request, std::uint64_t mark);
  ~Command();

  /// Begins; the outcome is state() != starting, or failed().
  Status start();

  const std::string& id() const { return id_; }
  /// As asked while it starts; afterwards what is shown of it (a shell text of 2 MB isn't kept for an hour).
  const session::StartRequest& request() const { return request_; }
  session::CommandState state() const { return state_; }
  /// Set when it never ran.
  const std::optional<Error>& failure() const { return failure_; }
  const std::optional<session::ExitStatus>& exit() const { return exit_; }
  bool ended() const { return exit_.has_value() || failure_.has_value(); }
  /// No process of it holds its output any more.
  bool output_closed() const { return out_pump_.at_end() && err_pump_.at_end(); }
  /// Also those that the main process left behind.
  bool has_processes() const { return group_ && !group_->empty(); }
  session::CommandInfo info() const;
  std::int64_t pid() const { return inner_pid_; }

  std::shared_ptr<Spool> spool(session::Stream which) const { return which == session::Stream::out ? out_ : err_; }
  InputFeed& input() { return input_; }

  void listen(CommandListener& listener) { listeners_.insert(&listener); }
  void unlisten(CommandListener& listener) { listeners_.erase(&listener); }

  /// Ends everything that it started; the first cause stays. Idempotent.
  void kill(session::ExitCause cause, std::string detail = {});
  /// failed_precondition when the target has ended.
  Status signal(int signal, session::SignalTarget target);
  /// failed_precondition without a PTY.
  Status resize(std::uint16_t rows, std::uint16_t cols);

  /// The operation that feeds stdin now; a newer one calls the older's `replaced`.
  void claim_input(const void* owner, std::function<void()> replaced);
  void release_input(const void* owner);

 private:
  struct Pipes {
    UniqueFd in_child, in_ours, out_child, out_ours, err_child, err_ours;
  };
  Result<Pipes> make_pipes() const;
  Result<UniqueFd> keep_stdin_data();
  void open_streams(Pipes& pipes);
  void read_reports();
  void take_report(ReportMessage report);
  Error explain(std::string_view failed) const;
  void on_born(pid_t pid);
  void on_channel_closed();
  void open_pty(UniqueFd master);
  void on_running();
  void shorten_request();
  void on_spawn_failed(Error error);
  void on_output();
  void on_main_death(const Death& death);
  void consider_end();
  void record_end();
  session::ExitStatus describe_death(const Death& death) const;
  void arm_timeouts();
  void arm_quiet_timer();
  void kill_again();
  void remove_group_when_empty();
  void notify();

  CommandHost host_;
  std::string id_;
  session::StartRequest request_;
  std::uint64_t mark_;
  session::CommandState state_ = session::CommandState::starting;
  std::optional<Error> failure_;
  std::optional<session::ExitStatus> exit_;
  std::optional<Death> death_;
  std::optional<session::ExitCause> kill_cause_;
  std::string kill_detail_;
  session::ExitStatus end_;
  std::int64_t started_ms_ = 0;
  std::int64_t died_ms_ = 0;
  struct Counts {
    std::uint64_t oom_kills = 0, memory_limit_hits = 0, forks_refused = 0;
  };
  static Counts count(const SandboxCounters& counters);
  EndFacts facts_of(const Death& death, const Counts& now) const;
  Counts before_;
  bool memory_was_full() const;
  bool killed_before_exec() const;
  Error why_not_started(bool never_born) const;

  std::optional<ProcessSet> group_;
  /// -1 before its birth is known and from its death on; nobody else waits for it, so in between the number is its own.
  pid_t child_ = -1;
  /// The spawner hasn't said yet which process it is.
  bool unborn_ = false;
  std::int64_t inner_pid_ = 0;
  bool died_before_exec_ = false;
  UniqueFd report_;
  UniqueFd pty_;
  /// stdin_data until there is where to feed it.
  UniqueFd stdin_file_;
  std::shared_ptr<Spool> out_, err_;
  OutputPump out_pump_, err_pump_;
  InputFeed input_;
  EventLoop::Id report_watch_ = 0, spawn_timer_ = 0, timeout_timer_ = 0, no_output_timer_ = 0, quiet_timer_ = 0,
                drain_timer_ = 0, kill_timer_ = 0, group_timer_ = 0;
  std::int64_t kill_delay_ms_ = 2;
  std::int64_t last_output_ns_ = 0;
  std::set<CommandListener*> listeners_;
  const void* input_owner_ = nullptr;
  std::function<void()> input_replaced_;
};

}  // namespace harena::shim
