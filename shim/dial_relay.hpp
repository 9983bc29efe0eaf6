#pragma once
// The second half of `dial` where no descriptor can pass to the client (the endpoint is in a VM): the socket's bytes as data frames.

#include <string>

#include "shim/connection.hpp"

namespace harena::shim {

/// Follows the `ok` of a dial. The client's data goes to the socket, what comes from there to the client, each end by itself; the final
/// `ok` comes when both directions have ended. A socket that breaks ends the operation with `unavailable`.
class DialRelay final : public Operation {
 public:
  DialRelay(Connection& connection, UniqueFd socket);
  ~DialRelay() override;
  void on_frame(const session::FrameHeader& header, std::string_view payload) override;
  void on_writable() override;

 private:
  void on_events(std::uint32_t events);
  void read_some();
  void write_some();
  void update();
  void finish_if_done();
  void broken(int error);

  UniqueFd socket_;
  EventLoop::Id watch_ = 0;
  std::string out_;
  std::size_t out_sent_ = 0;
  bool client_ended_ = false;
  bool write_done_ = false;
  bool read_done_ = false;
  bool held_ = false;
};

}  // namespace harena::shim
