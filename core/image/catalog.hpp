#pragma once
// Catalog: the images in a store, by name: what a create's references mean, and what may be removed.
//
// Every import gives two names in the store: `project/name:tag`, which may move, and `project/name@sha256:...`, which
// doesn't. So a digest is only reachable through a project that has it (no project reads another's image by guessing a
// digest), and what is pinned stays until it is removed.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/contracts/image_store.hpp"
#include "core/contracts/images.hpp"
#include "core/image/manifest.hpp"
#include "core/image/reference.hpp"
#include "core/image/stack.hpp"
#include "core/image/store_guard.hpp"

namespace harena::image {

/// Manifests never change, so those in use are kept in memory: 1,000 of 20 KiB are 20 MB.
inline constexpr std::size_t kCachedManifests = 1'000;

struct FoundImage {
  Digest digest;
  Manifest manifest;
};

struct ListedImage {
  std::string reference;
  FoundImage image;
};

struct Swept {
  std::int64_t blobs = 0;
  std::int64_t bytes = 0;
};

/// Thread-safe, blocking.
class Catalog final : public ImageResolver {
 public:
  Catalog(ImageStore& store, StoreGuard& guard) : store_(store), guard_(guard) {}

  /// The stack of a create. not_found names the reference and the nearest known; data_loss names a damaged manifest or a
  /// layer that is gone; errors of make_stack.
  Result<ImageStack> resolve(const CallContext& call, const std::string& image, const std::vector<std::string>& workspaces,
                             const std::vector<std::string>& toolkits) override;
  Result<std::vector<LayerFile>> layers(const CallContext& call, const std::vector<std::string>& digests) override;
  Result<FoundImage> find(const CallContext& call, const std::string& reference);
  /// Those whose reference begins with `prefix`, after `cursor`; a pinned name only when no tag of that name has its
  /// digest. At most `limit` (1 to 10,000); fewer don't mean the end: `next_cursor` empty does.
  Result<std::vector<ListedImage>> list(const CallContext& call, const std::string& prefix, const std::string& cursor,
                                        std::int64_t limit, std::string& next_cursor);
  /// Another name for an image; `to` must have a tag.
  Status tag(const CallContext& call, const std::string& from, const ImageReference& to);
  /// Removes a name; with the last tag of an image in its project/name its pinned name goes too. Layers stay until the
  /// sweep. Idempotent.
  Status remove(const CallContext& call, const std::string& reference);
  /// Removes blobs that no image has and that aren't `in_use` (digests of layers mounted or of paused sandboxes).
  /// unavailable while an import runs.
  Result<Swept> sweep(const CallContext& call, const std::set<std::string>& in_use);

 private:
  Result<Manifest> manifest(const CallContext& call, const std::string& digest);
  Result<std::string> digest_of(const CallContext& call, const ImageReference& reference);
  Result<std::vector<StackImage>> find_all(const CallContext& call, const std::vector<std::string>& references);
  Result<std::vector<TagEntry>> names(const CallContext& call, const std::string& prefix);

  ImageStore& store_;
  StoreGuard& guard_;
  std::mutex mutex_;
  std::map<std::string, Manifest> manifests_;  // guarded by mutex_
};

}  // namespace harena::image
