#include "plugins/e2b/envd/files/watch.hpp"

#include <algorithm>
#include <array>

#include "plugins/e2b/envd/files/entry.hpp"
#include "plugins/e2b/envd/files/tree.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using filesystem::EventType;
using filesystem::FilesystemEvent;
using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kWatchBlockBytes = 16 * 1024;
constexpr std::size_t kMaxLineBytes = 64 * 1024;
constexpr std::size_t kEventsInOnePiece = 64;

std::string relative(const std::string& path, const std::string& folder) {
  const auto prefix = folder == "/" ? folder : folder + "/";
  return as_utf8(path.starts_with(prefix) ? path.substr(prefix.size()) : base_name(path));
}

bool below(const std::string& path, const std::string& folder) {
  return folder == "/" || path.starts_with(folder + "/");
}

FilesystemEvent event_of(EventType type, std::string name) {
  FilesystemEvent event;
  event.set_type(type);
  event.set_name(std::move(name));
  return event;
}

EventType event_type(const std::string& word) {
  if (word == "create") return filesystem::EVENT_TYPE_CREATE;
  if (word == "write") return filesystem::EVENT_TYPE_WRITE;
  if (word == "remove") return filesystem::EVENT_TYPE_REMOVE;
  if (word == "rename") return filesystem::EVENT_TYPE_RENAME;
  if (word == "attrib") return filesystem::EVENT_TYPE_CHMOD;
  return filesystem::EVENT_TYPE_UNSPECIFIED;
}

/// Octal escapes of mountinfo: "\040" is a space.
std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out.push_back(static_cast<char>(parse_octal(text.substr(i + 1, 3))));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

bool network_type(const std::string& type) {
  return type.starts_with("nfs") || type == "cifs" || type.starts_with("smb") || type.starts_with("fuse") || type == "9p" || type == "ceph";
}

}  // namespace

Result<std::vector<FilesystemEvent>> watch_events(const json& line, const std::string& folder) {
  std::vector<FilesystemEvent> events;
  if (!line.is_object()) return make_error(ErrorCode::internal, "the API's watch said something that isn't an object");
  if (line.contains("error")) return http::parse_error(500, line.dump(-1, ' ', false, json::error_handler_t::replace));
  if (line.value("overflow", false)) return make_error(ErrorCode::data_loss, "more happened in the folder than could be kept: list it anew and watch again");
  const auto type = event_type(line.value("event", ""));
  if (type == filesystem::EVENT_TYPE_UNSPECIFIED) return events;
  const auto path = bytes_member(line, "path");
  if (below(path, folder)) events.push_back(event_of(type, relative(path, folder)));
  const auto to = bytes_member(line, "to");
  if (!to.empty() && below(to, folder)) events.push_back(event_of(filesystem::EVENT_TYPE_CREATE, relative(to, folder)));
  return events;
}

bool on_network_mount(std::string_view mountinfo, std::string_view path) {
  std::size_t longest = 0;
  bool network = false;
  for (const auto& line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto separator = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || separator == fields.end() || separator + 1 == fields.end()) continue;
    const auto point = unescape(fields[4]);
    const bool above = point == "/" || path == point || path.starts_with(point + "/");
    if (!above || point.size() < longest) continue;
    longest = point.size();
    network = network_type(*(separator + 1));
  }
  return network;
}

Task<Status> FolderWatch::refuse_network_mount() {
  if (wish_.allow_network_mounts) co_return ok_status();
  auto mounts = co_await looked_.read_small("/proc/1/mountinfo");
  if (!mounts || !on_network_mount(*mounts, wish_.path)) co_return ok_status();
  co_return make_error(ErrorCode::invalid_argument, "path is on a network mount: " + as_utf8(wish_.path) +
                                                        "; changes by other machines aren't seen there, allow_network_mounts accepts that");
}

Task<Status> FolderWatch::open() {
  HARENA_CO_TRY_STATUS(co_await need_folder(looked_, wish_.path));
  HARENA_CO_TRY_STATUS(co_await refuse_network_mount());
  auto target = watched_.file_target("/watch", wish_.path);
  if (wish_.recursive) target += "&recursive=true";
  const http::Headers none;
  HARENA_CO_TRY(const auto head, co_await watched_.api.open(std::move(target), none));
  if (head.status != 200) co_return co_await watched_.api.error_of(head);
  HARENA_CO_TRY(const auto line, co_await next_line());
  if (line && line->value("event", "") == "ready") co_return ok_status();
  if (!line) co_return make_error(ErrorCode::unavailable, "the watch broke off before it began");
  HARENA_CO_TRY(const auto events, watch_events(*line, wish_.path));
  co_return make_error(ErrorCode::internal, "the API's watch didn't begin with ready");
}

Task<Result<std::optional<json>>> FolderWatch::next_line() {
  std::array<std::byte, kWatchBlockBytes> block;
  const std::span<std::byte> all(block);
  for (;;) {
    const auto end = buffer_.find('\n');
    if (end != std::string::npos) {
      auto line = json::parse(buffer_.substr(0, end), nullptr, false);
      buffer_.erase(0, end + 1);
      co_return std::optional<json>(std::move(line));
    }
    if (buffer_.size() > kMaxLineBytes) co_return make_error(ErrorCode::internal, "a line of the API's watch is too long");
    HARENA_CO_TRY(const auto count, co_await watched_.api.read(all));
    if (count == 0) co_return std::optional<json>();
    buffer_.append(reinterpret_cast<const char*>(block.data()), count);
  }
}

Task<void> FolderWatch::add_entry(FilesystemEvent& event) {
  const bool there = event.type() == filesystem::EVENT_TYPE_CREATE || event.type() == filesystem::EVENT_TYPE_WRITE ||
                     event.type() == filesystem::EVENT_TYPE_CHMOD;
  if (!there) co_return;
  const auto path = (wish_.path == "/" ? "" : wish_.path) + "/" + event.name();
  auto entry = co_await entry_at(looked_, path);
  if (entry) *event.mutable_entry() = std::move(*entry);  // else it went away again
}

Task<Result<std::vector<FilesystemEvent>>> FolderWatch::next() {
  std::vector<FilesystemEvent> all;
  while (all.empty() || (line_at_hand() && all.size() < kEventsInOnePiece)) {
    HARENA_CO_TRY_STATUS(end_);
    HARENA_CO_TRY(const auto line, co_await next_line());
    if (!line) break;
    auto events = watch_events(*line, wish_.path);
    if (!events) {
      end_ = std::move(events).error();
      if (all.empty()) continue;
      break;
    }
    for (auto& event : *events) {
      if (wish_.include_entry) co_await add_entry(event);
      all.push_back(std::move(event));
    }
  }
  co_return all;
}

}  // namespace harena::e2b
