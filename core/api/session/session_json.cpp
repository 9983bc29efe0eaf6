#include "core/api/session/session_json.hpp"

#include <array>
#include <cstdio>

#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

struct SignalName {
  int number;
  const char* name;
};
constexpr std::array kSignals = {
    SignalName{1, "HUP"}, SignalName{2, "INT"}, SignalName{3, "QUIT"}, SignalName{4, "ILL"}, SignalName{5, "TRAP"},
    SignalName{6, "ABRT"}, SignalName{7, "BUS"}, SignalName{8, "FPE"}, SignalName{9, "KILL"}, SignalName{10, "USR1"},
    SignalName{11, "SEGV"}, SignalName{12, "USR2"}, SignalName{13, "PIPE"}, SignalName{14, "ALRM"}, SignalName{15, "TERM"},
    SignalName{16, "STKFLT"}, SignalName{17, "CHLD"}, SignalName{18, "CONT"}, SignalName{19, "STOP"}, SignalName{20, "TSTP"},
    SignalName{21, "TTIN"}, SignalName{22, "TTOU"}, SignalName{23, "URG"}, SignalName{24, "XCPU"}, SignalName{25, "XFSZ"},
    SignalName{26, "VTALRM"}, SignalName{27, "PROF"}, SignalName{28, "WINCH"}, SignalName{29, "IO"}, SignalName{30, "PWR"},
    SignalName{31, "SYS"}};

constexpr std::int64_t kMaxTimeoutMs = 365LL * 24 * 3600 * 1000;
constexpr std::int64_t kMaxOutputLimit = 1LL << 40;

Error invalid(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

/// One of two words.
template <class Enum>
Result<Enum> choose(JsonFields& fields, const std::string& key, const char* first, Enum one, const char* second, Enum other) {
  HARENA_TRY(auto text, fields.string(key, first));
  if (text == first) return one;
  if (text == second) return other;
  return invalid("'" + key + "' is '" + text + "'; it must be '" + first + "' or '" + second + "'");
}

Status parse_pty(JsonFields& fields, session::StartRequest& request) {
  HARENA_TRY(auto object, fields.object("pty"));
  if (!fields.has("pty")) return {};
  JsonFields pty(object, "pty");
  HARENA_TRY(auto rows, pty.integer("rows", 24, 1, 65535));
  HARENA_TRY(auto cols, pty.integer("cols", 80, 1, 65535));
  request.pty = true;
  request.rows = static_cast<std::uint16_t>(rows);
  request.cols = static_cast<std::uint16_t>(cols);
  return pty.finish();
}

Status parse_stdin(JsonFields& fields, StartBody& body) {
  bool given = fields.has("stdin_data") || fields.has("stdin_data_b64");
  HARENA_TRY(auto data, take_bytes(fields, "stdin_data"));
  using session::StdinMode;
  HARENA_TRY(body.request.stdin_mode, choose(fields, "stdin", "none", StdinMode::none, "pipe", StdinMode::pipe));
  if (!given) return {};
  // Nothing and then the end is what a command without stdin has.
  body.request.stdin_mode = data.empty() ? StdinMode::none : StdinMode::pipe;
  if (!data.empty()) body.stdin_data = std::move(data);
  return {};
}

Status parse_limits(JsonFields& fields, session::StartRequest& request) {
  HARENA_TRY(auto timeout, fields.integer("timeout_ms", 0, 0, kMaxTimeoutMs));
  HARENA_TRY(auto quiet, fields.integer("no_output_timeout_ms", 0, 0, kMaxTimeoutMs));
  HARENA_TRY(auto limit, fields.integer("output_limit_bytes", static_cast<std::int64_t>(session::kDefaultOutputLimit), 0, kMaxOutputLimit));
  request.timeout_ms = static_cast<std::uint64_t>(timeout);
  request.no_output_timeout_ms = static_cast<std::uint64_t>(quiet);
  request.output_limit_bytes = static_cast<std::uint64_t>(limit);
  using session::OnOutputLimit;
  HARENA_TRY(request.on_output_limit, choose(fields, "on_output_limit", "continue", OnOutputLimit::discard, "kill", OnOutputLimit::kill));
  using session::OnDisconnect;
  HARENA_TRY(request.on_disconnect, choose(fields, "on_disconnect", "keep", OnDisconnect::keep, "kill", OnDisconnect::kill));
  return {};
}

const char* type_name(session::FileType type) {
  constexpr std::array kNames = {"unknown", "file", "dir", "symlink", "fifo", "socket", "char", "block"};
  auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace

http::Task<Result<json>> read_json(http::Request& request, std::size_t limit_bytes) {
  HARENA_CO_TRY(auto text, co_await request.read_all(limit_bytes));
  if (text.empty()) co_return json::object();
  auto body = json::parse(text, nullptr, false);
  if (body.is_discarded()) co_return invalid("the body isn't JSON");
  co_return body;
}

Result<StartBody> parse_start(const json& body) {
  JsonFields fields(body, "the command");
  StartBody start;
  auto& request = start.request;
  HARENA_TRY(request.argv, fields.strings("argv"));
  HARENA_TRY(request.shell, fields.string("shell", ""));
  HARENA_TRY(auto environment, fields.string_map("env"));
  for (auto& [name, value] : environment) request.env.emplace_back(name, value);
  HARENA_TRY(request.replace_env, fields.boolean("replace_env", false));
  HARENA_TRY(request.cwd, fields.string("cwd", ""));
  if (!request.cwd.empty() && request.cwd.front() != '/') return invalid("cwd '" + request.cwd + "' isn't an absolute path");
  HARENA_TRY(request.user, fields.string("user", ""));
  HARENA_TRY(request.groups, fields.strings("groups"));
  HARENA_TRY(request.op, fields.string("op", ""));
  HARENA_TRY(start.wait, fields.boolean("wait", false));
  HARENA_TRY(start.attach, fields.boolean("attach", false));
  if (start.wait && start.attach) return invalid("'wait' and 'attach' are two ways to answer; give one of them");
  HARENA_TRY(request.trusted_tools, fields.boolean("trusted_tools", false));
  HARENA_TRY_STATUS(parse_pty(fields, request));
  HARENA_TRY_STATUS(parse_stdin(fields, start));
  HARENA_TRY_STATUS(parse_limits(fields, request));
  HARENA_TRY_STATUS(fields.finish());
  return start;
}

json to_json(const session::ExitStatus& exit) {
  bool signalled = exit.signal != 0;
  // "killed" is told apart in the session protocol; the API's clients asked for it themselves.
  auto cause = exit.cause == session::ExitCause::killed ? session::ExitCause::signal : exit.cause;
  json out = {{"code", signalled ? json(nullptr) : json(exit.code)},
              {"signal", signalled ? json(signal_name(exit.signal)) : json(nullptr)},
              {"cause", std::string(session::to_string(cause))},
              {"duration_ms", std::max<std::int64_t>(0, exit.exited_ms - exit.started_ms)},
              {"exited_ms", exit.exited_ms},
              {"stdout_bytes", exit.stdout_bytes},
              {"stderr_bytes", exit.stderr_bytes}};
  if (exit.background) out["background"] = true;
  if (!exit.cause_detail.empty()) out["cause_detail"] = exit.cause_detail;
  // Counted in the whole sandbox while it ran, also behind a cause that is another.
  if (exit.oom_kills > 0) out["oom_kills"] = exit.oom_kills;
  if (exit.forks_refused > 0) out["forks_refused"] = exit.forks_refused;
  return out;
}

json to_json(const session::CommandInfo& info) {
  json out = {{"id", info.id}, {"pid", info.pid}, {"started_ms", info.started_ms}, {"stdout_bytes", info.stdout_bytes},
              {"stderr_bytes", info.stderr_bytes}, {"stdin_bytes", info.stdin_bytes}, {"pty", info.pty},
              {"state", info.exit ? "exited" : "running"}};
  if (!info.op.empty()) put_bytes(out, "op", info.op);
  if (!info.shell.empty()) put_bytes(out, "shell", info.shell);
  for (const auto& argument : info.argv) {
    out["argv"].push_back(is_utf8(argument) ? json(argument) : json({{"b64", base64_encode(argument)}}));
  }
  if (info.exit) out["exit"] = to_json(*info.exit);
  return out;
}

json to_json(const session::FileStat& stat, bool with_name) {
  json out = {{"type", type_name(stat.type)}, {"size", stat.size}, {"mode", mode_text(stat.mode)}, {"uid", stat.uid},
              {"gid", stat.gid}, {"modified_ms", stat.mtime_ns / 1'000'000}, {"links", stat.links}};
  put_bytes(out, "path", stat.path);
  if (with_name) put_bytes(out, "name", stat.path.substr(stat.path.rfind('/') + 1));
  if (stat.type == session::FileType::symlink) put_bytes(out, "target", stat.target);
  if (!stat.unlisted.empty()) out["unlisted"] = stat.unlisted;
  if (!stat.xattrs.empty()) out["xattrs"] = xattrs_json(stat.xattrs);
  return out;
}

json xattrs_json(const std::vector<std::pair<std::string, std::string>>& xattrs) {
  json all = json::array();
  for (const auto& [name, value] : xattrs) {
    json one = json::object();
    put_bytes(one, "name", name);
    one["value_b64"] = base64_encode(value);
    all.push_back(std::move(one));
  }
  return all;
}

void put_bytes(json& object, const std::string& key, std::string_view bytes) {
  if (is_utf8(bytes)) {
    object[key] = std::string(bytes);
  } else {
    object[key + "_b64"] = base64_encode(bytes);
  }
}

Result<std::string> take_bytes(JsonFields& fields, const std::string& key) {
  bool plain = fields.has(key);
  if (plain && fields.has(key + "_b64")) return invalid("give '" + key + "' or '" + key + "_b64', not both");
  HARENA_TRY(auto text, fields.string(key, ""));
  HARENA_TRY(auto encoded, fields.string(key + "_b64", ""));
  if (plain || encoded.empty()) return text;
  auto decoded = base64_decode(encoded);
  if (!decoded) return invalid("'" + key + "_b64': " + decoded.error().message);
  return decoded;
}

Result<int> parse_signal(std::string_view name) {
  auto bare = name.starts_with("SIG") ? name.substr(3) : name;
  for (const auto& signal : kSignals) {
    if (bare == signal.name) return signal.number;
  }
  auto number = parse_int(bare, 1, 64, "signal");
  if (number) return static_cast<int>(*number);
  std::vector<std::string> names;
  for (const auto& signal : kSignals) names.push_back(signal.name);
  std::string upper(bare);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper.starts_with("SIG")) upper.erase(0, 3);
  return invalid("no signal '" + std::string(name) + "'" + suggestion(upper, names) + " (or a number, 1 to 64)");
}

std::string signal_name(int signal) {
  for (const auto& known : kSignals) {
    if (known.number == signal) return known.name;
  }
  return std::to_string(signal);
}

Result<std::uint32_t> parse_mode(std::string_view text) {
  std::uint32_t mode = 0;
  bool good = !text.empty() && text.size() <= 5;
  for (char c : text) {
    good = good && c >= '0' && c <= '7';
    mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
  }
  if (!good || mode > 07777) return invalid("mode is '" + std::string(text) + "'; it must be octal digits, such as \"0644\", at most \"7777\"");
  return mode;
}

std::string mode_text(std::uint32_t mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

Result<bool> parse_bool(const http::Query& query, std::string_view name, bool fallback) {
  auto text = query.get(name);
  if (!text) return fallback;
  if (*text == "true" || *text == "1" || text->empty()) return true;
  if (*text == "false" || *text == "0") return false;
  return invalid(std::string(name) + " is '" + std::string(*text) + "'; it must be true or false");
}

Result<std::uint64_t> parse_number(const http::Query& query, std::string_view name, std::uint64_t fallback) {
  auto text = query.get(name);
  if (!text) return fallback;
  HARENA_TRY(auto number, parse_int(*text, 0, INT64_MAX, name));
  return static_cast<std::uint64_t>(number);
}

Result<std::string> parse_path(const http::Query& query) {
  auto path = query.get("path");
  if (!path || path->empty()) return invalid("?path= is missing: the absolute path, percent-encoded");
  if (path->front() != '/') return invalid("path '" + std::string(*path) + "' isn't absolute");
  return std::string(*path);
}

}  // namespace harena
