#include "shim/command_table.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace harena::shim {

using session::StartRequest;
using session::StdinMode;

namespace {

Error invalid_start(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// What would let the agent into a command that runs the platform's tools.
Status check_trusted(const StartRequest& request) {
  if (!request.trusted_tools) return {};
  if (request.pty) return invalid_start("trusted_tools with a pty: everybody of the sandbox may write to its terminals; leave the pty out");
  if (request.replace_env) return invalid_start("trusted_tools with replace_env: such a command has nothing of the sandbox's environment anyway; leave it out");
  if (!request.argv.empty() && request.argv.front().find('/') != std::string::npos) {
    return invalid_start("trusted_tools with program '" + request.argv.front() + "': the bare name of a tool is right, such as 'sh' or 'cat'");
  }
  if (request.user.find_first_not_of("0123456789:") != std::string::npos) {
    return invalid_start("trusted_tools with user '" + request.user + "': names are in the sandbox's own /etc/passwd; a number such as 1000 or 1000:1000 is right");
  }
  for (const auto& group : request.groups) {
    if (group.find_first_not_of("0123456789") == std::string::npos) continue;
    return invalid_start("trusted_tools with group '" + group + "': names are in the sandbox's own /etc/group; a number is right");
  }
  return {};
}

Status check_environment(const StartRequest& request) {
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name)) return invalid_start("env name '" + name + "': not empty, no '=' and no NUL");
    if (has_nul(value)) return invalid_start("env value of '" + name + "' has a NUL byte, which execve(2) can't pass");
  }
  return {};
}

/// Length and two 64-bit FNV-1a hashes of what must agree under one op id: all but how the starter listens. It guards a
/// client against its own mistakes, not against an attacker: whoever may start commands may start any.
std::string arguments_digest(StartRequest request) {
  request.attach = false;
  request.late_started = false;
  std::string bytes = session::encode(request);
  std::uint64_t a = 14695981039346656037u, b = 1099511628211u;
  for (char c : bytes) {
    a = (a ^ static_cast<unsigned char>(c)) * 1099511628211u;
    b = (b + static_cast<unsigned char>(c)) * 6364136223846793005u + (a >> 7);
  }
  return std::to_string(bytes.size()) + "/" + std::to_string(a) + "/" + std::to_string(b);
}

std::uint64_t number_of(const std::string& id) {
  std::uint64_t number = 0;
  if (id.size() < 2 || id[0] != 'c') return 0;
  auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() && id[1] != '0' ? number : 0;
}

}  // namespace

Status check_start(const StartRequest& request) {
  if (request.argv.empty() == request.shell.empty()) return invalid_start("a command has either argv or a shell text");
  for (const auto& argument : request.argv) {
    if (has_nul(argument)) return invalid_start("an argument has a NUL byte, which execve(2) can't pass");
  }
  if (!request.argv.empty() && request.argv.front().empty()) return invalid_start("argv[0] is empty: the name of the program");
  if (has_nul(request.shell)) return invalid_start("the shell text has a NUL byte");
  if (has_nul(request.cwd) || has_nul(request.user)) return invalid_start("cwd or user has a NUL byte");
  if (request.op.size() > session::kMaxOpBytes) return invalid_start("op of " + std::to_string(request.op.size()) + " bytes: at most 128");
  if (request.stdin_mode > StdinMode::pipe) return invalid_start("unknown stdin mode");
  HARENA_TRY_STATUS(check_trusted(request));
  if (request.stdin_data.size() > session::kMaxStdinDataBytes) {
    return invalid_start("stdin_data of " + std::to_string(request.stdin_data.size()) + " bytes: at most 4 MiB; more goes through stdin_open");
  }
  if (!request.stdin_data.empty() && request.stdin_mode != StdinMode::pipe) return invalid_start("stdin_data needs stdin mode 'pipe'");
  return check_environment(request);
}

CommandTable::CommandTable(EventLoop& loop, Reaper& reaper, const Sandbox& sandbox, Spawner& spawner)
    : loop_(loop), reaper_(reaper), sandbox_(sandbox), leaves_(sandbox), spawner_(spawner), oom_explained_(sandbox.counters().oom_kills()) {
  budget_.cap = sandbox.options().spool_cap_bytes;
  budget_.make_room = [this](std::uint64_t wanted) {
    while (budget_.used + wanted > budget_.cap && evict_oldest()) {
    }
  };
}

Result<std::shared_ptr<Command>> CommandTable::under_op(const StartRequest& request) const {
  auto it = ops_.find(request.op);
  if (it == ops_.end()) {
    if (old_op_set_.count(request.op) == 0) return std::shared_ptr<Command>();
    return make_error(ErrorCode::failed_precondition, "op '" + request.op + "' ran already and its result isn't kept any more");
  }
  auto command = commands_.at(it->second.number);
  if (arguments_digest(request) == it->second.digest) return command;
  return make_error(ErrorCode::already_exists, "op '" + request.op + "' is command '" + command->id() +
                                                   "', which was started with other arguments; another command needs another op");
}

Result<CommandTable::Found> CommandTable::start(const StartRequest& request) {
  HARENA_TRY_STATUS(check_start(request));
  if (!request.op.empty()) {
    HARENA_TRY(auto existing, under_op(request));
    if (existing) return Found{existing, true};
  }
  if (running() >= kMaxRunningCommands) return make_error(ErrorCode::resource_exhausted, "16384 commands are running in this sandbox");
  std::uint64_t number = next_++;
  std::uint64_t mark = kFirstMark + (static_cast<std::uint64_t>(::getpid()) << 24) + (number & 0xffffff);
  auto command = std::make_shared<Command>(CommandHost{loop_, reaper_, sandbox_, budget_, leaves_, spawner_, *this}, "c" + std::to_string(number), request, mark);
  HARENA_TRY_STATUS(command->start());
  commands_.emplace(number, command);
  ++running_;
  if (!request.op.empty()) ops_.emplace(request.op, Op{number, arguments_digest(request)});
  return Found{command, false};
}

Result<std::shared_ptr<Command>> CommandTable::find(const std::string& id) const {
  auto it = commands_.find(number_of(id));
  if (it == commands_.end()) return make_error(ErrorCode::not_found, "no such command '" + id + "' in this sandbox");
  return it->second;
}

session::CommandList CommandTable::list() const {
  session::CommandList list;
  for (const auto& [number, command] : commands_) list.commands.push_back(command->info());
  return list;
}

void CommandTable::erase(const std::string& id) {
  auto it = commands_.find(number_of(id));
  if (it == commands_.end()) return;
  const auto& op = it->second->request().op;
  if (!op.empty()) ops_.erase(op);
  // The room now (whoever makes room counts on it), the object at the end of the turn: its own method may be what called this.
  it->second->spool(session::Stream::out)->discard();
  it->second->spool(session::Stream::err)->discard();
  loop_.defer([command = it->second] {});
  commands_.erase(it);
}

Status CommandTable::forget(const std::string& id) {
  HARENA_TRY(auto command, find(id));
  command->kill(session::ExitCause::killed);
  const auto& op = command->request().op;
  if (!op.empty()) {
    old_ops_.push_back(op);
    old_op_set_[op]++;
    if (old_ops_.size() > kMaxRememberedOps) {
      old_op_set_.erase(old_ops_.front());
      old_ops_.pop_front();
    }
  }
  erase(id);
  return {};
}

void CommandTable::on_settled(const Command& command) {
  --running_;
  // It may have been forgotten while it ran; and whoever waits for it is told first.
  loop_.defer([this, id = command.id(), failed = command.failure().has_value()] {
    // Its op may be used again: nothing ran.
    if (failed) erase(id);
    trim();
  });
}

bool CommandTable::evict_oldest() {
  for (const auto& [number, command] : commands_) {
    // One that left wanted processes behind keeps its record: forgetting would end them.
    if (!command->exit() || !command->output_closed() || command.use_count() > 1 || command->has_processes()) continue;
    return forget(command->id()).ok();
  }
  return false;
}

void CommandTable::trim() {
  while (commands_.size() - running() > kMaxEndedCommands && evict_oldest()) {
  }
}

void CommandTable::kill_all(session::ExitCause cause) {
  auto all = commands_;
  for (const auto& [number, command] : all) command->kill(cause);
}

void CommandTable::signal_all(int signal) {
  auto all = commands_;
  for (const auto& [number, command] : all) (void)command->signal(signal, session::SignalTarget::tree);
}

void CommandTable::fill(session::Stats& stats) const {
  stats.commands_running = static_cast<std::uint32_t>(running());
  stats.commands_kept = static_cast<std::uint32_t>(commands_.size() - running());
  stats.commands_started = next_ - 1;
  stats.spool_bytes = budget_.used;
}

}  // namespace harena::shim
