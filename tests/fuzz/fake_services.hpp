#pragma once
// The API over an edge, an image store and a session endpoint that do nothing: all that stands between a socket and the machine, and
// nothing behind it. One running sandbox, one token that may do everything but touch images and administer.

#include <memory>
#include <string>

namespace harena::fuzz {

class FakeServices {
 public:
  static constexpr const char* kSandbox = "edge1000000000000001";

  FakeServices();
  ~FakeServices();
  /// Sends bytes to the API as one client does, then half-closes; returns all that came back until the server closed.
  std::string exchange(const std::string& bytes);

 private:
  struct World;
  std::unique_ptr<World> world_;
};

}  // namespace harena::fuzz
