#include "plugins/container/root_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kFile = "root.json";
constexpr const char* kNewFile = "root.json.new";

json to_json(const RootState& state) {
  return {{"upper", state.upper}, {"work", state.work}, {"frozen", container::to_json(state.frozen)}};
}

RootState state_from_json(const json& value) {
  RootState state;
  value.at("upper").get_to(state.upper);
  value.at("work").get_to(state.work);
  state.frozen = frozen_from_json(value.at("frozen"));
  return state;
}

/// What is left of a file that the machine's end kept from the disk: no bytes, or as many zeros.
bool was_lost(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\0'; });
}

/// Renaming over a file makes ext4 flush the new one first, a millisecond or two while the sandbox stands still; exchanging them doesn't.
/// The old text then has the new name.
Status replace_file(int folder) {
  if (::renameat2(folder, kNewFile, folder, kFile, RENAME_EXCHANGE) == 0) return {};
  // ENOENT: there is no old one; EINVAL: this file system can't.
  if (errno != ENOENT && errno != EINVAL) return errno_error(errno, std::string("exchange ") + kNewFile);
  if (::renameat(folder, kNewFile, folder, kFile) != 0) return errno_error(errno, std::string("rename ") + kNewFile);
  return {};
}

}  // namespace

json to_json(const std::vector<FrozenLayer>& layers) {
  json list = json::array();
  for (const auto& layer : layers) list.push_back({{"id", layer.id}, {"first_id", layer.first_id}});
  return list;
}

std::vector<FrozenLayer> frozen_from_json(const json& value) {
  std::vector<FrozenLayer> layers;
  for (const auto& layer : value) layers.push_back({layer.at("id").get<std::string>(), layer.at("first_id").get<std::uint32_t>()});
  return layers;
}

RootState RootState::following() const {
  const std::string number = std::to_string(upper.size() > 1 ? std::stoull(upper.substr(1)) + 1 : 1);
  return {"u" + number, "w" + number, frozen};
}

Result<RootRecord> RootRecord::read(const std::string& state_dir) {
  auto text = read_file_at(AT_FDCWD, state_dir + "/" + kFile);
  if (!text.ok() && text.error().code == ErrorCode::not_found) return RootRecord();
  if (!text.ok()) return std::move(text).error();
  if (was_lost(*text)) return RootRecord();
  try {
    const json document = json::parse(*text);
    if (document.at("version") != kVersion) {
      return make_error(ErrorCode::failed_precondition, std::string(kFile) + " has version " + document["version"].dump() +
                                                            "; this plugin reads " + std::to_string(kVersion));
    }
    RootRecord record{state_from_json(document.at("now")), std::nullopt};
    if (document.contains("next")) {
      record.next = RootState::Change{state_from_json(document["next"].at("to")), document["next"].at("becomes").get<std::string>()};
    }
    return record;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::data_loss, std::string(kFile) + " of a sandbox can't be read: " + e.what());
  }
}

Status RootRecord::write(const std::string& state_dir) const {
  json document = {{"version", kVersion}, {"now", to_json(now)}};
  if (next) document["next"] = {{"to", to_json(next->to)}, {"becomes", next->becomes}};
  HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, state_dir));
  // Emptying a file and writing it anew makes ext4 flush it as well.
  if (::unlinkat(folder.get(), kNewFile, 0) != 0 && errno != ENOENT) return errno_error(errno, std::string("remove ") + kNewFile);
  HARENA_TRY_STATUS(create_file_at(folder.get(), kNewFile, document.dump(), 0600));
  return replace_file(folder.get());
}

}  // namespace harena::container
