#pragma once
// The smallest HTTP/1.1 client that a bench can trust not to be what is measured: blocking, keep-alive, one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sdk/base/unique_fd.hpp"

namespace harena::bench {

/// Throws std::runtime_error for anything but a 2xx answer. One thread at a time.
class BlockingHttp {
 public:
  BlockingHttp(std::uint16_t port, std::string token);

  /// A body that is in memory; returns the answer's.
  std::string call(const std::string& method, const std::string& target, const std::string& body = "");
  /// GET, the body thrown away; returns its size.
  std::size_t drain(const std::string& target, const std::string& accept);
  /// PUT of `size` bytes from one block, again and again.
  void upload(const std::string& target, std::size_t size);

 private:
  void send(const std::string& text);
  std::string read_head();
  std::size_t read_body(const std::string& head, const std::function<void(const char*, std::size_t)>& take);
  std::size_t read_chunks(const std::function<void(const char*, std::size_t)>& take);
  std::size_t take_bytes(std::size_t count, const std::function<void(const char*, std::size_t)>& take);
  std::string read_line();
  void fill();
  std::string head(const std::string& method, const std::string& target, std::size_t body_bytes, const std::string& accept) const;

  UniqueFd socket_;
  std::string token_;
  std::unique_ptr<char[]> block_;  ///< what a recv fills; made once: clearing 256 KiB a call would be measured along
  std::string buffer_;             ///< received and not taken yet
};

}  // namespace harena::bench
