#pragma once
// TLS on top of any ByteStream. OpenSSL stays behind this header.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sdk/http/byte_stream.hpp"

namespace harena::http {

struct TlsServerOptions {
  /// PEM: the certificate and its intermediates.
  std::filesystem::path certificate_chain_file;
  /// PEM, unencrypted.
  std::filesystem::path private_key_file;
  /// PEM: if given, clients must show a certificate signed by one of these.
  std::optional<std::filesystem::path> client_ca_file;
};

struct TlsClientOptions {
  /// PEM; the system's store if absent.
  std::optional<std::filesystem::path> ca_file;
  /// Our own certificate, where the server asks for one.
  std::optional<std::filesystem::path> certificate_chain_file;
  std::optional<std::filesystem::path> private_key_file;
};

/// Certificates and keys, read once and shared by connections. Immutable, so thread-safe. TLS 1.2 and later.
class TlsContext : public std::enable_shared_from_this<TlsContext> {
 public:
  /// Errors: invalid_argument naming the file that OpenSSL refused and why.
  static Result<std::shared_ptr<TlsContext>> for_server(const TlsServerOptions& options);
  static Result<std::shared_ptr<TlsContext>> for_client(const TlsClientOptions& options);
  ~TlsContext();

  /// The server's handshake. Errors: unavailable (the peer left), unauthenticated (its certificate was refused).
  Task<Result<std::unique_ptr<ByteStream>>> accept(std::unique_ptr<ByteStream> stream);
  /// The client's; the certificate must be for `server_name` (a DNS name or an address), also sent as SNI.
  Task<Result<std::unique_ptr<ByteStream>>> connect(std::unique_ptr<ByteStream> stream, std::string server_name);

 private:
  explicit TlsContext(void* context) : context_(context) {}
  void* context_;  // SSL_CTX, owned
};

}  // namespace harena::http
