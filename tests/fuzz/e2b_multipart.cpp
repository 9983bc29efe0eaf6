// multipart/form-data of E2B's uploads; the first line is the content type. Property: however the bytes are cut, the same parts come out.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/e2b/envd/http/multipart.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::e2b {
namespace {

struct Outcome {
  std::vector<PartHead> heads;
  std::vector<std::string> bodies;
  bool failed = false;
  bool operator==(const Outcome&) const = default;
};

Outcome parse_in_steps(std::string_view boundary, std::string_view bytes, std::size_t step) {
  MultipartParser parser(boundary);
  Outcome out;
  while (true) {
    const auto event = parser.next();
    if (!event.ok()) {
      out.failed = true;
      return out;
    }
    switch (*event) {
      case MultipartParser::Event::begin:
        out.heads.push_back(parser.head());
        out.bodies.emplace_back();
        break;
      case MultipartParser::Event::data: out.bodies.back() += parser.data(); break;
      case MultipartParser::Event::end: break;
      case MultipartParser::Event::finished: return out;
      case MultipartParser::Event::need_more:
        if (bytes.empty()) return out;
        parser.add(bytes.substr(0, step));
        bytes.remove_prefix(std::min(step, bytes.size()));
    }
  }
}

}  // namespace
}  // namespace harena::e2b

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::e2b;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto line = std::min(bytes.find('\n'), bytes.size());
  const auto boundary = multipart_boundary(bytes.substr(0, line));
  if (!boundary) return 0;
  bytes.remove_prefix(std::min(line + 1, bytes.size()));
  auto whole = parse_in_steps(*boundary, bytes, size + 1);
  auto pieces = parse_in_steps(*boundary, bytes, 2);
  // What came before an error depends on the cut: bytes of a body are given out as they come.
  if (whole.failed || pieces.failed) return 0;
  // So does how much of a body that never ended was given out.
  if (!whole.bodies.empty() && whole.bodies.size() == pieces.bodies.size()) {
    whole.bodies.pop_back();
    pieces.bodies.pop_back();
  }
  harena::fuzz::expect(whole == pieces, "pieces of any size give the same parts");
  return 0;
}
