#pragma once
// The first frames of a connection, the error that crosses it, and what isn't about commands or files.

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/session/features.hpp"
#include "sdk/session/fields.hpp"
#include "sdk/session/frame.hpp"

namespace harena::session {

/// Sent first by the client; it needn't wait for the answer before its first request.
struct Hello {
  static constexpr bool kIsMessage = true;
  std::uint32_t min_version = kProtocolVersion;
  std::uint32_t max_version = kProtocolVersion;
  /// The client's build, for logs only.
  std::string build;
  std::vector<std::string> features;
  bool operator==(const Hello&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &Hello::min_version);
    f(2, &Hello::max_version);
    f(0x8003, &Hello::build);
    f(0x8004, &Hello::features);
  }
};

struct HelloOk {
  static constexpr bool kIsMessage = true;
  /// The highest version that both know.
  std::uint32_t version = 0;
  std::string build;
  /// kFeature* that this endpoint has.
  std::vector<std::string> features;
  std::string sandbox;
  bool operator==(const HelloOk&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &HelloOk::version);
    f(3, &HelloOk::build);
    f(4, &HelloOk::features);
    f(5, &HelloOk::sandbox);
  }
};

struct ErrorMessage {
  static constexpr bool kIsMessage = true;
  std::int32_t code = 0;
  std::string message;
  std::uint8_t cause = 0;
  std::string cause_detail;
  std::uint8_t retry = 0;
  bool operator==(const ErrorMessage&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ErrorMessage::code);
    f(2, &ErrorMessage::message);
    f(3, &ErrorMessage::cause);
    f(4, &ErrorMessage::cause_detail);
    f(5, &ErrorMessage::retry);
  }
};

std::string encode_error(const Error& error);
/// Always an Error; a payload that can't be read becomes data_loss.
Error decode_error(std::string_view payload);

/// Credit for `stream` on a multiplexed channel: the peer may send `bytes` more of raw payload.
struct Window {
  static constexpr bool kIsMessage = true;
  std::uint64_t bytes = 0;
  bool operator==(const Window&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &Window::bytes);
  }
};

/// A TCP port in the sandbox. Errors: unavailable with cause_detail "port_closed" when nothing listens,
/// invalid_argument for an address that isn't the sandbox's, deadline_exceeded.
struct DialRequest {
  static constexpr bool kIsMessage = true;
  /// "127.0.0.1", "::1", "localhost" (IPv4 first, then IPv6, then wherever the port is listened on) or an address of the sandbox.
  std::string host = "localhost";
  std::uint16_t port = 0;
  std::uint32_t timeout_ms = 10'000;
  bool operator==(const DialRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &DialRequest::host);
    f(2, &DialRequest::port);
    f(3, &DialRequest::timeout_ms);
  }
};

/// SIGTERM to every command and to the sandbox's init, SIGKILL after the grace. Idempotent.
struct ShutdownRequest {
  static constexpr bool kIsMessage = true;
  std::uint32_t grace_ms = 0;
  bool operator==(const ShutdownRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ShutdownRequest::grace_ms);
  }
};

/// The sandbox goes on under another id: it is a clone, with memory and all, of the one that the endpoint was started for. hello_ok and
/// exit.json have the new id from then on. Idempotent.
struct RenameRequest {
  static constexpr bool kIsMessage = true;
  std::string sandbox;
  bool operator==(const RenameRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &RenameRequest::sandbox);
  }
};

struct Stats {
  static constexpr bool kIsMessage = true;
  std::uint32_t commands_running = 0;
  std::uint32_t commands_kept = 0;
  std::uint64_t commands_started = 0;
  /// On disk now; at most the sandbox's cap.
  std::uint64_t spool_bytes = 0;
  std::uint32_t connections = 0;
  /// Open descriptors of the endpoint itself.
  std::uint32_t descriptors = 0;
  bool operator==(const Stats&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &Stats::commands_running);
    f(2, &Stats::commands_kept);
    f(3, &Stats::commands_started);
    f(4, &Stats::spool_bytes);
    f(5, &Stats::connections);
    f(6, &Stats::descriptors);
  }
};

}  // namespace harena::session
