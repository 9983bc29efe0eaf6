#pragma once
// ConsoleGate: the serial console and the screen of a machine as WebSockets, for terminals and for noVNC.
//
// A backend whose sandboxes have them names their Unix sockets in `details.consoles` of what its create answers: {"serial": PATH,
// "vnc": PATH}. The bytes of the socket are binary messages, both ways.

#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class ConsoleGate {
 public:
  explicit ConsoleGate(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  http::Task<Result<Reply>> console(ApiCall& call);
  http::Task<Result<Reply>> vnc(ApiCall& call);
  /// failed_precondition unless it runs (a paused one isn't resumed by somebody who looks), unimplemented when it has no such console.
  http::Task<Result<Reply>> bridge(ApiCall& call, std::string name, std::string verb);

  ApiServices& services_;
};

}  // namespace harena
