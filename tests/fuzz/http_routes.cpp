// Every route of the API, from the socket's bytes on. Properties: the server answers or closes, each answer is one of ours, and no
// input is an internal error.
#include <string>

#include "tests/fuzz/fake_services.hpp"
#include "tests/fuzz/target.hpp"

namespace {

harena::fuzz::FakeServices& services() {
  static harena::fuzz::FakeServices one;  // libFuzzer's interface has no other place for it
  return one;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  services();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using harena::fuzz::expect;
  const auto answer = services().exchange(std::string(reinterpret_cast<const char*>(data), size));
  expect(answer.empty() || answer.starts_with("HTTP/1.1 "), "what comes back is HTTP");
  expect(answer.find("HTTP/1.1 500") == std::string::npos, "no input is an internal error");
  return 0;
}
