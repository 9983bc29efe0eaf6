#include "sdk/vmm/qcow2_file.hpp"

#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {
namespace {

constexpr std::int64_t kClusterBits = 16;
constexpr std::int64_t kClusterBytes = 1 << kClusterBits;
constexpr std::int64_t kEntriesOfL2 = kClusterBytes / 8;
/// Clusters of an empty file: the header, the refcount table, one refcount block, then the L1 table.
constexpr std::int64_t kFixedClusters = 3;
constexpr std::int64_t kMaxBytes = std::int64_t{8} << 40;

class BigEndian {
 public:
  explicit BigEndian(std::size_t size) { bytes_.reserve(size); }
  BigEndian& u32(std::uint32_t value) { return put(htobe32(value)); }
  BigEndian& u64(std::uint64_t value) { return put(htobe64(value)); }
  BigEndian& u16(std::uint16_t value) { return put(htobe16(value)); }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  template <class T>
  BigEndian& put(T value) {
    const char* begin = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
    return *this;
  }
  std::vector<char> bytes_;
};

std::vector<char> header(std::int64_t size_bytes, std::int64_t l1_entries) {
  return BigEndian(104)
      .u32(0x514649fb).u32(3).u64(0).u32(0)                       // magic "QFI\xfb", version, no backing file's name
      .u32(kClusterBits).u64(static_cast<std::uint64_t>(size_bytes)).u32(0)  // no encryption
      .u32(static_cast<std::uint32_t>(l1_entries)).u64(kFixedClusters * kClusterBytes)
      .u64(kClusterBytes).u32(1)                                  // refcount table: where, clusters
      .u32(0).u64(0)                                              // snapshots
      .u64(0).u64(0).u64(0).u32(4).u32(104)                       // features, 16-bit refcounts, header's length
      .bytes();
}

Status put_at(int file, const std::vector<char>& bytes, std::int64_t offset) {
  const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), offset);
  if (written == static_cast<ssize_t>(bytes.size())) return {};
  return errno_error(written < 0 ? errno : ENOSPC, "writing a disk's overlay");
}

Status fill(int file, std::int64_t size_bytes, std::int64_t l1_entries) {
  const std::int64_t clusters = kFixedClusters + (l1_entries * 8 + kClusterBytes - 1) / kClusterBytes;
  if (::ftruncate(file, clusters * kClusterBytes) != 0) return errno_error(errno, "sizing a disk's overlay");
  BigEndian counts(static_cast<std::size_t>(clusters) * 2);
  for (std::int64_t i = 0; i < clusters; ++i) counts.u16(1);
  HARENA_TRY_STATUS(put_at(file, header(size_bytes, l1_entries), 0));
  HARENA_TRY_STATUS(put_at(file, BigEndian(8).u64(2 * kClusterBytes).bytes(), kClusterBytes));
  return put_at(file, counts.bytes(), 2 * kClusterBytes);
}

}  // namespace

Status make_qcow2_overlay(const std::string& path, std::int64_t size_bytes) {
  if (size_bytes <= 0 || size_bytes % 512 != 0 || size_bytes > kMaxBytes) {
    return make_error(ErrorCode::invalid_argument, "a disk of " + std::to_string(size_bytes) +
        " bytes: a multiple of 512 up to 8 TiB is right");
  }
  const std::int64_t l1_entries = (size_bytes + kClusterBytes * kEntriesOfL2 - 1) / (kClusterBytes * kEntriesOfL2);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "making " + path);
  Status filled = fill(file.get(), size_bytes, l1_entries);
  if (!filled.ok()) ::unlink(path.c_str());
  return filled;
}

}  // namespace harena::vmm
