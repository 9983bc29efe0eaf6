#pragma once
// ImageStoreAdapter: a plugin's harena.image-store/1 as an ImageStore.

#include <memory>

#include "core/contracts/image_store.hpp"
#include "core/pluginhost/plugin_caller.hpp"
#include "sdk/abi/image_store.h"

namespace harena {

/// Thread-safe. Checks what the core relies on: the form of digests, absolute paths, order and limit of lists.
class ImageStoreAdapter final : public ImageStore {
 public:
  static Result<std::unique_ptr<ImageStoreAdapter>> make(std::shared_ptr<const loader::Instance> instance);

  Result<StoredBlob> put(const CallContext& call, const std::string& expected_digest, int borrowed_fd) override;
  Result<OpenedBlob> open(const CallContext& call, const std::string& digest) override;
  Result<std::vector<TagEntry>> list(const CallContext& call, const std::string& prefix, const std::string& cursor,
                                     std::int64_t limit) override;
  Result<std::string> resolve(const CallContext& call, const std::string& reference) override;
  Status tag(const CallContext& call, const std::string& reference, const std::string& digest) override;
  Status remove(const CallContext& call, const std::string& reference_or_digest) override;
  Result<std::vector<StoredBlob>> list_blobs(const CallContext& call, const std::string& cursor,
                                             std::int64_t limit) override;
  Result<std::vector<std::string>> check(const CallContext& call, const std::string& digest) override;

 private:
  ImageStoreAdapter(PluginCaller caller, const harena_image_store& table)
      : caller_(std::move(caller)), table_(table) {}

  PluginCaller caller_;
  const harena_image_store table_;
};

}  // namespace harena
