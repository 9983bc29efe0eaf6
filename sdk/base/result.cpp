#include "sdk/base/result.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace harena {
namespace {

constexpr std::array<std::string_view, 17> kCodeNames = {
    "ok",          "cancelled",        "unknown",       "invalid_argument",  "deadline_exceeded",
    "not_found",   "already_exists",   "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",     "out_of_range",     "unimplemented", "internal",          "unavailable",
    "data_loss",   "unauthenticated"};
constexpr std::array<std::string_view, 4> kCauseNames = {"none", "agent", "limit", "infrastructure"};
constexpr std::array<std::string_view, 3> kRetryNames = {"never", "same_node", "other_node"};

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const std::array<std::string_view, N>& names,
                         std::string_view fallback) {
  auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : fallback;
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(std::string_view name, const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

ErrorCode code_from_errno(int errno_value) {
  switch (errno_value) {
    case ENOENT: case ESRCH: case ENXIO: return ErrorCode::not_found;
    case EEXIST: return ErrorCode::already_exists;
    case EACCES: case EPERM: case EROFS: return ErrorCode::permission_denied;
    case ENOSPC: case EMFILE: case ENFILE: case ENOMEM: case EAGAIN: case EDQUOT: case EUSERS:
      return ErrorCode::resource_exhausted;
    case EINVAL: case ENAMETOOLONG: case ELOOP: return ErrorCode::invalid_argument;
    case ENOTDIR: case EISDIR: case ENOTEMPTY: case EBUSY: case EXDEV: return ErrorCode::failed_precondition;
    case ETIMEDOUT: return ErrorCode::deadline_exceeded;
    case ECONNREFUSED: case ECONNRESET: case EPIPE: case ENOTCONN: return ErrorCode::unavailable;
    case ENOSYS: case EOPNOTSUPP: return ErrorCode::unimplemented;
    case ECANCELED: return ErrorCode::cancelled;
    default: return ErrorCode::internal;
  }
}

}  // namespace

std::string_view to_string(ErrorCode code) { return name_of(code, kCodeNames, "unknown"); }
std::string_view to_string(Cause cause) { return name_of(cause, kCauseNames, "none"); }
std::string_view to_string(Retry retry) { return name_of(retry, kRetryNames, "never"); }

std::optional<ErrorCode> error_code_from_string(std::string_view name) {
  return value_of<ErrorCode>(name, kCodeNames);
}
std::optional<Cause> cause_from_string(std::string_view name) {
  return value_of<Cause>(name, kCauseNames);
}
std::optional<Retry> retry_from_string(std::string_view name) {
  return value_of<Retry>(name, kRetryNames);
}

Error&& Error::during(std::string what) && {
  context.push_back(std::move(what));
  return std::move(*this);
}

std::string Error::describe() const {
  std::string text;
  for (auto it = context.rbegin(); it != context.rend(); ++it) text += *it + ": ";
  return text + message + " (" + std::string(to_string(code)) + ")";
}

Error make_error(ErrorCode code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

Error infrastructure_error(ErrorCode code, std::string part, std::string message) {
  Error error = make_error(code, std::move(message));
  error.cause = Cause::infrastructure;
  error.cause_detail = std::move(part);
  error.retry = Retry::other_node;
  return error;
}

Error errno_error(int errno_value, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += std::strerror(errno_value);
  return make_error(code_from_errno(errno_value), std::move(message));
}

}  // namespace harena
