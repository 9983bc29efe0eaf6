#pragma once
// What the image-store cases share.

#include <string>

#include "sdk/base/unique_fd.hpp"
#include "sdk/conformance/case.hpp"

namespace harena::conformance {

inline const std::string kImageStoreContract = HARENA_IMAGE_STORE_CONTRACT;

/// "sha256:..." of some bytes.
std::string digest_of(std::string_view bytes);
/// `size` bytes that look random; the same for the same seed.
std::string noise(std::size_t size, std::uint64_t seed);
/// A file of these bytes without a name, at its start.
UniqueFd file_of(std::string_view bytes);
/// What a path holds.
std::string content_of(const std::string& path);

class ImageStoreRun {
 public:
  explicit ImageStoreRun(Context& c) : c_(c) { start(); }
  const ImageStoreDriver* operator->() const { return &*driver_; }
  void restart() {
    driver_.reset();
    instance_.reset();
    start();
  }
  /// Puts the bytes; the case fails unless the digest is right.
  std::string put(std::string_view bytes);
  /// The case fails unless the blob is there with these bytes.
  void need_blob(const std::string& digest, std::string_view bytes);

 private:
  void start();
  Context& c_;
  std::unique_ptr<loader::Instance> instance_;
  std::optional<ImageStoreDriver> driver_;
};

}  // namespace harena::conformance
