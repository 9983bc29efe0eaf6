#include "sdk/conformance/image_kit.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "sdk/digest/sha256.hpp"

namespace harena::conformance {

std::string digest_of(std::string_view bytes) { return "sha256:" + sha256_hex(bytes); }

std::string noise(std::size_t size, std::uint64_t seed) {
  SeededRandom random(seed);
  std::string bytes(size, '\0');
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

UniqueFd file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("blob", MFD_CLOEXEC));
  for (std::size_t at = 0; at < bytes.size();) {
    ssize_t n = ::write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n <= 0) throw Failed{"writing a blob of the case"};
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

void ImageStoreRun::start() {
  instance_ = c_.instance();
  driver_.emplace(c_.need(ImageStoreDriver::of(*instance_), "its functions"));
}

std::string ImageStoreRun::put(std::string_view bytes) {
  UniqueFd file = file_of(bytes);
  json made = c_.need((*driver_).put("", file.get()), "put");
  std::string right = digest_of(bytes);
  c_.require(made.value("digest", "") == right, "put's digest is " + made.dump() + "; " + right + " is right");
  c_.require(made.value("size", std::size_t{0}) == bytes.size(), "put's size is " + made.dump() + "; " + std::to_string(bytes.size()) + " is right");
  return right;
}

void ImageStoreRun::need_blob(const std::string& digest, std::string_view bytes) {
  json opened = c_.need(driver_->open(digest), "open");
  std::string path = opened.value("path", "");
  c_.require(path.starts_with("/"), "open's path '" + path + "' isn't absolute");
  c_.require(content_of(path) == bytes, "the file of blob " + digest + " has other bytes than were put");
}

}  // namespace harena::conformance
