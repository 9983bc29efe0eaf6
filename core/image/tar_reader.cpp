#include "core/image/tar_reader.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "sdk/base/utf8_scope.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::image {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

struct ArchiveFree {
  void operator()(archive* a) const { ::archive_read_free(a); }
};
using Archive = std::unique_ptr<archive, ArchiveFree>;

EntryType type_of(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return EntryType::hardlink;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFDIR: return EntryType::folder;
    case AE_IFLNK: return EntryType::symlink;
    case AE_IFIFO: return EntryType::fifo;
    case AE_IFCHR: return EntryType::character_device;
    case AE_IFBLK: return EntryType::block_device;
    case AE_IFSOCK: return EntryType::socket;
    default: return EntryType::file;
  }
}

void copy_xattrs(archive_entry* from, FileEntry& to) {
  ::archive_entry_xattr_reset(from);
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  while (::archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK) {
    if (name != nullptr) to.xattrs.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
}

const char* link_of(archive_entry* entry, EntryType type) {
  const char* link = type == EntryType::hardlink ? ::archive_entry_hardlink(entry) : ::archive_entry_symlink(entry);
  return link == nullptr ? "" : link;
}

}  // namespace

struct TarReader::State {
  UniqueFd file;
  std::string name;
  Archive outer;  // decompresses
  Archive inner;  // reads the tar
  Sha256 hash;
  std::vector<char> compressed = std::vector<char>(kChunkBytes);
  std::vector<char> plain = std::vector<char>(kChunkBytes);
  std::int64_t bytes_read = 0;
  bool at_end = false;

  Error broken(archive* a, const std::string& what) const {
    const char* why = ::archive_error_string(a);
    if (::archive_errno(a) == ENOMEM) return make_error(ErrorCode::resource_exhausted, name + ": not enough memory to read it");
    return make_error(ErrorCode::data_loss, name + ": " + what + ": " + (why == nullptr ? "damaged or cut off" : why));
  }

  static la_ssize_t read_file(archive* a, void* self, const void** buffer) {
    auto& state = *static_cast<State*>(self);
    *buffer = state.compressed.data();
    ssize_t got = 0;
    do got = ::read(state.file.get(), state.compressed.data(), state.compressed.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) ::archive_set_error(a, errno, "read failed");
    if (got > 0) state.bytes_read += got;
    return got;
  }

  static la_ssize_t read_plain(archive* a, void* self, const void** buffer) {
    auto& state = *static_cast<State*>(self);
    *buffer = state.plain.data();
    const auto got = state.at_end ? 0 : ::archive_read_data(state.outer.get(), state.plain.data(), state.plain.size());
    if (got < 0) {
      ::archive_set_error(a, EIO, "%s", ::archive_error_string(state.outer.get()));
      return -1;
    }
    state.at_end = got == 0;
    state.hash.update(std::string_view(state.plain.data(), static_cast<std::size_t>(got)));
    return got;
  }

  Status open_outer() {
    outer.reset(::archive_read_new());
    auto* a = outer.get();
    ::archive_read_support_filter_gzip(a);
    ::archive_read_support_filter_bzip2(a);
    ::archive_read_support_filter_xz(a);
    ::archive_read_support_filter_zstd(a);
    ::archive_read_support_format_raw(a);
    ::archive_read_support_format_empty(a);
    if (::archive_read_open(a, this, nullptr, &State::read_file, nullptr) != ARCHIVE_OK) return broken(a, "can't be read");
    archive_entry* whole = nullptr;
    const int got = ::archive_read_next_header(a, &whole);
    at_end = got == ARCHIVE_EOF;
    return got == ARCHIVE_OK || at_end ? ok_status() : Status(broken(a, "can't be decompressed"));
  }

  Status open_inner() {
    inner.reset(::archive_read_new());
    auto* a = inner.get();
    ::archive_read_support_format_tar(a);
    ::archive_read_support_format_empty(a);
    if (::archive_read_open(a, this, nullptr, &State::read_plain, nullptr) == ARCHIVE_OK) return ok_status();
    return broken(a, "isn't a tar archive");
  }
};

TarReader::TarReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarReader::~TarReader() = default;

Result<std::unique_ptr<TarReader>> TarReader::open(UniqueFd file, std::string name) {
  const Utf8Scope locale;
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->name = std::move(name);
  HARENA_TRY_STATUS(state->open_outer());
  HARENA_TRY_STATUS(state->open_inner());
  return std::unique_ptr<TarReader>(new TarReader(std::move(state)));
}

Result<bool> TarReader::next(FileEntry& entry) {
  const Utf8Scope locale;
  archive_entry* found = nullptr;
  const int got = ::archive_read_next_header(state_->inner.get(), &found);
  if (got == ARCHIVE_EOF) return false;
  if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return state_->broken(state_->inner.get(), "isn't a whole tar archive");
  const char* path = ::archive_entry_pathname(found);
  if (path == nullptr) return state_->broken(state_->inner.get(), "an entry has no readable name");
  entry = FileEntry();
  entry.path = path;
  entry.type = type_of(found);
  entry.mode = ::archive_entry_perm(found) & 07777;
  const auto uid = ::archive_entry_uid(found);
  const auto gid = ::archive_entry_gid(found);
  if (uid < 0 || gid < 0 || uid >= UINT32_MAX || gid >= UINT32_MAX) {
    return make_error(ErrorCode::invalid_argument, state_->name + ": '" + entry.path + "' has the owner " + std::to_string(uid) +
                                                       ":" + std::to_string(gid) + "; ids are from 0 to 4294967294");
  }
  entry.uid = static_cast<std::uint32_t>(uid);
  entry.gid = static_cast<std::uint32_t>(gid);
  entry.mtime_s = ::archive_entry_mtime(found);
  entry.mtime_ns = static_cast<std::uint32_t>(::archive_entry_mtime_nsec(found));
  entry.size = ::archive_entry_size(found);
  entry.link = link_of(found, entry.type);
  entry.device = ::archive_entry_rdev(found);
  copy_xattrs(found, entry);
  return true;
}

Status TarReader::copy_content(int borrow_fd, const Checkpoint& checkpoint) {
  const Utf8Scope locale;
  const void* block = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  la_int64_t end = 0;
  int got = ARCHIVE_OK;
  while ((got = ::archive_read_data_block(state_->inner.get(), &block, &size, &offset)) == ARCHIVE_OK) {
    HARENA_TRY_STATUS(checkpoint());
    for (std::size_t done = 0; done < size;) {
      const auto written = ::pwrite(borrow_fd, static_cast<const char*>(block) + done, size - done, offset + static_cast<off_t>(done));
      if (written < 0 && errno != EINTR) return errno_error(errno, "writing what " + state_->name + " holds");
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    end = std::max<la_int64_t>(end, offset + static_cast<la_int64_t>(size));
  }
  if (got != ARCHIVE_EOF) return state_->broken(state_->inner.get(), "isn't a whole tar archive");
  // A sparse file may end in a hole: libarchive reports the end as an offset without data.
  const auto length = std::max(end, offset);
  return ::ftruncate(borrow_fd, length) == 0 ? ok_status() : Status(errno_error(errno, "ftruncate"));
}

Result<std::string> TarReader::finish(const Checkpoint& checkpoint) {
  const void* ignored = nullptr;
  for (;;) {
    HARENA_TRY_STATUS(checkpoint());
    const auto got = State::read_plain(state_->inner.get(), state_.get(), &ignored);
    if (got < 0) return state_->broken(state_->outer.get(), "can't be decompressed");
    if (got == 0) return "sha256:" + state_->hash.hex();
  }
}

std::int64_t TarReader::bytes_read() const { return state_->bytes_read; }

}  // namespace harena::image
