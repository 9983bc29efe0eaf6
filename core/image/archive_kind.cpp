#include "core/image/archive_kind.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <string_view>

namespace harena::image {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

struct CloseArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

std::string_view without_dot(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

}  // namespace

Result<SourceKind> detect_archive(const std::filesystem::path& path) {
  const std::unique_ptr<archive, CloseArchive> reader(archive_read_new());
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) != ARCHIVE_OK) {
    const bool missing = archive_errno(reader.get()) == ENOENT;
    return make_error(missing ? ErrorCode::not_found : ErrorCode::invalid_argument,
                      path.string() + ": " + archive_error_string(reader.get()));
  }
  bool has_manifest = false;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
    const char* name = archive_entry_pathname(entry);
    const auto top = without_dot(name ? name : "");
    if (top == "oci-layout") return SourceKind::oci_archive;
    if (top == "manifest.json") has_manifest = true;
    // Root file systems say what they are early on; so a big one isn't read to its end.
    if (top == "etc/" || top == "etc/passwd" || top == "usr/" || top == "bin/") break;
  }
  if (status == ARCHIVE_FATAL) {
    return make_error(ErrorCode::invalid_argument,
                      path.string() + " is no tar archive: " + archive_error_string(reader.get()));
  }
  return has_manifest ? SourceKind::docker_archive : SourceKind::tar;
}

}  // namespace harena::image
