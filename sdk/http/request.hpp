#pragma once
// Request: what a handler is asked. Made by the server, or in process by whoever calls the API without a network.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/http/headers.hpp"
#include "sdk/http/target.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

/// Where the body comes from.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// 1 to into.size() bytes, 0 at the end. Errors: invalid_argument (malformed framing), unavailable (the client
  /// went away).
  virtual Task<Result<std::size_t>> read_body(std::span<std::byte> into) = 0;
  /// Complete once read_body() has returned 0.
  virtual const Headers& trailers() const = 0;
  /// As announced; nullopt with a chunked body.
  virtual std::optional<std::uint64_t> body_length() const = 0;
  /// See Request::defer_continue().
  virtual void defer_continue() {}
};

/// A body in memory.
class StringBody final : public BodySource {
 public:
  explicit StringBody(std::string text) : text_(std::move(text)) {}
  Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  const Headers& trailers() const override { return trailers_; }
  std::optional<std::uint64_t> body_length() const override { return text_.size(); }

 private:
  std::string text_;
  std::size_t offset_ = 0;
  Headers trailers_;
};

/// Used by one coroutine chain at a time, on the executor that the handler was started on.
class Request {
 public:
  struct Head {
    /// Any token; case matters.
    std::string method;
    /// As on the wire.
    std::string target;
    Headers headers;
    /// Who asks: "127.0.0.1:4711", "unix", "in-process".
    std::string peer;
  };

  /// Borrows `body`.
  Request(Head head, BodySource& body);

  const std::string& method() const { return head_.method; }
  const std::string& target() const { return head_.target; }
  /// Encoded, without the query.
  std::string_view path() const { return split_target(head_.target).path; }
  /// Encoded, without the `?`; nullopt when the target has none.
  std::optional<std::string_view> raw_query() const { return split_target(head_.target).query; }
  /// Decoded at each call. invalid_argument for a malformed escape.
  Result<Query> query() const { return Query::parse(raw_query().value_or(std::string_view())); }
  const Headers& headers() const { return head_.headers; }
  std::optional<std::string_view> header(std::string_view name) const { return head_.headers.get(name); }
  const std::string& peer() const { return head_.peer; }

  /// What the route's `{name}` matched, decoded; `{*name}` is the raw rest of the path, without its first slash.
  /// Precondition: the route has it.
  const std::string& param(std::string_view name) const { return params_.find(name)->second; }
  void set_param(std::string name, std::string value) { params_[std::move(name)] = std::move(value); }
  /// The pattern of the route that matched, for metrics; empty before routing.
  const std::string& route() const { return route_; }
  void set_route(std::string pattern) { route_ = std::move(pattern); }

  /// 1 to into.size() body bytes, 0 at the end; the first call answers `Expect: 100-continue`. The socket is read
  /// only as the body is read: this is the back-pressure. Errors: those of BodySource.
  Task<Result<std::size_t>> read(std::span<std::byte> into) { return body_.read_body(into); }
  /// `Expect: 100-continue` is left to the handler: read() waits for the body without asking for it, and the handler
  /// says inform(100) when it wants it. Call it before the first read().
  void defer_continue() { body_.defer_continue(); }
  /// The whole body. resource_exhausted if it is larger than `limit_bytes`.
  Task<Result<std::string>> read_all(std::size_t limit_bytes);
  const Headers& trailers() const { return body_.trailers(); }
  std::optional<std::uint64_t> body_length() const { return body_.body_length(); }

  /// The client has gone or the server's drain deadline has passed; the handler's coroutine is being cancelled.
  /// Work on other threads may hold the flag.
  bool cancelled() const { return cancel_flag_->load(std::memory_order_relaxed); }
  std::shared_ptr<const std::atomic<bool>> cancel_flag() const { return cancel_flag_; }
  /// The server is being stopped: a handler with much still to do does well to end with what it has.
  bool draining() const { return drain_flag_ && drain_flag_->load(std::memory_order_relaxed); }
  std::shared_ptr<const std::atomic<bool>> drain_flag() const { return drain_flag_; }
  void set_drain_flag(std::shared_ptr<const std::atomic<bool>> flag) { drain_flag_ = std::move(flag); }
  void set_cancel_flag(std::shared_ptr<const std::atomic<bool>> flag) { cancel_flag_ = std::move(flag); }

 private:
  Head head_;
  BodySource& body_;
  std::string route_;
  std::map<std::string, std::string, std::less<>> params_;
  std::shared_ptr<const std::atomic<bool>> cancel_flag_;
  std::shared_ptr<const std::atomic<bool>> drain_flag_;
};

}  // namespace harena::http
