#include "plugins/e2b/envd/files/entry.hpp"

#include <array>
#include <deque>

#include "sdk/base/text.hpp"

namespace harena::e2b {

using filesystem::EntryInfo;
using http::Task;
using nlohmann::json;

namespace {

constexpr int kMaxLinks = 40;  // as Linux follows
constexpr std::uint32_t kPermissionBits = 0777;

Task<const json*> cached_stat(SandboxCall& call, StatCache& known, std::string path) {
  auto found = known.find(path);
  if (found == known.end()) {
    auto stat = co_await stat_file(call, path, false);
    json value;
    if (stat) value = std::move(*stat);
    found = known.emplace(std::move(path), std::move(value)).first;
  }
  co_return &found->second;
}

/// Where a path leads with every symlink followed; the path itself where something on its way is missing.
Task<std::string> real_path(SandboxCall& call, StatCache& known, std::string path) {
  std::deque<std::string> todo;
  for (auto& part : split(path, '/')) todo.push_back(std::move(part));
  std::string done;
  int links = 0;
  while (!todo.empty()) {
    const auto part = std::move(todo.front());
    todo.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      done = done.empty() ? done : done.substr(0, done.rfind('/'));
      continue;
    }
    const auto next = done + "/" + part;
    const auto* stat = co_await cached_stat(call, known, next);
    if (stat->is_null()) co_return path;
    if (stat->value("type", "") != "symlink") {
      done = next;
      continue;
    }
    if (++links > kMaxLinks) co_return path;
    const auto target = bytes_member(*stat, "target");
    if (target.starts_with('/')) done.clear();
    auto parts = split(target, '/');
    todo.insert(todo.begin(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
  }
  co_return done.empty() ? "/" : done;
}

Task<Status> complete_link(SandboxCall& call, StatCache& known, EntryInfo& entry, const std::string& path) {
  const auto target = co_await real_path(call, known, path);
  entry.set_symlink_target(as_utf8(target));
  const auto* there = co_await cached_stat(call, known, target);
  const auto type = there->is_object() ? there->value("type", "") : std::string();
  if (type.empty() || type == "symlink") {
    entry.set_type(filesystem::FILE_TYPE_UNSPECIFIED);  // it leads nowhere
    entry.set_mode(0);
    co_return ok_status();
  }
  entry.set_type(file_type(type));
  entry.set_mode(parse_octal(there->value("mode", "")) & kPermissionBits);
  co_return ok_status();
}

}  // namespace

std::string permissions_text(const std::string& type, std::uint32_t mode) {
  static const std::map<std::string, const char*> kPrefix = {{"dir", "d"},  {"symlink", "L"}, {"block", "D"},
                                                             {"char", "Dc"}, {"fifo", "p"},    {"socket", "S"}};
  const auto found = kPrefix.find(type);
  std::string text = found == kPrefix.end() ? "" : found->second;
  if ((mode & 04000) != 0) text += 'u';
  if ((mode & 02000) != 0) text += 'g';
  if ((mode & 01000) != 0) text += 't';
  if (text.empty()) text = "-";
  static constexpr std::string_view kBits = "rwxrwxrwx";
  for (std::size_t i = 0; i < kBits.size(); ++i) text += (mode & 0400u >> i) != 0 ? kBits[i] : '-';
  return text;
}

std::uint32_t parse_octal(const std::string& text) {
  std::uint32_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return 0;
    mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
  }
  return mode;
}

std::string bytes_member(const json& object, const std::string& key) {
  if (const auto found = object.find(key); found != object.end() && found->is_string()) return found->get<std::string>();
  const auto encoded = object.find(key + "_b64");
  if (encoded == object.end() || !encoded->is_string()) return {};
  return base64_decode(encoded->get<std::string>()).value_or(std::string());
}

filesystem::FileType file_type(const std::string& type) {
  if (type == "file") return filesystem::FILE_TYPE_FILE;
  if (type == "dir") return filesystem::FILE_TYPE_DIRECTORY;
  if (type == "symlink") return filesystem::FILE_TYPE_SYMLINK;
  return filesystem::FILE_TYPE_UNSPECIFIED;
}

EntryInfo plain_entry(const json& stat, const std::string& path) {
  EntryInfo entry;
  const auto type = stat.value("type", "");
  const auto mode = parse_octal(stat.value("mode", ""));
  entry.set_name(as_utf8(base_name(path)));
  entry.set_path(as_utf8(path));
  entry.set_type(file_type(type));
  entry.set_size(stat.value("size", std::int64_t{0}));
  entry.set_mode(mode & kPermissionBits);
  entry.set_permissions(permissions_text(type, mode));
  const auto ms = stat.value("modified_ms", std::int64_t{0});
  const auto rest = (ms % 1000 + 1000) % 1000;
  entry.mutable_modified_time()->set_seconds((ms - rest) / 1000);
  entry.mutable_modified_time()->set_nanos(static_cast<std::int32_t>(rest * 1'000'000));
  return entry;
}

Task<Result<json>> stat_file(SandboxCall& call, std::string path, bool follow) {
  auto target = call.file_target("/stat", path);
  if (follow) target += "&follow=true";
  co_return co_await call.api.ask("GET", std::move(target));
}

std::map<std::string, std::string> metadata_in(const json& answer) {
  std::map<std::string, std::string> all;
  const auto attributes = answer.value("xattrs", json::array());
  for (const auto& attribute : attributes) {
    const auto name = attribute.value("name", "");
    if (!name.starts_with(kMetadataPrefix)) continue;
    const auto value = base64_decode(attribute.value("value_b64", ""));
    if (value) all[as_utf8(name.substr(kMetadataPrefix.size()))] = as_utf8(*value);
  }
  return all;
}

Task<Result<std::map<std::string, std::string>>> read_metadata(SandboxCall& call, std::string path) {
  auto answer = co_await call.api.ask("GET", call.file_target("/xattrs", path));
  if (answer) co_return metadata_in(*answer);
  co_return std::map<std::string, std::string>();  // a file system without them, or a file that went away meanwhile
}

Task<Result<EntryInfo>> full_entry(SandboxCall& call, json stat, std::string path, StatCache& known, MetadataIn where) {
  auto entry = plain_entry(stat, path);
  HARENA_CO_TRY(const auto* accounts, co_await call.accounts());
  entry.set_owner(accounts->user_name(stat.value("uid", 0u)));
  entry.set_group(accounts->group_name(stat.value("gid", 0u)));
  const auto type = stat.value("type", "");
  auto metadata = metadata_in(stat);
  known[path] = std::move(stat);
  if (type == "symlink") {
    HARENA_CO_TRY_STATUS(co_await complete_link(call, known, entry, path));
  }
  if (type == "file") {
    if (where == MetadataIn::file) {
      HARENA_CO_TRY(metadata, co_await read_metadata(call, path));
    }
    for (const auto& [key, value] : metadata) (*entry.mutable_metadata())[key] = value;
  }
  co_return entry;
}

Task<Result<EntryInfo>> entry_at(SandboxCall& call, std::string path) {
  HARENA_CO_TRY(auto stat, co_await stat_file(call, path, false));
  StatCache known;
  co_return co_await full_entry(call, std::move(stat), std::move(path), known, MetadataIn::file);
}

}  // namespace harena::e2b
