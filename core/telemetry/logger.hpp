#pragma once
// Logger: structured lines to stderr or a file.
//
//   logger->info("sandbox created", {{"sandbox", id.str()}, {"ms", 41}});
//
// text: 2026-11-29T16:20:01.123Z info sandbox created sandbox=ab12z... ms=41
// json: {"time":"2026-11-29T16:20:01.123Z","level":"info","message":"sandbox created","sandbox":"ab12z...","ms":41}

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sdk/base/clock.hpp"
#include "sdk/base/result.hpp"

namespace harena {

enum class LogLevel { debug, info, warning, error };
std::string_view to_string(LogLevel level);
std::optional<LogLevel> log_level_from_string(std::string_view name);

enum class LogFormat { text, json };

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  /// stderr if absent. Rotated at `file_bytes`, the last `files` are kept.
  std::optional<std::filesystem::path> file;
  std::size_t file_bytes = 64 * 1024 * 1024;
  std::size_t files = 5;
};

/// A key and a value; borrows texts for the call.
struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, double, bool>;

  template <std::convertible_to<std::string_view> Text>
  LogField(std::string_view name, const Text& text) : key(name), value(std::string_view(text)) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag) {}
  LogField(std::string_view name, std::integral auto number) : key(name), value(static_cast<std::int64_t>(number)) {}
  LogField(std::string_view name, std::floating_point auto number) : key(name), value(static_cast<double>(number)) {}

  std::string_view key;
  Value value;
};

/// Thread-safe; never blocks: a line is queued and a thread of its own writes it.
class Logger {
 public:
  /// Borrows the clock. Errors: those of opening the file, naming it.
  static Result<std::unique_ptr<Logger>> open(const LogOptions& options, const Clock& clock);
  /// Writes what is queued.
  ~Logger();

  using Fields = std::initializer_list<LogField>;
  void log(LogLevel level, std::string_view message, Fields fields = {});
  void debug(std::string_view message, Fields fields = {}) { log(LogLevel::debug, message, fields); }
  void info(std::string_view message, Fields fields = {}) { log(LogLevel::info, message, fields); }
  void warning(std::string_view message, Fields fields = {}) { log(LogLevel::warning, message, fields); }
  void error(std::string_view message, Fields fields = {}) { log(LogLevel::error, message, fields); }
  /// An Error with its code, cause, retry and context as fields.
  void error(std::string_view message, const Error& what);

  bool enabled(LogLevel level) const;
  /// Lines dropped because the queue was full.
  std::size_t dropped() const;

 private:
  struct Impl;
  explicit Logger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One line without its newline. Pure. Control characters are escaped, so a line stays one line.
std::string format_log_line(LogFormat format, std::int64_t wall_ms, LogLevel level, std::string_view message,
                            Logger::Fields fields);

}  // namespace harena
