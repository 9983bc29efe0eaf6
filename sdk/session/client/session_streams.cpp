#include "sdk/session/client/session_streams.hpp"

namespace harena::session {
namespace {

Error unexpected(FrameType type) {
  return infrastructure_error(ErrorCode::data_loss, "session", "the session endpoint sent an unexpected frame '" + to_string(type) + "'");
}

/// After a failed write the endpoint may have said why before it closed.
Task<Error> reason_for(Channel& channel, Error write_error) {
  for (;;) {
    auto frame = co_await channel.receive();
    if (frame) continue;
    if (frame.error().cause_detail == "session") co_return write_error;
    co_return std::move(frame).error();
  }
}

}  // namespace

Status OutputReader::take_output(ReceivedFrame frame, OutputEvent& event) {
  event.kind = OutputEvent::Kind::output;
  event.stream = frame.type == FrameType::output_out ? Stream::out : Stream::err;
  event.offset = next_offset_;
  if (!frame.continued) {
    HARENA_TRY(event.offset, leading_u64(frame.payload));
    frame.payload.erase(0, 8);
  }
  event.bytes = std::move(frame.payload);
  next_offset_ = event.offset + event.bytes.size();
  return {};
}

Task<Result<ReceivedFrame>> OutputReader::receive() {
  auto frame = co_await channel_->receive();
  auto request = std::exchange(again_, std::nullopt);
  if (frame || !request || !is_lost(frame.error())) co_return frame;
  HARENA_CO_TRY(channel_, co_await endpoint_->connect());
  HARENA_CO_TRY_STATUS(co_await channel_->send_message(FrameType::attach, *request));
  co_return co_await channel_->receive();
}

Task<Result<OutputEvent>> OutputReader::next() {
  OutputEvent event;
  if (!channel_) co_return event;
  for (;;) {
    HARENA_CO_TRY(auto frame, co_await receive());
    switch (frame.type) {
      case FrameType::output_out:
      case FrameType::output_err: {
        HARENA_CO_TRY_STATUS(take_output(std::move(frame), event));
        if (event.bytes.empty()) break;
        co_return event;
      }
      case FrameType::truncated: {
        HARENA_CO_TRY(event.truncated, decode<Truncated>(frame.payload));
        event.kind = OutputEvent::Kind::truncated;
        event.stream = event.truncated.stream;
        event.offset = event.truncated.kept;
        co_return event;
      }
      case FrameType::exit: {
        HARENA_CO_TRY(event.exit, decode<ExitStatus>(frame.payload));
        event.kind = OutputEvent::Kind::exit;
        co_return event;
      }
      case FrameType::ack: {
        HARENA_CO_TRY(acked_, leading_u64(frame.payload));
        break;
      }
      case FrameType::ok: {
        co_await give_back();
        co_return event;
      }
      default: co_return unexpected(frame.type);
    }
  }
}

Task<Status> OutputReader::write_stdin(std::string_view bytes) {
  constexpr std::size_t kPart = 256 << 10;
  again_.reset();
  while (!bytes.empty()) {
    if (!channel_) co_return make_error(ErrorCode::failed_precondition, "the command has ended");
    HARENA_CO_TRY_STATUS(co_await channel_->send(FrameType::data, bytes.substr(0, kPart)));
    bytes.remove_prefix(std::min(kPart, bytes.size()));
  }
  co_return ok_status();
}

Task<Status> OutputReader::end_stdin() {
  if (!channel_) co_return ok_status();
  again_.reset();
  co_return co_await channel_->send(FrameType::data_end, {});
}

Task<Status> OutputReader::resize(std::uint16_t rows, std::uint16_t cols) {
  if (!channel_) co_return ok_status();
  again_.reset();
  ResizeRequest request;
  request.rows = rows;
  request.cols = cols;
  co_return co_await channel_->send_message(FrameType::resize_now, request);
}

Task<Status> OutputReader::signal(int signal, SignalTarget target) {
  if (!channel_) co_return ok_status();
  again_.reset();
  SignalRequest request;
  request.signal = signal;
  request.target = target;
  co_return co_await channel_->send_message(FrameType::signal_now, request);
}

Task<Status> StdinStream::await_acks(std::uint64_t window) {
  while (sent_ > acked_ + window) {
    HARENA_CO_TRY(auto frame, co_await channel_->receive());
    if (frame.type != FrameType::ack) co_return unexpected(frame.type);
    HARENA_CO_TRY(acked_, leading_u64(frame.payload));
  }
  co_return ok_status();
}

Task<Status> StdinStream::write(std::string_view bytes) {
  constexpr std::size_t kPart = 64 << 10;
  while (!bytes.empty()) {
    auto part = bytes.substr(0, kPart);
    auto sent = co_await channel_->send(FrameType::data, part);
    if (!sent) co_return co_await reason_for(*channel_, std::move(sent).error());
    sent_ += part.size();
    bytes.remove_prefix(part.size());
    HARENA_CO_TRY_STATUS(co_await await_acks(kWindowBytes));
  }
  co_return ok_status();
}

Task<Status> StdinStream::flush() { return await_acks(0); }

Task<Status> StdinStream::end() {
  auto sent = co_await channel_->send(FrameType::data_end, {});
  if (!sent) co_return co_await reason_for(*channel_, std::move(sent).error());
  for (;;) {
    HARENA_CO_TRY(auto frame, co_await channel_->receive());
    if (frame.type == FrameType::ok) break;
    if (frame.type != FrameType::ack) co_return unexpected(frame.type);
    HARENA_CO_TRY(acked_, leading_u64(frame.payload));
  }
  co_await give_back();
  co_return ok_status();
}

Task<Result<std::size_t>> FileReader::read(std::span<std::byte> into) {
  if (done_) co_return std::size_t{0};
  HARENA_CO_TRY(auto got, co_await channel_->receive_data(into));
  if (got > 0) co_return got;
  HARENA_CO_TRY(auto frame, co_await channel_->receive());
  if (frame.type != FrameType::ok) co_return unexpected(frame.type);
  done_ = true;
  co_await give_back();
  co_return std::size_t{0};
}

Task<Result<std::string>> FileReader::next() {
  std::string bytes(Channel::kPartBytes, '\0');
  HARENA_CO_TRY(auto got, co_await read(std::as_writable_bytes(std::span(bytes))));
  bytes.resize(got);
  co_return bytes;
}

Task<Status> FileReader::choose(FileRange range) {
  co_return co_await channel_->send_message(FrameType::file_range, range);
}

Task<Status> FileReader::decline() {
  HARENA_CO_TRY_STATUS(co_await channel_->send(FrameType::data_end, {}));
  HARENA_CO_TRY_STATUS(co_await channel_->receive_ok());
  done_ = true;
  co_await give_back();
  co_return ok_status();
}

Task<Status> UploadStream::write(std::string_view bytes) {
  constexpr std::size_t kPart = 512 << 10;
  while (!bytes.empty()) {
    auto sent = co_await channel_->send_raw(FrameType::data, bytes.substr(0, kPart));
    if (!sent) co_return co_await reason_for(*channel_, std::move(sent).error());
    bytes.remove_prefix(std::min(kPart, bytes.size()));
  }
  co_return ok_status();
}

Task<Result<std::string>> UploadStream::end() {
  auto sent = co_await channel_->send(FrameType::data_end, {});
  if (!sent) co_return co_await reason_for(*channel_, std::move(sent).error());
  HARENA_CO_TRY(auto payload, co_await channel_->receive_ok());
  co_await give_back();
  co_return payload;
}

Task<Result<FileStat>> FileWriter::finish() {
  HARENA_CO_TRY(auto payload, co_await end());
  co_return decode<FileStat>(payload);
}

Task<Result<FileArchiveEnd>> ArchiveWriter::finish() {
  HARENA_CO_TRY(auto payload, co_await end());
  co_return decode<FileArchiveEnd>(payload);
}

Task<Result<std::optional<FileEvent>>> FileWatcher::next() {
  HARENA_CO_TRY(auto frame, co_await channel_->receive());
  std::optional<FileEvent> event;
  if (frame.type == FrameType::ok) {
    co_await give_back();
    co_return event;
  }
  if (frame.type != FrameType::file_event) co_return unexpected(frame.type);
  HARENA_CO_TRY(event, decode<FileEvent>(frame.payload));
  co_return event;
}

}  // namespace harena::session
