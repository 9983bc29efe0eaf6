#pragma once
// Result<T>: a value or an Error; the only way that fallible functions of Harena report failure.
// Exceptions may live inside a room that uses a throwing library and end at the room's edge.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace harena {

/// The 16 canonical codes; the numbers are those of google.rpc.Code, they cross the plugin ABI and
/// must never change.
enum class ErrorCode : std::int32_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

/// `invalid_argument` for ErrorCode::invalid_argument, and so on. Never empty.
std::string_view to_string(ErrorCode code);
/// The inverse; nullopt for an unknown name.
std::optional<ErrorCode> error_code_from_string(std::string_view name);

/// Whose fault a failure is. A trainer must be able to tell a bad agent from a bad machine, so
/// `infrastructure` is never reported as `agent` (incidents row 13).
enum class Cause : std::uint8_t { none = 0, agent = 1, limit = 2, infrastructure = 3 };
std::string_view to_string(Cause cause);
std::optional<Cause> cause_from_string(std::string_view name);

/// Where a repetition of the same call may succeed.
enum class Retry : std::uint8_t { never = 0, same_node = 1, other_node = 2 };
std::string_view to_string(Retry retry);
std::optional<Retry> retry_from_string(std::string_view name);

/// What went wrong. `message` names the value that was wrong and what would be right.
struct Error {
  ErrorCode code = ErrorCode::unknown;
  std::string message;
  Cause cause = Cause::none;
  /// Which limit (`memory`, `pids`, ...) or which part of the infrastructure (`edge`, `image-store`, ...).
  std::string cause_detail;
  Retry retry = Retry::never;
  /// Innermost first: what was being done, e.g. "mounting layer sha256:...".
  std::vector<std::string> context;

  /// Adds a line to the context chain and returns itself, for `return err.during("...")`.
  Error&& during(std::string what) &&;
  /// Message and context in one line, for logs and terminals.
  std::string describe() const;
};

Error make_error(ErrorCode code, std::string message);
/// An error about this machine or its services (`part` names which); retryable on another node.
Error infrastructure_error(ErrorCode code, std::string part, std::string message);
/// From errno: maps ENOENT to not_found, EACCES/EPERM to permission_denied, ENOSPC/EMFILE/ENOMEM/EAGAIN to
/// resource_exhausted, EEXIST to already_exists, EINVAL to invalid_argument, others to internal.
/// The message is "`what`: strerror". Call it before anything that may change errno.
Error errno_error(int errno_value, std::string_view what);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return ok(); }
  bool ok() const { return state_.index() == 0; }

  /// Precondition: ok().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T value_or(T fallback) && { return ok() ? std::move(*this).value() : std::move(fallback); }

  /// Precondition: !ok().
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return ok(); }
  bool ok() const { return !error_.has_value(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;
inline Status ok_status() { return {}; }

}  // namespace harena

#define HARENA_CONCAT_INNER(a, b) a##b
#define HARENA_CONCAT(a, b) HARENA_CONCAT_INNER(a, b)

/// HARENA_TRY(auto x, f()); : x is the value, or this function returns the error.
#define HARENA_TRY(declaration, expression) \
  HARENA_TRY_IMPL(HARENA_CONCAT(harena_try_, __COUNTER__), declaration, expression, return)
/// The same for functions that return Status or ignore the value.
#define HARENA_TRY_STATUS(expression) \
  if (auto harena_status = (expression); !harena_status.ok()) return std::move(harena_status).error()
/// The same inside coroutines.
#define HARENA_CO_TRY(declaration, expression) \
  HARENA_TRY_IMPL(HARENA_CONCAT(harena_try_, __COUNTER__), declaration, expression, co_return)
#define HARENA_CO_TRY_STATUS(expression) \
  if (auto harena_status = (expression); !harena_status.ok()) co_return std::move(harena_status).error()

#define HARENA_TRY_IMPL(temporary, declaration, expression, return_keyword)     \
  auto temporary = (expression);                                               \
  if (!temporary.ok()) return_keyword std::move(temporary).error();            \
  declaration = *std::move(temporary)
