#include "core/image/catalog.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {
namespace {

constexpr std::int64_t kPage = 1'000;
/// "Did you mean" looks at so many names at most.
constexpr std::size_t kMaxSuggestions = 1'000;

Error lost(const std::string& message) { return infrastructure_error(ErrorCode::data_loss, "image-store", message); }

Result<std::string> read_manifest_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "manifest '" + path + "'");
  std::string bytes(kMaxManifestBytes + 1, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::read(fd.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "manifest '" + path + "'");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

bool is_pinned(const std::string& reference) { return reference.find('@') != std::string::npos; }

std::string prefix_of(const ImageReference& reference) { return reference.project().str() + "/" + reference.name(); }

}  // namespace

Result<Manifest> Catalog::manifest(const CallContext& call, const std::string& digest) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = manifests_.find(digest); it != manifests_.end()) return it->second;
  }
  HARENA_TRY(const auto blob, store_.open(call, digest));
  HARENA_TRY(const auto bytes, read_manifest_file(blob.path));
  if (Digest::of(bytes).str() != digest) return lost("the manifest " + digest + " is damaged in the image store; import the image again");
  HARENA_TRY(auto parsed, Manifest::parse(bytes));
  const std::lock_guard lock(mutex_);
  if (manifests_.size() >= kCachedManifests) manifests_.erase(manifests_.begin());
  manifests_.insert_or_assign(digest, parsed);
  return parsed;
}

Result<std::vector<TagEntry>> Catalog::names(const CallContext& call, const std::string& prefix) {
  std::vector<TagEntry> all;
  for (std::string cursor;;) {
    HARENA_TRY(auto page, store_.list(call, prefix, cursor, kPage));
    if (page.empty()) return all;
    cursor = page.back().reference;
    all.insert(all.end(), page.begin(), page.end());
  }
}

Result<std::string> Catalog::digest_of(const CallContext& call, const ImageReference& reference) {
  auto digest = store_.resolve(call, reference.str());
  if (digest || digest.error().code != ErrorCode::not_found) return digest;
  std::vector<std::string> known;
  if (const auto page = store_.list(call, reference.project().str() + "/", "", static_cast<std::int64_t>(kMaxSuggestions))) {
    for (const auto& entry : *page) {
      if (!is_pinned(entry.reference)) known.push_back(entry.reference);
    }
  }
  const auto near = nearest(reference.str(), known);
  return make_error(ErrorCode::not_found, "there is no image '" + reference.str() + "'" +
                                              (near ? ", did you mean '" + *near + "'?" : "; `harena images` lists those there are"));
}

Result<FoundImage> Catalog::find(const CallContext& call, const std::string& reference) {
  HARENA_TRY(const auto parsed, ImageReference::parse(reference));
  HARENA_TRY(const auto digest, digest_of(call, parsed));
  auto found = manifest(call, digest);
  if (!found) return std::move(found).error().during("image '" + reference + "'");
  HARENA_TRY(auto name, Digest::parse(digest));
  return FoundImage{std::move(name), *std::move(found)};
}

Result<std::vector<StackImage>> Catalog::find_all(const CallContext& call, const std::vector<std::string>& references) {
  std::vector<StackImage> images;
  for (const auto& reference : references) {
    HARENA_TRY(auto found, find(call, reference));
    images.push_back({reference, std::move(found.manifest)});
  }
  return images;
}

Result<ImageStack> Catalog::resolve(const CallContext& call, const std::string& image, const std::vector<std::string>& workspaces,
                                    const std::vector<std::string>& toolkits) {
  HARENA_TRY(const auto base, find(call, image));
  HARENA_TRY(const auto spaces, find_all(call, workspaces));
  HARENA_TRY(const auto tools, find_all(call, toolkits));
  HARENA_TRY(const auto stack, make_stack({image, base.manifest}, spaces, tools));
  ImageStack resolved;
  resolved.config = to_backend_json(stack.config);
  for (const auto& layer : stack.layers) {
    auto blob = store_.open(call, layer.digest.str());
    if (!blob && blob.error().code == ErrorCode::not_found) return lost("layer " + layer.digest.str() + " of '" + image + "' is gone from the image store; import the image again");
    if (!blob) return std::move(blob).error();
    if (blob->size != layer.size) {
      return lost("layer " + layer.digest.str() + " has " + std::to_string(blob->size) + " bytes instead of " + std::to_string(layer.size));
    }
    resolved.layers.push_back({layer.digest.str(), blob->path, "erofs"});
  }
  return resolved;
}

Result<std::vector<LayerFile>> Catalog::layers(const CallContext& call, const std::vector<std::string>& digests) {
  std::vector<LayerFile> files;
  for (const auto& digest : digests) {
    auto blob = store_.open(call, digest);
    if (!blob && blob.error().code == ErrorCode::not_found) return lost("layer " + digest + " is gone from the image store; import its image again");
    if (!blob) return std::move(blob).error();
    files.push_back({digest, blob->path, "erofs"});
  }
  return files;
}

Result<std::vector<ListedImage>> Catalog::list(const CallContext& call, const std::string& prefix, const std::string& cursor,
                                               std::int64_t limit, std::string& next_cursor) {
  HARENA_TRY(const auto page, store_.list(call, prefix, cursor, limit));
  std::vector<ListedImage> images;
  for (const auto& entry : page) {
    if (is_pinned(entry.reference)) {
      const auto tags = names(call, entry.reference.substr(0, entry.reference.find('@')) + ":");
      if (!tags) return tags.error();
      if (std::any_of(tags->begin(), tags->end(), [&](const auto& tag) { return tag.digest == entry.digest; })) continue;
    }
    HARENA_TRY(auto digest, Digest::parse(entry.digest));
    HARENA_TRY(auto found, manifest(call, entry.digest));
    images.push_back({entry.reference, {std::move(digest), std::move(found)}});
  }
  next_cursor = page.size() < static_cast<std::size_t>(limit) ? std::string() : page.back().reference;
  return images;
}

Status Catalog::tag(const CallContext& call, const std::string& from, const ImageReference& to) {
  if (!to.tag()) return make_error(ErrorCode::invalid_argument, "'" + to.str() + "' has a digest; a new name has a tag, as 'root/base:v2'");
  const std::shared_lock lock(guard_.mutex);
  HARENA_TRY(const auto found, find(call, from));
  HARENA_TRY_STATUS(store_.tag(call, pinned_reference(to, found.digest), found.digest.str()));
  return store_.tag(call, to.str(), found.digest.str());
}

Status Catalog::remove(const CallContext& call, const std::string& reference) {
  HARENA_TRY(const auto parsed, ImageReference::parse(reference));
  auto digest = store_.resolve(call, reference);
  if (!digest && digest.error().code == ErrorCode::not_found) return ok_status();
  if (!digest) return std::move(digest).error();
  HARENA_TRY(const auto tags, names(call, prefix_of(parsed) + ":"));
  const auto other = std::find_if(tags.begin(), tags.end(), [&](const auto& tag) { return tag.digest == *digest && tag.reference != reference; });
  if (!parsed.tag() && other != tags.end()) {
    return make_error(ErrorCode::failed_precondition, "'" + reference + "' is named by '" + other->reference + "'; remove that first");
  }
  HARENA_TRY_STATUS(store_.remove(call, reference));
  if (!parsed.tag() || other != tags.end()) return ok_status();
  HARENA_TRY(const auto pinned, Digest::parse(*digest));
  return store_.remove(call, pinned_reference(parsed, pinned));
}

Result<Swept> Catalog::sweep(const CallContext& call, const std::set<std::string>& in_use) {
  const std::unique_lock lock(guard_.mutex, std::try_to_lock);
  if (!lock) return make_error(ErrorCode::unavailable, "an import is running; sweep when it has ended");
  std::set<std::string> kept = in_use;
  HARENA_TRY(const auto all, names(call, ""));
  for (const auto& entry : all) {
    kept.insert(entry.digest);
    HARENA_TRY(const auto used, manifest(call, entry.digest));  // a manifest that can't be read stops the sweep
    for (const auto& layer : used.layers) kept.insert(layer.digest.str());
  }
  Swept swept;
  for (std::string cursor;;) {
    HARENA_TRY(const auto page, store_.list_blobs(call, cursor, kPage));
    if (page.empty()) return swept;
    cursor = page.back().digest;
    for (const auto& blob : page) {
      if (kept.contains(blob.digest)) continue;
      HARENA_TRY_STATUS(store_.remove(call, blob.digest));
      ++swept.blobs;
      swept.bytes += blob.size;
    }
  }
}

}  // namespace harena::image
