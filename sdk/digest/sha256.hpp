#pragma once
// SHA-256 of bytes as they come, of texts and of files.
//
//   Sha256 hash;
//   hash.update("ab");
//   hash.update("c");
//   hash.hex();  // "ba7816bf..."

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

/// A running hash. Not thread-safe; movable, a moved-from object may only be destroyed or assigned to.
class Sha256 {
 public:
  static constexpr std::size_t kSize = 32;
  using Digest = std::array<std::byte, kSize>;

  /// Throws std::bad_alloc if OpenSSL can't allocate or has no SHA-256 (a broken installation).
  Sha256();
  Sha256(Sha256&& other) noexcept;
  Sha256& operator=(Sha256&& other) noexcept;
  ~Sha256();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes);

  /// The digest of all bytes so far; the hash goes on, so that it may be asked again later.
  Digest digest() const;
  /// The same as 64 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  void* context_;  // EVP_MD_CTX, owned
};

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// Of a descriptor's content from its current offset to its end; moves the offset, doesn't close.
/// Errors: those of read(2).
Result<std::string> sha256_file(int borrow_fd);
/// Of a whole file; follows symbolic links. Errors: those of open(2) and read(2), naming the path.
Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace harena
