#pragma once
// A TCP connection to a port of the sandbox. The shim is in the sandbox's network namespace, so the socket is born there; once
// connected it goes to the client whole, and no byte of it passes the shim.

#include "sdk/session/hello.hpp"
#include "shim/connection.hpp"

namespace harena::shim {

class DialOperation : public Operation {
 public:
  DialOperation(Connection& connection, session::DialRequest request);
  ~DialOperation() override;
  void begin();

 private:
  void try_next();
  void add_listeners();
  void on_connected();
  void give_up();

  session::DialRequest request_;
  std::vector<std::string> hosts_;
  UniqueFd socket_;
  EventLoop::Id watch_ = 0;
  EventLoop::Id timer_ = 0;
  bool listeners_added_ = false;
  int last_error_ = 0;
};

}  // namespace harena::shim
