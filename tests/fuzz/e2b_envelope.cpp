// Envelopes of E2B's streams. Property: however the bytes are cut, the same envelopes come out, and written again they are the same bytes.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/e2b/envd/connect/envelope.hpp"
#include "plugins/e2b/envd/http/gzip.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::e2b {
namespace {

struct Outcome {
  std::vector<Envelope> envelopes;
  bool failed = false;
};

Outcome read_in_steps(std::string_view bytes, std::size_t step) {
  EnvelopeReader reader(1 << 16);
  Outcome out;
  while (true) {
    auto next = reader.next();
    out.failed = !next.ok();
    if (out.failed) return out;
    if (*next) {
      out.envelopes.push_back(std::move(**next));
    } else if (bytes.empty()) {
      return out;
    } else {
      reader.add(bytes.substr(0, step));
      bytes.remove_prefix(std::min(step, bytes.size()));
    }
  }
}

}  // namespace
}  // namespace harena::e2b

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::e2b;
  using harena::fuzz::expect;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = read_in_steps(bytes, size + 1);
  const auto pieces = read_in_steps(bytes, 3);
  expect(whole.envelopes == pieces.envelopes && whole.failed == pieces.failed, "pieces of any size give the same envelopes");
  std::string again;
  for (const auto& envelope : whole.envelopes) {
    append_envelope(again, envelope.flags, envelope.payload);
    if (envelope.compressed()) (void)gunzip(envelope.payload, 1 << 16);
  }
  expect(bytes.starts_with(again), "envelopes written again are the bytes that were read");
  return 0;
}
