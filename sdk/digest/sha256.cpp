#include "sdk/digest/sha256.hpp"

#include <fcntl.h>
#include <openssl/evp.h>

#include <cerrno>
#include <new>
#include <utility>
#include <vector>

#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

EVP_MD_CTX* as_evp(void* context) { return static_cast<EVP_MD_CTX*>(context); }

void must(int openssl_result) {
  if (openssl_result != 1) throw std::bad_alloc();
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  if (EVP_DigestInit_ex(as_evp(context_), EVP_sha256(), nullptr) == 1) return;
  EVP_MD_CTX_free(as_evp(context_));
  throw std::bad_alloc();
}

Sha256::Sha256(Sha256&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}

Sha256& Sha256::operator=(Sha256&& other) noexcept {
  std::swap(context_, other.context_);
  return *this;
}

Sha256::~Sha256() { EVP_MD_CTX_free(as_evp(context_)); }

void Sha256::update(std::span<const std::byte> bytes) {
  must(EVP_DigestUpdate(as_evp(context_), bytes.data(), bytes.size()));
}

void Sha256::update(std::string_view bytes) { update(std::as_bytes(std::span(bytes))); }

Sha256::Digest Sha256::digest() const {
  Sha256 copy;  // EVP's final ends a context, so a copy is ended
  must(EVP_MD_CTX_copy_ex(as_evp(copy.context_), as_evp(context_)));
  Digest digest{};
  must(EVP_DigestFinal_ex(as_evp(copy.context_), reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

std::string Sha256::hex() const { return to_hex(digest()); }

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

Result<std::string> sha256_file(int borrow_fd) {
  constexpr std::size_t kBlock = 256 * 1024;
  std::vector<std::byte> block(kBlock);
  Sha256 hash;
  while (true) {
    const auto count = ::read(borrow_fd, block.data(), block.size());
    if (count == 0) return hash.hex();
    if (count > 0) {
      hash.update(std::span(block).first(static_cast<std::size_t>(count)));
    } else if (errno != EINTR) {
      return errno_error(errno, "reading a file to hash it");
    }
  }
}

Result<std::string> sha256_file(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error(errno, "opening " + path.string());
  auto hex = sha256_file(file.get());
  if (!hex.ok()) return std::move(hex).error().during("hashing " + path.string());
  return hex;
}

}  // namespace harena
