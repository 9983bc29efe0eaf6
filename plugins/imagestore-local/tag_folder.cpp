#include "plugins/imagestore-local/tag_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <nlohmann/json.hpp>

#include "plugins/imagestore-local/blob_folder.hpp"
#include "sdk/base/text.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::imagestore {
namespace {

using nlohmann::json;

/// A reference of 512 bytes, every one escaped to 6, and a digest.
constexpr std::size_t kMaxTagFileBytes = 4096;

}  // namespace

Status check_reference(std::string_view reference) {
  const auto refuse = [&](const std::string& why) {
    return make_error(ErrorCode::invalid_argument, "a reference " + why);
  };
  if (reference.empty()) return refuse("is empty; it must be 1 to 512 bytes, as 'root/base:v1'");
  if (reference.size() > kMaxReferenceBytes) return refuse("has " + std::to_string(reference.size()) + " bytes; at most 512 are allowed");
  if (!is_utf8(reference)) return refuse("isn't UTF-8");
  const bool control = std::any_of(reference.begin(), reference.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (control) return refuse("has a control character");
  if (reference.starts_with(kDigestPrefix)) return refuse("begins with 'sha256:', as only digests do");
  return ok_status();
}

Result<std::unique_ptr<TagFolder>> TagFolder::load(UniqueFd tags, UniqueFd temporary, std::vector<std::string>* damaged) {
  HARENA_TRY(const auto names, names_in(tags.get()));
  std::unique_ptr<TagFolder> folder(new TagFolder(std::move(tags), std::move(temporary)));
  for (const auto& name : names) {
    if (!folder->load_one(name)) damaged->push_back("tags/" + name);
  }
  return folder;
}

bool TagFolder::load_one(const std::string& file_name) {
  const auto bytes = read_small_file(tags_.get(), file_name, kMaxTagFileBytes);
  if (!bytes) return false;
  const auto document = json::parse(*bytes, nullptr, false);
  if (!document.is_object() || document.size() != 2) return false;
  const auto reference = document.find("reference");
  const auto digest = document.find("digest");
  if (reference == document.end() || digest == document.end() || !reference->is_string() || !digest->is_string()) return false;
  auto name = reference->get<std::string>();
  auto target = digest->get<std::string>();
  if (!check_reference(name) || !digest_hex(target) || sha256_hex(name) != file_name) return false;
  by_reference_.emplace(std::move(name), std::move(target));
  return true;
}

std::vector<Tag> TagFolder::list(std::string_view prefix, std::string_view cursor, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<Tag> tags;
  auto it = cursor < prefix ? by_reference_.lower_bound(prefix) : by_reference_.upper_bound(cursor);
  for (; it != by_reference_.end() && tags.size() < limit && it->first.starts_with(prefix); ++it) {
    tags.push_back({it->first, it->second});
  }
  return tags;
}

Result<std::string> TagFolder::resolve(std::string_view reference) const {
  HARENA_TRY_STATUS(check_reference(reference));
  const std::lock_guard lock(mutex_);
  const auto it = by_reference_.find(reference);
  if (it != by_reference_.end()) return it->second;
  return make_error(ErrorCode::not_found, "no image is named '" + std::string(reference) + "' in this store");
}

Status TagFolder::set(std::string_view reference, std::string_view digest, const std::function<Status()>& before) {
  HARENA_TRY_STATUS(check_reference(reference));
  HARENA_TRY(const auto hex, digest_hex(digest));
  const std::lock_guard lock(mutex_);
  HARENA_TRY_STATUS(before());
  const auto it = by_reference_.find(reference);
  if (it != by_reference_.end() && it->second == digest) return ok_status();
  const auto bytes = json{{"reference", reference}, {"digest", digest}}.dump();
  HARENA_TRY_STATUS(replace_file(temporary_.get(), tags_.get(), sha256_hex(reference), bytes));
  by_reference_.insert_or_assign(std::string(reference), std::string(digest));
  return ok_status();
}

Status TagFolder::remove(std::string_view reference) {
  HARENA_TRY_STATUS(check_reference(reference));
  const std::lock_guard lock(mutex_);
  const auto it = by_reference_.find(reference);
  if (it == by_reference_.end()) return ok_status();
  if (::unlinkat(tags_.get(), sha256_hex(reference).c_str(), 0) != 0 && errno != ENOENT) {
    return store_error(errno, "removing tag '" + std::string(reference) + "'");
  }
  by_reference_.erase(it);
  return flush(tags_.get(), "the folder of the tags");
}

Status TagFolder::remove_blob(std::string_view digest, const std::function<Status()>& remove) {
  const std::lock_guard lock(mutex_);
  const auto user = std::find_if(by_reference_.begin(), by_reference_.end(),
                                 [&](const auto& tag) { return tag.second == digest; });
  if (user == by_reference_.end()) return remove();
  return make_error(ErrorCode::failed_precondition, "blob " + std::string(digest) + " is named by '" + user->first +
                                                        "'; remove that reference first");
}

}  // namespace harena::imagestore
