#include "plugins/e2b/envd/process/process_event.hpp"

#include <map>

#include "plugins/e2b/envd/accounts.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::string_view kOpPrefix = "e2b.";
/// Base64 of it fits, with prefix and unique part, in the 128 bytes of an op.
constexpr std::size_t kMaxTagBytes = 80;

/// What E2B's clients see as the end of a command that a limit ended.
std::string limit_note(const std::string& cause) {
  static const std::map<std::string, std::string> kNotes = {
      {"oom", "the sandbox's memory limit was hit"},
      {"pids", "the sandbox's limit of processes was hit"},
      {"disk", "the sandbox's disk is full"},
      {"output_limit", "it printed more than is kept"},
      {"platform", "the machine under the sandbox ended it"},
  };
  const auto found = kNotes.find(cause);
  return found == kNotes.end() ? std::string() : found->second;
}

std::string joined(std::string text, const std::string& note) {
  if (note.empty()) return text;
  return text.empty() ? note : text + ": " + note;
}

std::string text_member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// An argument as the list shows it: text, or {"b64": ...} when it isn't UTF-8.
std::string argument_text(const json& argument) {
  if (argument.is_string()) return argument.get<std::string>();
  if (!argument.is_object()) return {};
  const auto bytes = base64_decode(text_member(argument, "b64"));
  return bytes ? as_utf8(*bytes) : std::string();
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

}  // namespace

std::string signal_text(const std::string& name) {
  static const std::map<std::string, std::string> kTexts = {
      {"HUP", "hangup"},          {"INT", "interrupt"},       {"QUIT", "quit"},          {"ILL", "illegal instruction"},
      {"TRAP", "trace/breakpoint trap"}, {"ABRT", "aborted"}, {"BUS", "bus error"},      {"FPE", "floating point exception"},
      {"KILL", "killed"},         {"USR1", "user defined signal 1"}, {"SEGV", "segmentation fault"},
      {"USR2", "user defined signal 2"}, {"PIPE", "broken pipe"}, {"ALRM", "alarm clock"}, {"TERM", "terminated"},
  };
  const auto found = kTexts.find(name);
  return found == kTexts.end() ? "signal " + name : found->second;
}

Result<process::ProcessEvent::EndEvent> end_event(const json& exit, const std::string& note) {
  const auto cause = text_member(exit, "cause");
  if (cause == "timeout") return make_error(ErrorCode::deadline_exceeded, "the command's timeout has passed; it was killed with all that it started");
  if (cause == "sandbox_stopped") return make_error(ErrorCode::unavailable, "the sandbox was killed while the command ran");
  process::ProcessEvent::EndEvent end;
  const auto signal = text_member(exit, "signal");
  const auto code = exit.value("code", json());
  std::string error;
  if (!signal.empty() || !code.is_number_integer()) {
    end.set_exit_code(-1);
    end.set_status("signal: " + signal_text(signal));
    error = end.status();
  } else {
    end.set_exit_code(code.get<int>());
    end.set_exited(true);
    end.set_status("exit status " + std::to_string(end.exit_code()));
    if (end.exit_code() != 0) error = end.status();
  }
  error = joined(joined(std::move(error), limit_note(cause)), note);
  if (!error.empty()) end.set_error(error);
  return end;
}

process::ProcessInfo process_info(const json& command) {
  process::ProcessInfo info;
  info.set_pid(static_cast<std::uint32_t>(command.value("pid", 0)));
  auto& config = *info.mutable_config();
  const auto shell = text_member(command, "shell");
  if (!shell.empty()) {
    config.set_cmd("/bin/sh");
    config.add_args("-c");
    config.add_args(shell);
  }
  const auto arguments = command.value("argv", json::array());
  for (const auto& argument : arguments) {
    if (config.cmd().empty()) config.set_cmd(argument_text(argument));
    else config.add_args(argument_text(argument));
  }
  if (auto tag = tag_of(command)) info.set_tag(std::move(*tag));
  return info;
}

Result<std::string> tagged_op(const std::string& tag, const std::string& unique) {
  if (tag.size() <= kMaxTagBytes) return std::string(kOpPrefix) + unique + "." + base64_encode(tag);
  return make_error(ErrorCode::invalid_argument, "a tag of " + std::to_string(tag.size()) + " bytes; at most 80 are kept");
}

std::optional<std::string> tag_of(const json& command) {
  const auto op = text_member(command, "op");
  const auto dot = op.find('.', kOpPrefix.size());
  if (!op.starts_with(kOpPrefix) || dot == std::string::npos) return std::nullopt;
  auto tag = base64_decode(std::string_view(op).substr(dot + 1));
  if (!tag || !is_utf8(*tag)) return std::nullopt;
  return std::move(*tag);
}

std::optional<OutputFrame> OutputFrames::next() {
  if (buffer_.size() < kHeaderBytes) return std::nullopt;
  const std::string_view bytes(buffer_);
  const auto length = static_cast<std::size_t>(little_endian(bytes.substr(4, 4)));
  if (bytes.size() - kHeaderBytes < length) return std::nullopt;
  OutputFrame frame{static_cast<OutputFrame::Kind>(bytes[0]), std::string(bytes.substr(kHeaderBytes, length))};
  buffer_.erase(0, kHeaderBytes + length);
  return frame;
}

}  // namespace harena::e2b
