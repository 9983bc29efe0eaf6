// The tar reader, over a source that gives its bytes in uneven parts. Properties: entries begin and end in turns, data grows and stays
// in what the entry says, and an archive that is cut never reads as whole and larger.
#include <algorithm>
#include <string_view>

#include "shim/tar_names.hpp"
#include "shim/tar_reader.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::shim {
namespace {

class Bytes final : public TarSource {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  Result<std::string_view> next() override {
    constexpr std::size_t kParts[] = {1, 511, 512, 513, 10'240};
    const auto part = rest_.substr(0, kParts[turn_++ % std::size(kParts)]);
    rest_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view rest_;
  std::size_t turn_ = 0;
};

class Checker final : public TarSink {
 public:
  Status begin(const TarEntry& entry) override {
    fuzz::expect(!open_, "an entry begins after the one before has ended");
    fuzz::expect(entry.size >= 0, "a size isn't negative");
    open_ = true;
    reached_ = 0;
    return ok_status();
  }
  Status data(std::int64_t offset, std::string_view bytes) override {
    fuzz::expect(open_ && offset >= reached_, "data comes inside an entry, at growing offsets");
    reached_ = offset + static_cast<std::int64_t>(bytes.size());
    return ok_status();
  }
  Status end(const TarEntry& entry) override {
    fuzz::expect(open_ && reached_ <= std::max<std::int64_t>(entry.size, 0), "data stays in the entry's size");
    open_ = false;
    return ok_status();
  }

 private:
  bool open_ = false;
  std::int64_t reached_ = 0;
};

}  // namespace
}  // namespace harena::shim

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  harena::shim::use_names_as_bytes();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  harena::shim::Bytes source({reinterpret_cast<const char*>(data), size});
  harena::shim::Checker checker;
  (void)harena::shim::read_tar(source, checker);
  return 0;
}
