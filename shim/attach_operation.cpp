#include "shim/attach_operation.hpp"

#include <algorithm>

namespace harena::shim {

using session::FrameType;
using session::Stream;

namespace {
constexpr std::size_t kChunkBytes = 256 << 10;
}

AttachOperation::AttachOperation(Connection& connection, CommandTable& table, std::shared_ptr<Command> command,
                                 session::AttachRequest request, bool kill_on_disconnect)
    : Operation(connection), table_(table), command_(std::move(command)), request_(std::move(request)),
      out_{Stream::out, FrameType::output_out, request_.stdout_offset},
      err_{Stream::err, FrameType::output_err, request_.stderr_offset}, kill_on_disconnect_(kill_on_disconnect) {
  command_->listen(*this);
}

AttachOperation::~AttachOperation() {
  writer_.reset();
  command_->unlisten(*this);
  if (!finished_ && kill_on_disconnect_ && !command_->exit()) command_->kill(session::ExitCause::killed);
  if (!command_->exit() || !command_->output_closed()) return;
  command_->spool(Stream::out)->rest();
  command_->spool(Stream::err)->rest();
}

Status AttachOperation::check() const {
  for (const auto* reader : {&out_, &err_}) {
    auto kept = command_->spool(reader->stream)->kept();
    if (reader->offset <= kept) continue;
    return make_error(ErrorCode::out_of_range, std::string(reader->stream == Stream::out ? "stdout" : "stderr") + " offset " +
                                                   std::to_string(reader->offset) + ": " + std::to_string(kept) + " bytes are kept");
  }
  return {};
}

void AttachOperation::announce() {
  if (late_started_) connection_.send_message(FrameType::started, *late_started_);
  late_started_.reset();
}

std::uint64_t AttachOperation::end_of(const Reader& reader) const {
  auto kept = command_->spool(reader.stream)->kept();
  const auto& exit = command_->exit();
  if (!exit || request_.background) return kept;
  return std::min(kept, reader.stream == Stream::out ? exit->stdout_kept : exit->stderr_kept);
}

void AttachOperation::mark_truncated(Reader& reader) {
  auto spool = command_->spool(reader.stream);
  if (reader.marked || !spool->truncated() || reader.offset < spool->kept()) return;
  announce();
  reader.marked = true;
  session::Truncated marker;
  marker.stream = reader.stream;
  marker.kept = spool->kept();
  marker.limit = spool->limited_by();
  connection_.send_message(FrameType::truncated, marker);
}

bool AttachOperation::pump_stream(Reader& reader) {
  std::uint64_t end = end_of(reader);
  if (reader.offset >= end) {
    mark_truncated(reader);
    return false;
  }
  auto length = static_cast<std::size_t>(std::min<std::uint64_t>(end - reader.offset, kChunkBytes));
  announce();
  connection_.send_output(reader.frame, command_->spool(reader.stream), reader.offset, length);
  reader.offset += length;
  return true;
}

void AttachOperation::pump() {
  if (finished_) return;
  bool more = true;
  while (more && connection_.queued() < Connection::kQueueHigh) {
    bool out = pump_stream(out_);
    bool err = pump_stream(err_);
    more = out || err;
  }
  if (!more) finish_if_done();
}

void AttachOperation::finish_if_done() {
  if (!at_end(out_) || !at_end(err_)) return;
  bool over = command_->exit() && (!request_.background || command_->output_closed());
  if (!over && request_.follow) return;
  finished_ = true;
  announce();
  if (over) connection_.send_message(FrameType::exit, *command_->exit());
  connection_.finish();
}

StdinWriter& AttachOperation::writer() {
  if (!writer_) {
    // A command that doesn't read is no reason to end the stream of its output.
    writer_ = std::make_unique<StdinWriter>(connection_, command_, StdinWriter::Outcome{[this] { connection_.resume(); },
                                                                                      [this](const Error&) { connection_.resume(); }});
  }
  return *writer_;
}

void AttachOperation::on_frame(const session::FrameHeader& header, std::string_view payload) {
  if (header.type == FrameType::data) return writer().add(payload);
  if (header.type == FrameType::data_end) return writer().end();
  if (header.type == FrameType::resize_now) {
    auto resize = session::decode<session::ResizeRequest>(payload);
    if (resize) (void)command_->resize(resize->rows, resize->cols);
    return;
  }
  if (header.type == FrameType::signal_now) {
    auto signal = session::decode<session::SignalRequest>(payload);
    if (signal) (void)command_->signal(signal->signal, signal->target);
    return;
  }
  if ((header.flags & session::kFlagMayIgnore) == 0) Operation::on_frame(header, payload);
}

}  // namespace harena::shim
