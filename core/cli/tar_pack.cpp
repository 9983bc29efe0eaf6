#include "core/cli/tar_pack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "sdk/base/utf8_scope.hpp"

namespace harena::cli {

namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

struct FreeArchive {
  void operator()(archive* one) const { ::archive_write_free(one); }
};
struct FreeEntry {
  void operator()(archive_entry* one) const { ::archive_entry_free(one); }
};
using EntryPtr = std::unique_ptr<archive_entry, FreeEntry>;

Error archive_error(archive* from, const std::string& path) {
  const char* text = ::archive_error_string(from);
  return make_error(ErrorCode::internal, path + ": " + (text == nullptr ? "it can't be put into an archive" : text));
}

/// What the file system hasn't got, or doesn't tell, isn't there.
void add_attributes(archive_entry* entry, const std::string& path) {
  std::string names(64 * 1024, '\0');
  const auto size = ::llistxattr(path.c_str(), names.data(), names.size());
  if (size <= 0) return;
  names.resize(static_cast<std::size_t>(size));
  std::string value(64 * 1024, '\0');
  for (std::size_t at = 0; at < names.size(); at += std::strlen(&names[at]) + 1) {
    const char* name = &names[at];
    if (!std::string_view(name).starts_with("user.")) continue;
    const auto count = ::lgetxattr(path.c_str(), name, value.data(), value.size());
    if (count >= 0) ::archive_entry_xattr_add_entry(entry, name, value.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

struct TarPacker::State {
  const std::vector<LocalEntry>& entries;
  TransferMeter& meter;
  std::unique_ptr<archive, FreeArchive> writer{::archive_write_new()};
  std::map<std::pair<dev_t, ino_t>, std::string> first_names;
  std::string ready;  ///< made and not yet read
  std::size_t taken = 0;
  std::size_t next = 0;
  UniqueFd file;
  std::int64_t left = 0;
  bool finished = false;

  ~State() { writer.reset(); }  // first: it still writes, into what is here

  static la_ssize_t take(archive*, void* self, const void* bytes, std::size_t size) {
    static_cast<State*>(self)->ready.append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  }

  Result<EntryPtr> describe(const LocalEntry& entry) {
    struct stat info {};
    if (::lstat(entry.path.c_str(), &info) != 0) return errno_error(errno, entry.path);
    EntryPtr made(::archive_entry_new());
    info.st_uid = info.st_gid = 0;
    ::archive_entry_copy_stat(made.get(), &info);
    ::archive_entry_copy_pathname(made.get(), entry.relative.c_str());
    left = 0;
    if (entry.kind == LocalEntry::Kind::symlink) ::archive_entry_copy_symlink(made.get(), entry.target.c_str());
    if (entry.kind == LocalEntry::Kind::file) take_content(made.get(), entry, info);
    if (entry.kind != LocalEntry::Kind::symlink) add_attributes(made.get(), entry.path);
    return made;
  }

  void take_content(archive_entry* made, const LocalEntry& entry, const struct stat& info) {
    const auto [first, is_new] = first_names.try_emplace({info.st_dev, info.st_ino}, entry.relative);
    left = is_new ? info.st_size : 0;
    ::archive_entry_set_size(made, left);
    if (!is_new) ::archive_entry_copy_hardlink(made, first->second.c_str());
  }

  Status begin(const LocalEntry& entry) {
    HARENA_TRY(const auto made, describe(entry));
    if (left > 0) {
      // NONBLOCK: should a FIFO have taken the file's place since it was looked at, opening it mustn't hang.
      file = UniqueFd(::open(entry.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!file) return errno_error(errno, entry.path);
    }
    if (::archive_write_header(writer.get(), made.get()) < ARCHIVE_WARN) return archive_error(writer.get(), entry.path);
    if (left == 0) finish_entry(entry);
    return {};
  }

  void finish_entry(const LocalEntry& entry) {
    file.reset();
    ++next;
    if (entry.kind == LocalEntry::Kind::file) meter.add_file();
  }

  Status copy_some(const LocalEntry& entry) {
    std::string piece(static_cast<std::size_t>(std::min<std::int64_t>(left, kPieceBytes)), '\0');
    const auto count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0) return errno_error(errno, entry.path);
    if (count == 0) return make_error(ErrorCode::aborted, "'" + entry.path + "' got shorter while it was being read");
    const auto size = static_cast<std::size_t>(count);
    if (::archive_write_data(writer.get(), piece.data(), size) != count) return archive_error(writer.get(), entry.path);
    left -= count;
    meter.add_bytes(count);
    if (left == 0) finish_entry(entry);
    return {};
  }

  Status step() {
    if (file) return copy_some(entries[next]);
    if (next < entries.size()) return begin(entries[next]);
    finished = true;
    if (::archive_write_close(writer.get()) != ARCHIVE_OK) return archive_error(writer.get(), "the end");
    return {};
  }
};

TarPacker::TarPacker(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarPacker::~TarPacker() = default;

Result<std::unique_ptr<TarPacker>> TarPacker::open(const std::vector<LocalEntry>& entries, TransferMeter& meter) {
  std::unique_ptr<State> state(new State{.entries = entries, .meter = meter});
  auto* const writer = state->writer.get();
  ::archive_write_set_format_pax(writer);
  ::archive_write_set_bytes_per_block(writer, 0);
  if (::archive_write_open(writer, state.get(), nullptr, &State::take, nullptr) != ARCHIVE_OK) return archive_error(writer, "the archive");
  return std::unique_ptr<TarPacker>(new TarPacker(std::move(state)));
}

Result<std::size_t> TarPacker::read(char* buffer, std::size_t size) {
  const Utf8Scope utf8;
  auto& state = *state_;
  while (state.taken == state.ready.size()) {
    if (state.finished) return std::size_t{0};
    state.ready.clear();
    state.taken = 0;
    HARENA_TRY_STATUS(state.step());
  }
  const auto count = state.ready.copy(buffer, size, state.taken);
  state.taken += count;
  return count;
}

}  // namespace harena::cli
