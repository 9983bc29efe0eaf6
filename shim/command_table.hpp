#pragma once
// The sandbox's commands, running and ended; op ids; what is kept and what has to go.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "sdk/session/hello.hpp"
#include "shim/command.hpp"

namespace harena::shim {

inline constexpr std::size_t kMaxEndedCommands = 1000;
inline constexpr std::size_t kMaxRememberedOps = 16384;
inline constexpr std::size_t kMaxRunningCommands = 16384;

class CommandTable : public CommandOwner {
 public:
  CommandTable(EventLoop& loop, Reaper& reaper, const Sandbox& sandbox, Spawner& spawner);

  void on_settled(const Command& command) override;
  bool sandbox_ending() const override { return ending_; }
  std::uint64_t unexplained_oom_kills() const override { return sandbox_.counters().oom_kills() - oom_explained_; }
  void explained_by_oom() override { ++oom_explained_; }
  /// From here on what fails fails because the sandbox is being stopped.
  void sandbox_is_ending() { ending_ = true; }

  struct Found {
    std::shared_ptr<Command> command;
    bool existing = false;
  };
  /// The command under the request's op, or a new one that has begun to start. Errors: invalid_argument, already_exists,
  /// failed_precondition (op whose result isn't kept), resource_exhausted.
  Result<Found> start(const session::StartRequest& request);
  /// not_found names the id.
  Result<std::shared_ptr<Command>> find(const std::string& id) const;
  session::CommandList list() const;
  /// Kills and forgets. not_found.
  Status forget(const std::string& id);
  void kill_all(session::ExitCause cause);
  void signal_all(int signal);
  std::size_t running() const { return running_; }
  void fill(session::Stats& stats) const;

 private:
  Result<std::shared_ptr<Command>> under_op(const session::StartRequest& request) const;
  /// Ended, without a reader, oldest first; false when there is none.
  bool evict_oldest();
  void erase(const std::string& id);
  /// Keeps the number of records in bounds.
  void trim();

  EventLoop& loop_;
  Reaper& reaper_;
  const Sandbox& sandbox_;
  SpoolBudget budget_;
  LeafPool leaves_;
  Spawner& spawner_;
  /// By number: oldest first.
  std::map<std::uint64_t, std::shared_ptr<Command>> commands_;
  struct Op {
    std::uint64_t number;
    std::string digest;
  };
  std::unordered_map<std::string, Op> ops_;
  std::deque<std::string> old_ops_;
  std::unordered_map<std::string, int> old_op_set_;
  std::uint64_t next_ = 1;
  std::size_t running_ = 0;
  std::uint64_t oom_explained_ = 0;
  bool ending_ = false;
};

/// invalid_argument names what is wrong.
Status check_start(const session::StartRequest& request);

}  // namespace harena::shim
