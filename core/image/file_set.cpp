#include "core/image/file_set.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/image/merged_tree.hpp"
#include "core/image/tar_reader.hpp"

namespace harena::image {
namespace {

namespace fs = std::filesystem;

Error lacks(const std::string& shown, const std::string& name) {
  return make_error(ErrorCode::not_found, "'" + shown + "' has no file '" + name + "'");
}

/// The name that a symlink in an archive means; names above the top stay at the top.
std::string link_name(const std::string& from, const std::string& target) {
  const auto folder = target.starts_with('/') ? fs::path() : fs::path(from).parent_path();
  auto name = (fs::path("/") / folder / fs::path(target).relative_path()).lexically_normal().relative_path().string();
  return name;
}

Status take_file(TarReader& reader, const fs::path& to, const Checkpoint& checkpoint) {
  UniqueFd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, "unpacking to '" + to.string() + "'");
  return reader.copy_content(file.get(), checkpoint);
}

}  // namespace

Result<std::string> FileSet::read(const std::string& name) const {
  HARENA_TRY(const auto file, open(name));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return errno_error(errno, name);
  if (status.st_size > static_cast<off_t>(kMaxDocumentBytes)) {
    return make_error(ErrorCode::invalid_argument, "'" + name + "' has " + std::to_string(status.st_size) + " bytes; a document has at most 4 MiB");
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, name);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

Result<std::unique_ptr<FolderFiles>> FolderFiles::open_folder(const fs::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "folder '" + folder.string() + "'");
  return std::unique_ptr<FolderFiles>(new FolderFiles(std::move(fd), folder.string()));
}

Result<UniqueFd> FolderFiles::open(const std::string& name) const {
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, folder_.get(), name.c_str(), &how, sizeof how)));
  if (!fd) return errno == ENOENT ? lacks(shown_, name) : errno_error(errno, "'" + shown_ + "/" + name + "'");
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return lacks(shown_, name);
  return fd;
}

Result<std::unique_ptr<ArchiveFiles>> ArchiveFiles::unpack(const fs::path& archive, WorkFolder& work, const Checkpoint& checkpoint) {
  UniqueFd fd(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "archive '" + archive.string() + "'");
  HARENA_TRY(auto folder, work.make());
  HARENA_TRY(auto reader, TarReader::open(std::move(fd), "'" + archive.string() + "'"));
  std::unique_ptr<ArchiveFiles> files(new ArchiveFiles(std::move(folder), archive.string()));
  FileEntry entry;
  for (std::size_t number = 0;; ++number) {
    HARENA_TRY_STATUS(checkpoint());
    HARENA_TRY(const bool more, reader->next(entry));
    if (!more) return files;
    if (number >= kMaxArchiveFiles) return make_error(ErrorCode::resource_exhausted, "'" + archive.string() + "' has more than 10000 files");
    HARENA_TRY(const auto name, normalise_path(entry.path));
    if (entry.type == EntryType::symlink) files->links_[name] = link_name(name, entry.link);
    if (entry.type == EntryType::hardlink) files->links_[name] = link_name("", entry.link);
    if (entry.type != EntryType::file) continue;
    HARENA_TRY_STATUS(take_file(*reader, files->folder_.path() / std::to_string(number), checkpoint));
    files->files_[name] = std::to_string(number);
  }
}

Result<UniqueFd> ArchiveFiles::open(const std::string& name) const {
  auto real = name;
  for (int links = 0; links < kMaxLinks && links_.contains(real); ++links) real = links_.at(real);
  const auto file = files_.find(real);
  if (file == files_.end()) return lacks(shown_, name);
  UniqueFd fd(::open((folder_.path() / file->second).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error(errno, "'" + name + "'");
  return fd;
}

}  // namespace harena::image
