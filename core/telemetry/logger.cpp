#include "core/telemetry/logger.hpp"

#include <nlohmann/json.hpp>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>

#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"

namespace harena {
namespace {

constexpr std::size_t kQueuedLines = 8192;
constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warning", "error"};

nlohmann::json to_json(const LogField::Value& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_plain(std::string_view text) {
  const auto plain = [](unsigned char c) { return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 127; };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain) && is_utf8(text);
}

std::string text_value(const LogField::Value& value) {
  const auto* const text = std::get_if<std::string_view>(&value);
  if (text != nullptr && is_plain(*text)) return std::string(*text);
  return dump(to_json(value));
}

// A message is shown as it is unless it would break the line.
std::string text_message(std::string_view message) {
  const bool printable = std::none_of(message.begin(), message.end(), [](unsigned char c) { return c < ' ' || c == 127; });
  return printable && is_utf8(message) ? std::string(message) : dump(message);
}

std::string text_line(std::int64_t wall_ms, LogLevel level, std::string_view message, Logger::Fields fields) {
  auto line = rfc3339(wall_ms) + ' ' + std::string(to_string(level)) + ' ' + text_message(message);
  for (const auto& [key, value] : fields) line.append(" ").append(key).append("=").append(text_value(value));
  return line;
}

std::string json_line(std::int64_t wall_ms, LogLevel level, std::string_view message, Logger::Fields fields) {
  nlohmann::ordered_json line;
  line["time"] = rfc3339(wall_ms);
  line["level"] = to_string(level);
  line["message"] = message;
  for (const auto& [key, value] : fields) line[std::string(key)] = to_json(value);
  return dump(line);
}

spdlog::sink_ptr open_sink(const LogOptions& options) {
  if (!options.file) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file->string(), options.file_bytes,
                                                                options.files);
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_from_string(std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

std::string format_log_line(LogFormat format, std::int64_t wall_ms, LogLevel level, std::string_view message,
                            Logger::Fields fields) {
  return format == LogFormat::json ? json_line(wall_ms, level, message, fields)
                                   : text_line(wall_ms, level, message, fields);
}

struct Logger::Impl {
  Impl(const LogOptions& chosen, const Clock& source, spdlog::sink_ptr opened)
      : options(chosen), clock(source), sink(std::move(opened)),
        pool(std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1)),
        logger(std::make_shared<spdlog::async_logger>("harena", sink, pool,
                                                      spdlog::async_overflow_policy::overrun_oldest)) {
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
    logger->set_level(spdlog::level::trace);  // levels are ours
    logger->flush_on(spdlog::level::trace);
  }
  LogOptions options;
  const Clock& clock;
  spdlog::sink_ptr sink;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

Logger::Logger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Logger::~Logger() = default;

Result<std::unique_ptr<Logger>> Logger::open(const LogOptions& options, const Clock& clock) {
  try {
    return std::unique_ptr<Logger>(new Logger(std::make_unique<Impl>(options, clock, open_sink(options))));
  } catch (const spdlog::spdlog_ex& error) {
    return make_error(ErrorCode::failed_precondition,
                      "opening the log file " + options.file.value_or("").string() + ": " + error.what());
  }
}

bool Logger::enabled(LogLevel level) const { return level >= impl_->options.level; }

void Logger::log(LogLevel level, std::string_view message, Fields fields) {
  if (!enabled(level)) return;
  const auto line = format_log_line(impl_->options.format, impl_->clock.wall_ms(), level, message, fields);
  impl_->logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

void Logger::error(std::string_view message, const Error& what) {
  const auto described = what.describe();
  error(message, {{"error", described},
                  {"code", to_string(what.code)},
                  {"cause", to_string(what.cause)},
                  {"cause_detail", what.cause_detail},
                  {"retry", to_string(what.retry)}});
}

std::size_t Logger::dropped() const { return impl_->pool->overrun_counter(); }

}  // namespace harena
