#include "sdk/http/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <vector>

#include "sdk/http/async_mutex.hpp"

namespace harena::http {
namespace {

constexpr std::size_t kRecordBytes = 17 * 1024;  // a TLS record is at most 16 KiB and its framing

std::string last_openssl_error() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// OpenSSL turns bytes into bytes through two memory BIOs; this moves them to and from the stream below. OpenSSL is only called
// on the stream's own loop, and only one coroutine at a time writes below.
class TlsStream final : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> below, SSL* ssl) : below_(std::move(below)), ssl_(ssl) {
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(ssl, in_, out_);
  }

  Task<Status> handshake() {
    while (true) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl_.get());
      const int want = SSL_get_error(ssl_.get(), result);
      auto reason = result == 1 || want == SSL_ERROR_WANT_READ ? std::string() : last_openssl_error();
      HARENA_CO_TRY_STATUS(co_await flush());  // an alert too
      if (result == 1) co_return ok_status();
      if (want != SSL_ERROR_WANT_READ) co_return refused(reason);
      HARENA_CO_TRY(const bool more, co_await fill());
      if (!more) co_return make_error(ErrorCode::unavailable, "the peer left during the TLS handshake");
    }
  }

  Task<Result<std::size_t>> read(std::span<std::byte> into) override {
    while (true) {
      ERR_clear_error();
      std::size_t count = 0;
      const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
      const int want = SSL_get_error(ssl_.get(), result);
      if (result == 1) co_return count;
      if (want == SSL_ERROR_ZERO_RETURN) co_return std::size_t{0};
      if (want != SSL_ERROR_WANT_READ) co_return failure("reading");
      HARENA_CO_TRY_STATUS(co_await flush());  // key updates ask for answers
      HARENA_CO_TRY(const bool more, co_await fill());
      // An end without close_notify may be an attacker's cut: never a clean end of file.
      if (!more) co_return make_error(ErrorCode::unavailable, "the TLS connection was cut off");
    }
  }

  Task<Status> write(std::span<const std::byte> bytes) override {
    constexpr std::size_t kStep = 64 * 1024;  // bounds what lies encrypted in memory
    while (!bytes.empty()) {
      ERR_clear_error();
      const auto step = bytes.first(std::min(kStep, bytes.size()));
      std::size_t count = 0;
      if (SSL_write_ex(ssl_.get(), step.data(), step.size(), &count) != 1) co_return failure("writing");
      bytes = bytes.subspan(count);
      HARENA_CO_TRY_STATUS(co_await flush());
    }
    co_return ok_status();
  }

  Task<Status> shutdown_write() override {
    if (std::exchange(ended_, true)) co_return ok_status();
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    HARENA_CO_TRY_STATUS(co_await flush());
    co_return ok_status();
  }

  void close() override { below_->close(); }
  void abort() override { below_->abort(); }
  std::size_t unsent() const override { return below_->unsent(); }
  int poll_fd() const override { return below_->poll_fd(); }
  std::string peer() const override { return below_->peer(); }

 private:
  Task<Result<bool>> fill() {
    std::vector<std::byte> record(kRecordBytes);
    HARENA_CO_TRY(const std::size_t count, co_await below_->read(record));
    BIO_write(in_, record.data(), static_cast<int>(count));
    co_return count > 0;
  }

  Task<Status> flush() {
    if (BIO_ctrl_pending(out_) == 0) co_return ok_status();
    const auto guard = co_await writing_.lock();
    while (const auto pending = BIO_ctrl_pending(out_)) {
      std::vector<std::byte> bytes(pending);
      BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
      HARENA_CO_TRY_STATUS(co_await below_->write(std::span<const std::byte>(bytes)));
    }
    co_return ok_status();
  }

  Error refused(const std::string& reason) {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) {
      return make_error(ErrorCode::unauthenticated,
                        std::string("TLS: the certificate was refused: ") + X509_verify_cert_error_string(verified));
    }
    return make_error(ErrorCode::unavailable, "TLS handshake: " + reason);
  }

  static Error failure(const char* verb) {
    return make_error(ErrorCode::unavailable, std::string(verb) + " a TLS connection: " + last_openssl_error());
  }

  std::unique_ptr<ByteStream> below_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  BIO* in_ = nullptr;   // owned by ssl_
  BIO* out_ = nullptr;  // owned by ssl_
  AsyncMutex writing_;
  bool ended_ = false;
};

SSL_CTX* as_context(void* context) { return static_cast<SSL_CTX*>(context); }

Error refused_file(const std::filesystem::path& path) {
  return make_error(ErrorCode::invalid_argument, "TLS: " + path.string() + ": " + last_openssl_error());
}

Status use_certificate(SSL_CTX* context, const std::filesystem::path& chain, const std::filesystem::path& key) {
  if (SSL_CTX_use_certificate_chain_file(context, chain.c_str()) != 1) return refused_file(chain);
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) return refused_file(key);
  if (SSL_CTX_check_private_key(context) != 1) return refused_file(key);
  return ok_status();
}

Status trust(SSL_CTX* context, const std::optional<std::filesystem::path>& ca_file) {
  if (!ca_file) {
    SSL_CTX_set_default_verify_paths(context);
    return ok_status();
  }
  if (SSL_CTX_load_verify_file(context, ca_file->c_str()) != 1) return refused_file(*ca_file);
  return ok_status();
}

SSL_CTX* new_context(const SSL_METHOD* method) {
  ERR_clear_error();
  auto* const context = SSL_CTX_new(method);
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Status set_expected_name(SSL* ssl, const std::string& name) {
  auto* const parameters = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(parameters, name.c_str()) == 1) return ok_status();
  if (SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1) return ok_status();
  return make_error(ErrorCode::invalid_argument, "TLS: '" + name + "' is no server name");
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(as_context(context_)); }

Result<std::shared_ptr<TlsContext>> TlsContext::for_server(const TlsServerOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext(new_context(TLS_server_method())));
  auto* const context = as_context(made->context_);
  HARENA_TRY_STATUS(use_certificate(context, options.certificate_chain_file, options.private_key_file));
  if (options.client_ca_file) {
    HARENA_TRY_STATUS(trust(context, options.client_ca_file));
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return made;
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_client(const TlsClientOptions& options) {
  std::shared_ptr<TlsContext> made(new TlsContext(new_context(TLS_client_method())));
  auto* const context = as_context(made->context_);
  HARENA_TRY_STATUS(trust(context, options.ca_file));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (options.certificate_chain_file) {
    const auto& key = options.private_key_file ? *options.private_key_file : *options.certificate_chain_file;
    HARENA_TRY_STATUS(use_certificate(context, *options.certificate_chain_file, key));
  }
  return made;
}

Task<Result<std::unique_ptr<ByteStream>>> TlsContext::accept(std::unique_ptr<ByteStream> stream) {
  auto* const ssl = SSL_new(as_context(context_));
  if (ssl == nullptr) throw std::bad_alloc();
  auto secured = std::make_unique<TlsStream>(std::move(stream), ssl);
  SSL_set_accept_state(ssl);
  HARENA_CO_TRY_STATUS(co_await secured->handshake());
  co_return std::unique_ptr<ByteStream>(std::move(secured));
}

Task<Result<std::unique_ptr<ByteStream>>> TlsContext::connect(std::unique_ptr<ByteStream> stream,
                                                              std::string server_name) {
  auto* const ssl = SSL_new(as_context(context_));
  if (ssl == nullptr) throw std::bad_alloc();
  auto secured = std::make_unique<TlsStream>(std::move(stream), ssl);
  SSL_set_connect_state(ssl);
  HARENA_CO_TRY_STATUS(set_expected_name(ssl, server_name));
  HARENA_CO_TRY_STATUS(co_await secured->handshake());
  co_return std::unique_ptr<ByteStream>(std::move(secured));
}

}  // namespace harena::http
