#pragma once
// Importer: makes an image of a folder, a tar, an archive or a registry's image, and gives it a name.
//
//   Importer importer(store, spawner, work, clock, guard, host_architecture());
//   HARENA_TRY(auto source, ImportSource::parse("docker://python:3.12"));
//   HARENA_TRY(auto reference, ImageReference::parse("root/python:v1"));
//   HARENA_TRY(auto imported, importer.import(call, {.source = source, .reference = reference}));
//
// Each layer is unpacked into a temporary folder as root, becomes an EROFS file and is put into the store. The name is given
// last and atomically: until then, and after any failure or cancel, nothing is visible; blobs stored before are left for
// the sweep. The same source gives the same digest (with the same version of mkfs.erofs). Needs root.

#include <string>
#include <vector>

#include "core/contracts/image_store.hpp"
#include "core/image/import_source.hpp"
#include "core/image/manifest.hpp"
#include "core/image/process.hpp"
#include "core/image/reference.hpp"
#include "core/image/store_guard.hpp"
#include "core/image/work_folder.hpp"
#include "sdk/base/clock.hpp"

namespace harena::image {

/// Of the files of one image, uncompressed; a bound for hostile archives.
inline constexpr std::int64_t kMaxImageBytes = std::int64_t{64} << 30;

struct ImportRequest {
  ImportSource source;
  ImageReference reference;  ///< must have a tag
  ImageKind kind = ImageKind::base;
  std::vector<std::string> overrides = {};  ///< manifest.hpp
  ImageConfig config = {};   ///< for folders and tars, which bring none; architecture is filled in
  std::string created = {};  ///< RFC 3339, for folders and tars
  bool insecure = false;     ///< registry.hpp
  std::string authfile = {};
  std::int64_t max_bytes = kMaxImageBytes;
};

struct Imported {
  Digest digest;
  Manifest manifest;
  std::vector<std::string> notes;  ///< what was left out, in sentences
};

/// Thread-safe; several imports may run at once.
class Importer {
 public:
  /// All references outlive this.
  Importer(ImageStore& store, ProcessSpawner& spawner, WorkFolder& work, const Clock& clock, StoreGuard& guard,
           std::string architecture)
      : store_(store), spawner_(spawner), work_(work), clock_(clock), guard_(guard), architecture_(std::move(architecture)) {}

  /// Blocks; reports to call.progress; ends on call.cancel and the deadline. Errors: those of the source (registry.hpp,
  /// foreign_image.hpp, layer_writer.hpp), data_loss when a layer isn't what its digest says, resource_exhausted when a
  /// disk is full.
  Result<Imported> import(const CallContext& call, const ImportRequest& request);

 private:
  ImageStore& store_;
  ProcessSpawner& spawner_;
  WorkFolder& work_;
  const Clock& clock_;
  StoreGuard& guard_;
  std::string architecture_;
};

}  // namespace harena::image
