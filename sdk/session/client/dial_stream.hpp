#pragma once
// A connection to a port in the sandbox over the session's own channel: data frames both ways, where the endpoint can't pass the socket
// itself (it is in a VM).

#include <memory>

#include "sdk/session/client/channel.hpp"

namespace harena::session {

class DialStream final : public http::ByteStream {
 public:
  /// `channel`: behind the `ok` of its dial. It belongs to the connection from here on and ends with it.
  explicit DialStream(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}
  using ByteStream::write;
  Task<Result<std::size_t>> read(std::span<std::byte> into) override;
  Task<Status> write(std::span<const std::byte> bytes) override;
  Task<Status> shutdown_write() override;
  void close() override { channel_->close(); }
  std::string peer() const override { return "sandbox"; }

 private:
  std::unique_ptr<Channel> channel_;
  bool read_done_ = false;
  bool write_done_ = false;
};

}  // namespace harena::session
