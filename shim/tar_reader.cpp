#include "shim/tar_reader.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <memory>

#include "sdk/base/text.hpp"
#include "shim/tar_names.hpp"

namespace harena::shim {
namespace {

struct FreeArchive {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

Error invalid_archive(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

/// The source behind libarchive's callback, and why it ended early.
struct Input {
  TarSource& source;
  Status status;

  static la_ssize_t read(archive* reader, void* self, const void** bytes) {
    auto& input = *static_cast<Input*>(self);
    auto next = input.source.next();
    if (next) {
      *bytes = next->data();
      return static_cast<la_ssize_t>(next->size());
    }
    input.status = next.error();
    ::archive_set_error(reader, EIO, "source");
    return ARCHIVE_FATAL;
  }
};

TarKind kind_of(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return TarKind::hard_link;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG: return TarKind::file;
    case AE_IFDIR: return TarKind::folder;
    case AE_IFLNK: return TarKind::symlink;
    default: return TarKind::other;
  }
}

std::string text(const char* bytes) { return bytes != nullptr ? bytes : std::string(); }

Error has_acl(archive_entry* entry) {
  return make_error(ErrorCode::unimplemented, "entry '" + text(::archive_entry_pathname(entry)) +
                                                  "' has ACL records, which aren't extracted; make the archive without them");
}

void take_xattrs(archive_entry* from, TarEntry& entry) {
  ::archive_entry_xattr_reset(from);
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  while (::archive_entry_xattr_next(from, &name, &value, &size) == ARCHIVE_OK) {
    if (name == nullptr) continue;
    // Writers escape what a pax key can't hold ('=', and '%' itself); libarchive gives such keys as they are.
    auto plain = percent_decode(name);
    entry.xattrs.emplace_back(plain ? *plain : name, std::string(static_cast<const char*>(value), size));
  }
}

TarEntry take_entry(archive_entry* from) {
  TarEntry entry;
  entry.kind = kind_of(from);
  entry.path = text(::archive_entry_pathname(from));
  if (entry.kind == TarKind::hard_link) entry.target = text(::archive_entry_hardlink(from));
  if (entry.kind == TarKind::symlink) entry.target = text(::archive_entry_symlink(from));
  entry.mode = ::archive_entry_perm(from) & 07777;
  entry.uid = ::archive_entry_uid(from);
  entry.gid = ::archive_entry_gid(from);
  entry.mtime_s = ::archive_entry_mtime(from);
  entry.mtime_ns = ::archive_entry_mtime_nsec(from);
  entry.size = ::archive_entry_size(from);
  take_xattrs(from, entry);
  return entry;
}

class Reading {
 public:
  Reading(TarSource& source, TarSink& sink) : input_{source, {}}, sink_(sink), reader_(::archive_read_new()) {}

  Status run() {
    if (!reader_) return make_error(ErrorCode::resource_exhausted, "no memory for reading an archive");
    ::archive_read_support_format_tar(reader_.get());
    if (::archive_read_open(reader_.get(), &input_, nullptr, &Input::read, nullptr) != ARCHIVE_OK) return failed();
    for (;;) {
      HARENA_TRY(bool more, entry());
      if (!more) return drain();
    }
  }

 private:
  /// Why libarchive stopped.
  Error failed() const {
    if (!input_.status) return input_.status.error();
    std::string why = text(::archive_error_string(reader_.get()));
    if (count_ == 0) why += " (a tar archive is taken: plain, ustar, pax or GNU, not compressed)";
    return invalid_archive("the archive isn't in order: " + why);
  }

  Result<bool> entry() {
    auto before = ::archive_filter_bytes(reader_.get(), 0);
    archive_entry* found = nullptr;
    int got = ::archive_read_next_header(reader_.get(), &found);
    if (got == ARCHIVE_EOF) {
      // Without its marker of 512 zeros or more the archive may have been cut between two entries.
      if (::archive_filter_bytes(reader_.get(), 0) - before < 512) return invalid_archive("the archive ends without its end marker");
      return false;
    }
    // A warning is about names that aren't UTF-8, which are taken as bytes.
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return failed();
    if (::archive_entry_acl_types(found) != 0) return has_acl(found);
    ++count_;
    auto taken = take_entry(found);
    HARENA_TRY_STATUS(sink_.begin(taken));
    if (taken.kind == TarKind::file) HARENA_TRY_STATUS(data(taken));
    HARENA_TRY_STATUS(sink_.end(taken));
    return true;
  }

  Status data(const TarEntry& entry) {
    for (std::int64_t reached = 0;;) {
      const void* bytes = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      int got = ::archive_read_data_block(reader_.get(), &bytes, &size, &offset);
      if (got == ARCHIVE_EOF) return {};
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return failed();
      if (size == 0) continue;
      // A sparse map may say anything; libarchive takes its word.
      if (offset < reached || offset > entry.size || static_cast<std::int64_t>(size) > entry.size - offset) {
        return invalid_archive("the archive isn't in order: '" + entry.path + "' has data outside of its " + std::to_string(entry.size) + " bytes");
      }
      HARENA_TRY_STATUS(sink_.data(offset, {static_cast<const char*>(bytes), size}));
      reached = offset + static_cast<std::int64_t>(size);
    }
  }

  Status drain() {
    for (;;) {
      HARENA_TRY(auto rest, input_.source.next());
      if (rest.empty()) return {};
    }
  }

  Input input_;
  TarSink& sink_;
  Reader reader_;
  std::uint64_t count_ = 0;
};

}  // namespace

Status read_tar(TarSource& source, TarSink& sink) {
  use_names_as_bytes();
  return Reading(source, sink).run();
}

}  // namespace harena::shim
