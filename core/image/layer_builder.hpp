#pragma once
// LayerBuilder: entries to a stored layer: unpack, mkfs.erofs, put. Collects the layers of one image.

#include <string>
#include <vector>

#include "core/contracts/image_store.hpp"
#include "core/image/entry.hpp"
#include "core/image/layer_writer.hpp"
#include "core/image/manifest.hpp"
#include "core/image/merged_tree.hpp"
#include "core/image/progress.hpp"
#include "core/image/work_folder.hpp"

namespace harena::image {

/// One image, one thread; lowest layer first.
class LayerBuilder {
 public:
  LayerBuilder(const CallContext& call, ImageStore& store, ProcessSpawner& spawner, WorkFolder& work, ImportProgress& progress,
               WhiteoutStyle style, std::int64_t max_bytes)
      : call_(call), store_(store), spawner_(spawner), work_(work), progress_(progress), style_(style), bytes_left_(max_bytes) {}

  /// `checkpoint` is asked while unpacking. A layer without entries adds nothing.
  Status add(EntryReader& entries, const Checkpoint& checkpoint);

  const std::vector<LayerEntry>& layers() const { return layers_; }
  /// What was left out, in sentences.
  std::vector<std::string> notes() const;

 private:
  Result<LayerReport> unpack(EntryReader& entries, const std::filesystem::path& to, const Checkpoint& checkpoint);
  Status store(const std::filesystem::path& file);

  const CallContext& call_;
  ImageStore& store_;
  ProcessSpawner& spawner_;
  WorkFolder& work_;
  ImportProgress& progress_;
  WhiteoutStyle style_;
  std::int64_t bytes_left_;
  MergedTree tree_;
  LayerReport total_;
  std::vector<LayerEntry> layers_;
};

}  // namespace harena::image
