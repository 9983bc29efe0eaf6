#include "sdk/session/flow_control.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace harena::session {
namespace {

constexpr std::uint64_t kLastStreamId = 0xffff'ffff;

Error wrong(std::string message) { return make_error(ErrorCode::invalid_argument, "session protocol: " + std::move(message)); }

}  // namespace

std::size_t SendWindow::allow(std::size_t wanted) const { return static_cast<std::size_t>(std::min<std::uint64_t>(wanted, credit_)); }

Status SendWindow::grant(std::uint64_t bytes) {
  if (bytes == 0) return wrong("a window of 0 bytes");
  if (bytes > kMaxWindowBytes - credit_) {
    return wrong("a window of " + std::to_string(bytes) + " bytes more than the " + std::to_string(credit_) + " that are left: at most " +
                 std::to_string(kMaxWindowBytes) + " together");
  }
  credit_ += bytes;
  return {};
}

Status ReceiveWindow::receive(std::size_t bytes) {
  if (bytes > credit_) return wrong("a frame of " + std::to_string(bytes) + " bytes with credit for " + std::to_string(credit_));
  credit_ -= bytes;
  return {};
}

std::uint64_t ReceiveWindow::consume(std::size_t bytes) {
  used_ += bytes;
  if (used_ < kInitialWindowBytes / 2) return 0;
  credit_ += used_;
  return std::exchange(used_, 0);
}

Status StreamIds::open(std::uint32_t id) {
  if (id % 2 == 0) return wrong("stream " + std::to_string(id) + ": ids of a client are odd");
  if (id < next_) return wrong("stream " + std::to_string(id) + " after " + std::to_string(next_ - 2) + ": ids grow");
  next_ = std::uint64_t{id} + 2;
  return {};
}

Result<std::uint32_t> StreamIds::next() {
  if (next_ > kLastStreamId) return make_error(ErrorCode::resource_exhausted, "the channel has used all its stream ids");
  return static_cast<std::uint32_t>(std::exchange(next_, next_ + 2));
}

}  // namespace harena::session
