#include "shim/command_operations.hpp"

#include "shim/attach_operation.hpp"
#include "shim/command_table.hpp"

namespace harena::shim {

using session::FrameType;
using session::UnknownKeys;

namespace {

/// Waits for the new process to get to exec or to say why not.
class StartOperation : public Operation, public CommandListener {
 public:
  StartOperation(Connection& connection, CommandTable& table, CommandTable::Found found, const session::StartRequest& request)
      : Operation(connection), table_(table), found_(std::move(found)), attach_(request.attach), late_(request.attach && request.late_started),
        kill_on_disconnect_(request.on_disconnect == session::OnDisconnect::kill && !found_.existing) {
    found_.command->listen(*this);
    // Stdin that came right behind the request waits until it has where to go.
    connection.pause();
  }
  ~StartOperation() override {
    found_.command->unlisten(*this);
    if (!done_ && kill_on_disconnect_) found_.command->kill(session::ExitCause::killed);
  }

  void on_command() override {
    if (done_ || (found_.command->state() == session::CommandState::starting && !found_.command->failure())) return;
    done_ = true;
    if (const auto& failure = found_.command->failure()) return connection_.fail(*failure);
    session::Started started{found_.command->id(), found_.command->pid(), found_.existing};
    if (!late_) connection_.send_message(FrameType::started, started);
    if (!attach_) return connection_.finish();
    session::AttachRequest request;
    request.command = found_.command->id();
    auto next = std::make_unique<AttachOperation>(connection_, table_, found_.command, request, kill_on_disconnect_);
    auto* attached = next.get();
    if (late_) attached->announce_late(std::move(started));
    connection_.become(std::move(next));
    connection_.resume();
    attached->pump();
  }

 private:
  CommandTable& table_;
  CommandTable::Found found_;
  bool attach_;
  bool late_;
  bool kill_on_disconnect_;
  bool done_ = false;
};

class StdinOperation : public Operation {
 public:
  StdinOperation(Connection& connection, std::shared_ptr<Command> command)
      : Operation(connection),
        writer_(connection, std::move(command),
                {[this] { connection_.finish(); }, [this](const Error& error) { connection_.fail_and_close(error); }}) {}

  Status begin_at(std::uint64_t offset) { return writer_.begin_at(offset); }
  void on_frame(const session::FrameHeader& header, std::string_view payload) override {
    if (header.type == FrameType::data) return writer_.add(payload);
    if (header.type == FrameType::data_end) return writer_.end();
    Operation::on_frame(header, payload);
  }

 private:
  StdinWriter writer_;
};

class WaitOperation : public Operation, public CommandListener {
 public:
  WaitOperation(Connection& connection, std::shared_ptr<Command> command, std::uint64_t timeout_ms)
      : Operation(connection), command_(std::move(command)) {
    command_->listen(*this);
    if (timeout_ms > 0) {
      timer_ = connection.loop().after_ms(static_cast<std::int64_t>(timeout_ms), [this] { connection_.finish_message(command_->info()); });
    }
  }
  ~WaitOperation() override {
    command_->unlisten(*this);
    connection_.loop().cancel(timer_);
  }
  void on_command() override {
    if (command_->ended()) connection_.finish_message(command_->info());
  }

 private:
  std::shared_ptr<Command> command_;
  EventLoop::Id timer_ = 0;
};

void start(Connection& connection, CommandTable& table, const session::StartRequest& request) {
  auto found = table.start(request);
  if (!found) return connection.fail(found.error());
  auto operation = std::make_unique<StartOperation>(connection, table, *std::move(found), request);
  auto* started = operation.get();
  connection.become(std::move(operation));
  started->on_command();
}

void attach(Connection& connection, CommandTable& table, const session::AttachRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  auto operation = std::make_unique<AttachOperation>(connection, table, *command, request, false);
  if (auto status = operation->check(); !status) return connection.fail(status.error());
  auto* attached = operation.get();
  connection.become(std::move(operation));
  attached->pump();
}

void open_stdin(Connection& connection, CommandTable& table, const session::StdinRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  auto& input = (*command)->input();
  std::uint64_t offset = request.offset.value_or(input.taken());
  // Who lost the answer to its last bytes, or to the end, asks again, and is told that they were taken.
  const bool repeats = request.offset && (offset < input.taken() || (offset == input.taken() && input.was_ended()));
  if (!input.is_open() && !repeats) {
    return connection.fail(make_error(ErrorCode::failed_precondition, "the stdin of command '" + request.command + "' is closed at byte " + std::to_string(input.taken())));
  }
  auto operation = std::make_unique<StdinOperation>(connection, *command);
  if (auto status = operation->begin_at(offset); !status) return connection.fail(status.error());
  connection.become(std::move(operation));
  connection.send(FrameType::ready, {});
}

void wait(Connection& connection, CommandTable& table, const session::CommandRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  if ((*command)->ended()) return connection.finish_message((*command)->info());
  connection.become(std::make_unique<WaitOperation>(connection, *command, request.timeout_ms));
}

void answer(Connection& connection, Status status) {
  if (!status) return connection.fail(status.error());
  connection.finish();
}

void signal(Connection& connection, CommandTable& table, const session::SignalRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  answer(connection, (*command)->signal(request.signal, request.target));
}

void resize(Connection& connection, CommandTable& table, const session::ResizeRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  answer(connection, (*command)->resize(request.rows, request.cols));
}

void info(Connection& connection, CommandTable& table, const session::CommandRequest& request) {
  auto command = table.find(request.command);
  if (!command) return connection.fail(command.error());
  connection.finish_message((*command)->info());
}

void forget(Connection& connection, CommandTable& table, const session::CommandRequest& request) {
  answer(connection, table.forget(request.command));
}

void list(Connection& connection, CommandTable& table, const session::Empty&) {
  auto commands = table.list();
  // A reply has at most 8 MiB: shown arguments are what could be long.
  for (auto& command : commands.commands) {
    for (auto& argument : command.argv) argument.resize(std::min<std::size_t>(argument.size(), session::kShownShellBytes));
    if (command.argv.size() > 16) command.argv.resize(16);
  }
  connection.finish_message(commands);
}

template <class Request>
bool run(Connection& connection, CommandTable& table, std::string_view payload, void (*handler)(Connection&, CommandTable&, const Request&)) {
  auto request = session::decode<Request>(payload, UnknownKeys::refuse);
  if (request) {
    handler(connection, table, *request);
  } else {
    connection.fail(request.error());
  }
  return true;
}

}  // namespace

bool begin_command_operation(Connection& connection, CommandTable& table, FrameType type, std::string_view payload) {
  switch (type) {
    case FrameType::start: return run(connection, table, payload, &start);
    case FrameType::attach: return run(connection, table, payload, &attach);
    case FrameType::stdin_open: return run(connection, table, payload, &open_stdin);
    case FrameType::resize: return run(connection, table, payload, &resize);
    case FrameType::signal: return run(connection, table, payload, &signal);
    case FrameType::list: return run(connection, table, payload, &list);
    case FrameType::info: return run(connection, table, payload, &info);
    case FrameType::wait: return run(connection, table, payload, &wait);
    case FrameType::forget: return run(connection, table, payload, &forget);
    default: return false;
  }
}

}  // namespace harena::shim
