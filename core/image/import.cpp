#include "core/image/import.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <mutex>

#include "core/image/folder_reader.hpp"
#include "core/image/foreign_image.hpp"
#include "core/image/layer_builder.hpp"
#include "core/image/progress.hpp"
#include "core/image/registry.hpp"
#include "core/image/tar_reader.hpp"
#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

namespace fs = std::filesystem;

/// Where everything that one import needs comes together.
struct Job {
  const CallContext& call;
  const ImportRequest& request;
  ImageStore& store;
  ProcessSpawner& spawner;
  WorkFolder& work;
  const std::string& architecture;
  ImportProgress progress;

  LayerBuilder builder(WhiteoutStyle style) {
    return LayerBuilder(call, store, spawner, work, progress, style, request.max_bytes);
  }
};

struct Content {
  ImageConfig config;
  std::string created;
  std::string source_digest;
  std::vector<LayerEntry> layers;
  std::vector<std::string> notes;
};

std::string scheme_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::folder: return "dir:";
    case SourceKind::tar: return "tar:";
    case SourceKind::docker_archive: return "docker-archive:";
    case SourceKind::oci_archive: return "oci-archive:";
    case SourceKind::oci_layout: return "oci:";
    case SourceKind::registry: return "docker://";
  }
  return {};
}

std::string text_of(const ImportSource& source) {
  return scheme_of(source.kind) + source.location + (source.tag.empty() ? "" : ":" + source.tag);
}

/// One tar as a layer; compared with its diff_id when there is one.
Status add_tar(Job& job, LayerBuilder& builder, UniqueFd file, const std::string& name, const std::string& diff_id) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return errno_error(errno, name);
  job.progress.begin("unpack", status.st_size);
  HARENA_TRY(const auto reader, TarReader::open(std::move(file), name));
  const Checkpoint checkpoint = [&] {
    job.progress.done(reader->bytes_read());
    return job.progress.check();
  };
  HARENA_TRY_STATUS(builder.add(*reader, checkpoint));
  HARENA_TRY(const auto digest, reader->finish(checkpoint));
  if (diff_id.empty() || digest == diff_id) return ok_status();
  return make_error(ErrorCode::data_loss, name + " has the digest " + digest + ", but its image says " + diff_id);
}

Content own_content(const Job& job, const LayerBuilder& builder) {
  Content content{job.request.config, job.request.created, "", builder.layers(), builder.notes()};
  if (content.config.architecture.empty()) content.config.architecture = job.architecture;
  return content;
}

Result<Content> from_folder(Job& job) {
  auto builder = job.builder(WhiteoutStyle::overlayfs);
  job.progress.set_layer(1, 1);
  job.progress.begin("unpack", 0);
  HARENA_TRY(const auto reader, FolderReader::open(job.request.source.location));
  HARENA_TRY_STATUS(builder.add(*reader, [&] { return job.progress.check(); }));
  return own_content(job, builder);
}

Result<Content> from_tar(Job& job) {
  auto builder = job.builder(WhiteoutStyle::overlayfs);
  job.progress.set_layer(1, 1);
  const auto& path = job.request.source.location;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error(errno, "tar '" + path + "'");
  HARENA_TRY_STATUS(add_tar(job, builder, std::move(file), "tar '" + path + "'", ""));
  return own_content(job, builder);
}

Result<Content> from_foreign(Job& job, const FileSet& files, ForeignImage image) {
  if (image.layers.size() > kMaxLayers) {
    return make_error(ErrorCode::resource_exhausted, "the image has " + std::to_string(image.layers.size()) +
                                                         " layers; at most " + std::to_string(kMaxLayers) + " can be mounted");
  }
  auto builder = job.builder(WhiteoutStyle::oci);
  for (std::size_t i = 0; i < image.layers.size(); ++i) {
    job.progress.set_layer(i + 1, image.layers.size());
    const auto name = "layer " + std::to_string(i + 1) + " of " + std::to_string(image.layers.size());
    HARENA_TRY(auto file, files.open(image.layers[i].file));
    auto added = add_tar(job, builder, std::move(file), name, image.layers[i].diff_id);
    if (!added) return std::move(added).error().during(name);
  }
  return Content{std::move(image.config), std::move(image.created), std::move(image.digest), builder.layers(), builder.notes()};
}

Result<Content> from_docker_archive(Job& job) {
  job.progress.begin("fetch", 0);
  HARENA_TRY(const auto files, ArchiveFiles::unpack(job.request.source.location, job.work, [&] { return job.progress.check(); }));
  HARENA_TRY(auto image, read_docker_archive(*files, job.architecture));
  return from_foreign(job, *files, std::move(image));
}

Result<Content> from_oci_archive(Job& job) {
  job.progress.begin("fetch", 0);
  HARENA_TRY(const auto files, ArchiveFiles::unpack(job.request.source.location, job.work, [&] { return job.progress.check(); }));
  HARENA_TRY(auto image, read_oci_layout(*files, job.request.source.tag, job.architecture));
  return from_foreign(job, *files, std::move(image));
}

Result<Content> from_oci_folder(Job& job, const fs::path& folder, const std::string& tag) {
  HARENA_TRY(const auto files, FolderFiles::open_folder(folder));
  HARENA_TRY(auto image, read_oci_layout(*files, tag, job.architecture));
  return from_foreign(job, *files, std::move(image));
}

std::int64_t bytes_below(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code ignored;  // files come and go while skopeo works
  for (auto it = fs::recursive_directory_iterator(folder, ignored); !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored)) {
    std::error_code gone;
    const auto size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

Result<Content> from_registry(Job& job) {
  HARENA_TRY(const auto temporary, job.work.make());
  const auto layout = temporary.path() / "layout";
  job.progress.begin("fetch", 0);
  const RegistryOptions options{job.request.insecure, job.request.authfile, job.architecture};
  HARENA_TRY_STATUS(fetch_from_registry(job.spawner, job.request.source.location, layout, options, [&] {
    job.progress.done(bytes_below(temporary.path()));
    return job.progress.check();
  }));
  return from_oci_folder(job, layout, "image");
}

Result<Content> read_source(Job& job) {
  switch (job.request.source.kind) {
    case SourceKind::folder: return from_folder(job);
    case SourceKind::tar: return from_tar(job);
    case SourceKind::docker_archive: return from_docker_archive(job);
    case SourceKind::oci_archive: return from_oci_archive(job);
    case SourceKind::oci_layout: return from_oci_folder(job, job.request.source.location, job.request.source.tag);
    case SourceKind::registry: return from_registry(job);
  }
  return make_error(ErrorCode::invalid_argument, "unknown kind of source");
}

/// JSON texts are UTF-8: of what came from elsewhere, the rest is escaped.
std::string json_text(const std::string& text) { return is_utf8(text) ? text : percent_encode(text, true); }

Manifest manifest_of(const Job& job, const Content& content) {
  Manifest manifest;
  manifest.kind = job.request.kind;
  manifest.config = content.config;
  manifest.overrides = job.request.overrides;
  manifest.layers = content.layers;
  manifest.created = content.created;
  manifest.provenance["source"] = json_text(text_of(job.request.source));
  if (!content.source_digest.empty()) manifest.provenance["source_digest"] = content.source_digest;
  return manifest;
}

Result<Digest> store_manifest(const CallContext& call, ImageStore& store, const Manifest& manifest) {
  const auto bytes = manifest.serialise();
  UniqueFd fd(::memfd_create("harena-manifest", MFD_CLOEXEC));
  if (!fd) return errno_error(errno, "memfd_create");
  // A manifest is at most a mebibyte: one write takes it whole.
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return errno_error(errno, "writing the manifest");
  const auto digest = Digest::of(bytes);
  HARENA_TRY(const auto stored, store.put(call, digest.str(), fd.get()));
  return digest;
}

Status check_request(const ImportRequest& request) {
  if (request.reference.tag()) return ok_status();
  return make_error(ErrorCode::invalid_argument, "'" + request.reference.str() +
                                                     "' has a digest; an import gives a new name, as 'root/base:v1'");
}

}  // namespace

Result<Imported> Importer::import(const CallContext& call, const ImportRequest& request) {
  HARENA_TRY_STATUS(check_request(request));
  const std::shared_lock lock(guard_.mutex);
  Job job{call, request, store_, spawner_, work_, architecture_, ImportProgress(call, clock_)};
  auto read = read_source(job);
  if (!read) return std::move(read).error().during("importing '" + text_of(request.source) + "'");
  const auto manifest = manifest_of(job, *read);
  HARENA_TRY_STATUS(validate(manifest));
  if (manifest.serialise().size() > kMaxManifestBytes) {
    return make_error(ErrorCode::invalid_argument, "the image's config is larger than a mebibyte");
  }
  HARENA_TRY_STATUS(job.progress.check());
  HARENA_TRY(auto digest, store_manifest(call, store_, manifest));
  // The pinned name first: it lets project/name@sha256:... go on working after the tag has moved.
  HARENA_TRY_STATUS(store_.tag(call, pinned_reference(request.reference, digest), digest.str()));
  HARENA_TRY_STATUS(store_.tag(call, request.reference.str(), digest.str()));
  return Imported{std::move(digest), manifest, std::move(read->notes)};
}

}  // namespace harena::image
