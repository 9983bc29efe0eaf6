#include "shim/tar_writer.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "shim/tar_names.hpp"

namespace harena::shim {
namespace {

constexpr int kBlockBytes = 256 << 10;
/// libarchive counts the bytes of a hole without looking at them, so they may be those of a mapping that is never touched.
constexpr std::size_t kHoleBytes = std::size_t{1} << 30;

const char* hole_bytes() {
  static void* const kMapping = ::mmap(nullptr, kHoleBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return kMapping == MAP_FAILED ? nullptr : static_cast<const char*>(kMapping);
}

struct FreeEntry {
  void operator()(archive_entry* entry) const { ::archive_entry_free(entry); }
};

void set_links(archive_entry* to, const TarEntry& entry) {
  if (entry.kind == TarKind::hard_link) ::archive_entry_copy_hardlink(to, entry.target.c_str());
  if (entry.kind == TarKind::symlink) ::archive_entry_copy_symlink(to, entry.target.c_str());
}

void set_regions(archive_entry* to, const std::vector<TarRegion>& regions) {
  for (const auto& region : regions) ::archive_entry_sparse_add_entry(to, region.offset, region.length);
  // All hole.
  if (regions.empty()) ::archive_entry_sparse_add_entry(to, 0, 0);
}

}  // namespace

Result<std::unique_ptr<TarWriter>> TarWriter::create(Sink sink) {
  use_names_as_bytes();
  std::unique_ptr<TarWriter> made(new TarWriter());
  made->sink_ = std::move(sink);
  made->writer_ = ::archive_write_new();
  if (made->writer_ == nullptr) return make_error(ErrorCode::resource_exhausted, "no memory for writing an archive");
  ::archive_write_set_format_pax(made->writer_);
  // Once, and raw, as GNU tar has them.
  ::archive_write_set_format_option(made->writer_, "pax", "xattrheader", "SCHILY");
  ::archive_write_set_bytes_per_block(made->writer_, kBlockBytes);
  ::archive_write_set_bytes_in_last_block(made->writer_, 1);
  auto write = [](archive* writer, void* self, const void* bytes, std::size_t size) -> la_ssize_t {
    auto& me = *static_cast<TarWriter*>(self);
    me.sink_status_ = me.sink_({static_cast<const char*>(bytes), size});
    if (me.sink_status_) return static_cast<la_ssize_t>(size);
    ::archive_set_error(writer, EIO, "sink");
    return ARCHIVE_FATAL;
  };
  if (::archive_write_open(made->writer_, made.get(), nullptr, write, nullptr) != ARCHIVE_OK) return made->failed("opening").error();
  return made;
}

TarWriter::~TarWriter() {
  if (writer_ == nullptr) return;
  // Without this free() would write the end marker.
  ::archive_write_fail(writer_);
  ::archive_write_free(writer_);
}

Status TarWriter::failed(const char* what) const {
  if (!sink_status_) return sink_status_;
  const char* why = ::archive_error_string(writer_);
  return make_error(ErrorCode::internal, std::string("archive: ") + what + ": " + (why != nullptr ? why : "no reason given"));
}

Status TarWriter::begin(const TarEntry& entry, std::uint32_t file_type, const std::optional<std::vector<TarRegion>>& regions) {
  std::unique_ptr<archive_entry, FreeEntry> header(::archive_entry_new());
  if (!header) return make_error(ErrorCode::resource_exhausted, "no memory for an archive's entry");
  ::archive_entry_copy_pathname(header.get(), entry.path.c_str());
  ::archive_entry_set_mode(header.get(), file_type | entry.mode);
  ::archive_entry_set_uid(header.get(), entry.uid);
  ::archive_entry_set_gid(header.get(), entry.gid);
  ::archive_entry_set_mtime(header.get(), entry.mtime_s, static_cast<long>(entry.mtime_ns));
  ::archive_entry_set_size(header.get(), entry.kind == TarKind::file ? entry.size : 0);
  set_links(header.get(), entry);
  for (const auto& [name, value] : entry.xattrs) ::archive_entry_xattr_add_entry(header.get(), name.c_str(), value.data(), value.size());
  if (regions) set_regions(header.get(), *regions);
  // A warning: a name that isn't UTF-8, which is then stored as bytes and says so.
  int done = ::archive_write_header(writer_, header.get());
  return done == ARCHIVE_OK || done == ARCHIVE_WARN ? ok_status() : failed("writing an entry's header");
}

Status TarWriter::data(std::string_view bytes) {
  while (!bytes.empty()) {
    auto wrote = ::archive_write_data(writer_, bytes.data(), bytes.size());
    if (wrote <= 0) return failed("writing an entry's data");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Status TarWriter::hole(std::int64_t length) {
  const char* zeros = hole_bytes();
  if (zeros == nullptr) return make_error(ErrorCode::resource_exhausted, "no address space for an archive's holes");
  while (length > 0) {
    auto part = std::min(static_cast<std::size_t>(length), kHoleBytes);
    HARENA_TRY_STATUS(data({zeros, part}));
    length -= static_cast<std::int64_t>(part);
  }
  return {};
}

Status TarWriter::finish() { return ::archive_write_close(writer_) == ARCHIVE_OK ? ok_status() : failed("ending the archive"); }

}  // namespace harena::shim
