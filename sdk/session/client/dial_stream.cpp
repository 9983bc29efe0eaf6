#include "sdk/session/client/dial_stream.hpp"

#include <algorithm>
#include <utility>

namespace harena::session {

Task<Result<std::size_t>> DialStream::read(std::span<std::byte> into) {
  if (read_done_) co_return std::size_t{0};
  HARENA_CO_TRY(const auto count, co_await channel_->receive_data(into));
  if (count > 0) co_return count;
  // The end of what comes; or an error of the endpoint, which is returned as such.
  HARENA_CO_TRY(auto frame, co_await channel_->receive());
  read_done_ = true;
  if (frame.type == FrameType::data_end || frame.type == FrameType::ok) co_return std::size_t{0};
  co_return infrastructure_error(ErrorCode::data_loss, "session", "the session endpoint sent '" + to_string(frame.type) + "' instead of data");
}

Task<Status> DialStream::write(std::span<const std::byte> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!rest.empty()) {
    const auto part = rest.substr(0, Channel::kPartBytes);
    HARENA_CO_TRY_STATUS(co_await channel_->send_raw(FrameType::data, part));
    rest.remove_prefix(part.size());
  }
  co_return ok_status();
}

Task<Status> DialStream::shutdown_write() {
  if (std::exchange(write_done_, true)) co_return ok_status();
  co_return co_await channel_->send(FrameType::data_end, {});
}

}  // namespace harena::session
