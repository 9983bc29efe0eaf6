#include "shim/stdin_writer.hpp"

#include <algorithm>

namespace harena::shim {

StdinWriter::StdinWriter(Connection& connection, std::shared_ptr<Command> command, Outcome outcome)
    : connection_(connection), command_(std::move(command)), outcome_(std::move(outcome)) {
  command_->claim_input(this, [this] {
    failed_ = true;
    outcome_.failed(make_error(ErrorCode::aborted, "another writer took the stdin of command '" + command_->id() + "'"));
  });
}

StdinWriter::~StdinWriter() { command_->release_input(this); }

Status StdinWriter::begin_at(std::uint64_t offset) {
  std::uint64_t taken = command_->input().taken();
  if (offset > taken) {
    return make_error(ErrorCode::out_of_range, "stdin offset " + std::to_string(offset) + ": the next byte is number " + std::to_string(taken));
  }
  skip_ = taken - offset;
  repeats_ = !command_->input().is_open();
  return {};
}

void StdinWriter::add(std::string_view bytes) {
  if (failed_) return;
  auto skipped = std::min<std::uint64_t>(skip_, bytes.size());
  skip_ -= skipped;
  bytes.remove_prefix(static_cast<std::size_t>(skipped));
  pending_.append(bytes);
  if (bytes.empty()) connection_.send_u64(session::FrameType::ack, command_->input().taken());
  pump();
}

void StdinWriter::end() {
  end_ = true;
  pump();
}

void StdinWriter::pump() {
  if (failed_) return;
  auto rest = std::string_view(pending_).substr(used_);
  auto took = rest.empty() ? 0 : command_->input().write(rest);
  if (took < 0 || (end_ && !repeats_ && !command_->input().is_open())) {
    failed_ = true;
    command_->input().end();
    return outcome_.failed(make_error(ErrorCode::failed_precondition, "command '" + command_->id() + "' doesn't read its stdin any more"));
  }
  used_ += static_cast<std::size_t>(took);
  if (took > 0) connection_.send_u64(session::FrameType::ack, command_->input().taken());
  if (used_ < pending_.size()) {
    connection_.pause();
    return command_->input().when_writable([this] { pump(); });
  }
  pending_.clear();
  used_ = 0;
  if (end_) {
    command_->input().end();
    return outcome_.ended();
  }
  connection_.resume();
}

}  // namespace harena::shim
