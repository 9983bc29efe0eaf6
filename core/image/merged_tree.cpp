#include "core/image/merged_tree.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace harena::image {
namespace {

std::string shown(std::string_view path) {
  std::string out;
  for (const char c : path.substr(0, 200)) out += c >= ' ' && c <= '~' ? c : '?';
  return "'" + out + "'";
}

Error bad_path(std::string_view path, const std::string& why) {
  return make_error(ErrorCode::invalid_argument, "the archive has an entry " + shown(path) + " " + why);
}

std::string joined_path(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

/// Takes the first component off `rest`.
std::string take_component(std::string& rest) {
  const auto start = rest.find_first_not_of('/');
  if (start == std::string::npos) {
    rest.clear();
    return {};
  }
  const auto end = std::min(rest.find('/', start), rest.size());
  auto name = rest.substr(start, end - start);
  rest.erase(0, end);
  return name;
}

}  // namespace

std::pair<std::string, std::string> split_path(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Result<std::string> normalise_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return bad_path(path, "with a NUL in its name");
  if (path.size() > kMaxPathBytes) return bad_path(path, "whose name is longer than 4095 bytes");
  std::string rest(path);
  std::string out;
  while (!rest.empty()) {
    const auto name = take_component(rest);
    if (name.empty() || name == ".") continue;
    if (name == "..") return bad_path(path, "with '..' in its name, which could lead out of the layer");
    if (name.size() > kMaxComponentBytes) return bad_path(path, "with a part of its name longer than 255 bytes");
    out = joined_path(out, name);
  }
  return out;
}

Result<std::string> MergedTree::resolve_folder(std::string_view path) const {
  std::string at;
  std::string rest(path);
  int links = 0;
  while (!rest.empty()) {
    const auto name = take_component(rest);
    if (name.empty() || name == ".") continue;
    HARENA_TRY(at, step(at, name, rest, links));
    if (at.size() > kMaxPathBytes) return bad_path(path, "that resolves to a name longer than 4095 bytes");
  }
  return at;
}

Result<std::string> MergedTree::step(const std::string& at, const std::string& name, std::string& rest, int& links) const {
  if (name == "..") return split_path(at).first;  // only from a link's target; the root is its own parent
  auto next = joined_path(at, name);
  const auto* node = find(next);
  if (node == nullptr || node->type == EntryType::folder) return next;
  if (node->type != EntryType::symlink) return bad_path(next, "that is a file but is used as a folder");
  if (++links > kMaxLinks) return bad_path(next, "that is a loop of symbolic links");
  if (node->link.size() + rest.size() > 2 * kMaxPathBytes) return bad_path(next, "whose links are too long");
  rest = node->link + "/" + rest;
  return node->link.starts_with('/') ? std::string() : at;
}

const TreeNode* MergedTree::find(const std::string& real_path) const {
  const auto it = nodes_.find(real_path);
  return it == nodes_.end() ? nullptr : &it->second;
}

Status MergedTree::put(const std::string& real_path, const FileEntry& entry) {
  const auto* before = find(real_path);
  const bool below = before != nullptr && (before->below || before->layer < layer_);
  if (before != nullptr && (before->type != EntryType::folder || entry.type != EntryType::folder)) remove(real_path);
  if (nodes_.size() >= kMaxTreeNodes) {
    return make_error(ErrorCode::resource_exhausted, "the image has more than " + std::to_string(kMaxTreeNodes) + " files");
  }
  auto& node = nodes_[real_path];
  node.type = entry.type;
  node.layer = layer_;
  node.below = below;
  node.link = entry.type == EntryType::symlink ? entry.link : std::string();
  if (entry.type == EntryType::folder) {
    node.folder = entry;
    node.folder.path.clear();
  }
  return ok_status();
}

bool MergedTree::remove(const std::string& real_path) {
  bool lower = false;
  const auto take = [&](auto it) {
    lower = lower || it->second.below || it->second.layer < layer_;
    return nodes_.erase(it);
  };
  if (auto it = nodes_.find(real_path); it != nodes_.end()) take(it);
  const auto below = real_path + "/";
  for (auto it = nodes_.lower_bound(below); it != nodes_.end() && it->first.starts_with(below);) it = take(it);
  return lower;
}

void MergedTree::hide_lower(const std::string& real_folder) {
  const auto below = real_folder.empty() ? std::string() : real_folder + "/";
  for (auto it = nodes_.lower_bound(below); it != nodes_.end() && it->first.starts_with(below);) {
    const bool own_root = it->first == real_folder;
    it = it->second.layer < layer_ && !own_root ? nodes_.erase(it) : std::next(it);
  }
}

}  // namespace harena::image
