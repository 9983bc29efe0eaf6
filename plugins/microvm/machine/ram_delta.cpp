#include "plugins/microvm/machine/ram_delta.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>

#include "sdk/base/unique_fd.hpp"

namespace harena::microvm {
namespace {

constexpr char kMagic[9] = "HARENARD";
constexpr std::uint32_t kVersion = 1;
/// Pages that are read and written in one go.
constexpr std::size_t kRunPages = 256;
constexpr std::int64_t kMostRamBytes = std::int64_t{1} << 44;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t page_bytes;
  std::uint64_t ram_bytes;
  std::uint64_t count;
};
static_assert(sizeof(Header) == 32);

struct OpenDelta {
  UniqueFd file;
  Header header{};
  PageList pages;
  std::int64_t first_page = 0;  // offset
};

std::int64_t offset_of_pages(std::uint64_t count) {
  const auto bytes = static_cast<std::int64_t>(sizeof(Header) + count * sizeof(std::uint64_t));
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

Status read_all(int file, void* to, std::size_t bytes, std::int64_t offset, const char* what) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, static_cast<char*>(to) + done, bytes - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, what);
    if (got == 0) return make_error(ErrorCode::data_loss, std::string(what) + ": it ends too early");
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Status write_all(int file, const void* from, std::size_t bytes, std::int64_t offset, const char* what) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t put = ::pwrite(file, static_cast<const char*>(from) + done, bytes - done, offset + static_cast<std::int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return errno_error(put < 0 ? errno : ENOSPC, what);
    done += static_cast<std::size_t>(put);
  }
  return {};
}

/// The process's memory as a file: reading and writing it needs no stop by ptrace, only its rights (root).
Result<UniqueFd> memory_of(pid_t process, int flags) {
  const std::string path = "/proc/" + std::to_string(process) + "/mem";
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file) return errno_error(errno, "opening the memory of a VMM");
  return file;
}

/// Calls `step` with runs of neighbours: index of the first in `pages`, how many.
Status each_run(const PageList& pages, const std::function<Status(std::size_t, std::size_t)>& step) {
  for (std::size_t at = 0; at < pages.size();) {
    std::size_t count = 1;
    while (at + count < pages.size() && count < kRunPages && pages[at + count] == pages[at] + count) ++count;
    HARENA_TRY_STATUS(step(at, count));
    at += count;
  }
  return {};
}

Result<OpenDelta> open_delta(const std::string& path) {
  OpenDelta delta;
  delta.file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!delta.file) return errno_error(errno, "opening changed memory");
  HARENA_TRY_STATUS(read_all(delta.file.get(), &delta.header, sizeof(Header), 0, "reading changed memory"));
  const Header& header = delta.header;
  const bool good = std::memcmp(header.magic, kMagic, 8) == 0 && header.version == kVersion && header.page_bytes == kPageBytes &&
                    header.ram_bytes <= kMostRamBytes && header.count <= header.ram_bytes / kPageBytes;
  if (!good) return make_error(ErrorCode::data_loss, "a file of changed memory has another format (version " + std::to_string(kVersion) + " is read here)");
  delta.pages.resize(header.count);
  HARENA_TRY_STATUS(read_all(delta.file.get(), delta.pages.data(), header.count * sizeof(std::uint64_t), sizeof(Header), "reading changed memory"));
  const std::uint64_t limit = header.ram_bytes / kPageBytes;
  const bool ascending = std::is_sorted(delta.pages.begin(), delta.pages.end()) && (delta.pages.empty() || delta.pages.back() < limit);
  if (!ascending) return make_error(ErrorCode::data_loss, "a file of changed memory names pages that its RAM hasn't got");
  delta.first_page = offset_of_pages(header.count);
  return delta;
}

Status copy_pages(const OpenDelta& delta, int to, std::uint64_t address, const char* what) {
  std::vector<char> buffer(kRunPages * kPageBytes);
  return each_run(delta.pages, [&](std::size_t at, std::size_t count) -> Status {
    const std::size_t bytes = count * kPageBytes;
    HARENA_TRY_STATUS(read_all(delta.file.get(), buffer.data(), bytes, delta.first_page + static_cast<std::int64_t>(at) * kPageBytes, "reading changed memory"));
    return write_all(to, buffer.data(), bytes, static_cast<std::int64_t>(address + delta.pages[at] * kPageBytes), what);
  });
}

Status write_pages(int file, int memory, std::uint64_t address, std::int64_t ram_bytes, const PageList& pages) {
  Header header{{}, kVersion, kPageBytes, static_cast<std::uint64_t>(ram_bytes), pages.size()};
  std::memcpy(header.magic, kMagic, 8);
  HARENA_TRY_STATUS(write_all(file, &header, sizeof header, 0, "writing changed memory"));
  HARENA_TRY_STATUS(write_all(file, pages.data(), pages.size() * sizeof(std::uint64_t), sizeof header, "writing changed memory"));
  const std::int64_t first = offset_of_pages(pages.size());
  std::vector<char> buffer(kRunPages * kPageBytes);
  HARENA_TRY_STATUS(each_run(pages, [&](std::size_t at, std::size_t count) -> Status {
    const std::size_t bytes = count * kPageBytes;
    HARENA_TRY_STATUS(read_all(memory, buffer.data(), bytes, static_cast<std::int64_t>(address + pages[at] * kPageBytes), "reading a VMM's memory"));
    return write_all(file, buffer.data(), bytes, first + static_cast<std::int64_t>(at) * kPageBytes, "writing changed memory");
  }));
  if (::ftruncate(file, first + static_cast<std::int64_t>(pages.size()) * kPageBytes) != 0) return errno_error(errno, "sizing changed memory");
  return {};
}

}  // namespace

Result<std::uint64_t> find_ram_mapping(pid_t process, const std::string& file, std::int64_t bytes) {
  struct stat wanted{};
  if (::stat(file.c_str(), &wanted) != 0) return errno_error(errno, "looking at " + file);
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t low = 0, high = 0, offset = 0;
    unsigned major = 0, minor = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %lu", &low, &high, &offset, &major, &minor, &inode) != 6) continue;
    if (inode != wanted.st_ino || makedev(major, minor) != wanted.st_dev || offset != 0) continue;
    if (high - low == static_cast<std::uint64_t>(bytes)) return low;
  }
  return make_error(ErrorCode::not_found, "the VMM doesn't map " + file + " as one piece of " + std::to_string(bytes) + " bytes");
}

Result<PageList> own_pages(pid_t process, std::uint64_t address, std::int64_t bytes) {
  const std::string path = "/proc/" + std::to_string(process) + "/pagemap";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_error(errno, "opening a VMM's page map");
  PageList pages;
  std::vector<std::uint64_t> entries(4096);
  const std::uint64_t first = address / kPageBytes, count = static_cast<std::uint64_t>(bytes) / kPageBytes;
  for (std::uint64_t at = 0; at < count; at += entries.size()) {
    const std::size_t now = static_cast<std::size_t>(std::min<std::uint64_t>(entries.size(), count - at));
    HARENA_TRY_STATUS(read_all(file.get(), entries.data(), now * 8, static_cast<std::int64_t>((first + at) * 8), "reading a VMM's page map"));
    for (std::size_t i = 0; i < now; ++i) {
      const bool there = ((entries[i] >> 62) & 3) != 0, of_file = ((entries[i] >> 61) & 1) != 0;
      if (there && !of_file) pages.push_back(at + i);
    }
  }
  return pages;
}

Status write_delta(const std::string& path, pid_t process, std::uint64_t address, std::int64_t ram_bytes, const PageList& pages) {
  HARENA_TRY(UniqueFd memory, memory_of(process, O_RDONLY));
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "making " + path);
  Status written = write_pages(file.get(), memory.get(), address, ram_bytes, pages);
  if (!written.ok()) ::unlink(path.c_str());
  return written;
}

Status delta_of_changes(const std::string& path, const std::string& changes, std::int64_t ram_bytes) {
  UniqueFd source(::open(changes.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!source) return errno_error(errno, "opening " + changes);
  struct stat status{};
  if (::fstat(source.get(), &status) != 0) return errno_error(errno, "looking at " + changes);
  if (status.st_size != ram_bytes) {
    return make_error(ErrorCode::data_loss, "a file of changes is " + std::to_string(status.st_size) + " bytes long; as long as the RAM, " +
                                                std::to_string(ram_bytes) + ", is right");
  }
  PageList pages;
  for (off_t at = 0; (at = ::lseek(source.get(), at, SEEK_DATA)) >= 0;) {
    const off_t end = ::lseek(source.get(), at, SEEK_HOLE);
    const auto after = static_cast<std::uint64_t>((end + kPageBytes - 1) / kPageBytes);
    for (auto page = static_cast<std::uint64_t>(at / kPageBytes); page < after; ++page) pages.push_back(page);
    at = end;
  }
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "making " + path);
  Status written = write_pages(file.get(), source.get(), 0, ram_bytes, pages);
  if (!written.ok()) ::unlink(path.c_str());
  return written;
}

Result<DeltaSize> delta_size(const std::string& path) {
  HARENA_TRY(const OpenDelta delta, open_delta(path));
  return DeltaSize{static_cast<std::int64_t>(delta.header.ram_bytes), static_cast<std::int64_t>(delta.header.count)};
}

Status apply_delta(const std::string& path, pid_t process, std::uint64_t address, std::int64_t ram_bytes) {
  HARENA_TRY(const OpenDelta delta, open_delta(path));
  if (static_cast<std::int64_t>(delta.header.ram_bytes) != ram_bytes) {
    return make_error(ErrorCode::failed_precondition, "changed memory of a machine with " + std::to_string(delta.header.ram_bytes) +
                                                          " bytes of RAM doesn't fit one with " + std::to_string(ram_bytes));
  }
  HARENA_TRY(UniqueFd memory, memory_of(process, O_RDWR));
  return copy_pages(delta, memory.get(), address, "writing a VMM's memory");
}

Status merge_delta(const std::string& path, const std::string& ram_file) {
  HARENA_TRY(const OpenDelta delta, open_delta(path));
  UniqueFd file(::open(ram_file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return errno_error(errno, "opening " + ram_file);
  return copy_pages(delta, file.get(), 0, "writing a RAM file");
}

}  // namespace harena::microvm
