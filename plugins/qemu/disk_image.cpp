#include "plugins/qemu/disk_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "sdk/base/unique_fd.hpp"

namespace harena::qemu {
namespace {

namespace fs = std::filesystem;

/// qcow2's header, big endian (docs/interop/qcow2.txt of QEMU).
constexpr std::size_t kHeaderBytes = 104;
constexpr std::uint64_t kMagic = 0x514649fb;
constexpr std::uint64_t kExternalData = 1U << 2;  // incompatible feature
constexpr std::int64_t kSector = 512;

std::uint64_t big_endian(const unsigned char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

Error bad_image(const std::string& path, const std::string& why) {
  return make_error(ErrorCode::invalid_argument, "the disk image " + path + " " + why);
}

Result<std::int64_t> qcow2_size(int file, const std::string& path) {
  unsigned char header[kHeaderBytes] = {};
  const ssize_t got = ::pread(file, header, sizeof header, 0);
  if (got < 72 || big_endian(header, 4) != kMagic) return bad_image(path, "isn't qcow2; say \"format\": \"raw\" if it is a raw one");
  const std::uint64_t version = big_endian(header + 4, 4);
  if (version != 2 && version != 3) return bad_image(path, "has qcow2's version " + std::to_string(version) + "; 2 or 3 is right");
  if (big_endian(header + 8, 8) != 0) {
    return bad_image(path, "has a backing file; one that stands alone is right (qemu-img convert makes it)");
  }
  if (version == 3 && (big_endian(header + 72, 8) & kExternalData) != 0) return bad_image(path, "has its data in another file");
  const std::uint64_t size = big_endian(header + 24, 8);
  if (size == 0 || size > (8ULL << 40)) return bad_image(path, "is of " + std::to_string(size) + " bytes; up to 8 TiB is right");
  return static_cast<std::int64_t>(size);
}

}  // namespace

Result<std::string> file_below(const std::string& parameter, const std::string& path, const std::vector<std::string>& roots) {
  std::string names;
  for (const auto& root : roots) names += (names.empty() ? "" : ", ") + root;
  const Error wrong = make_error(ErrorCode::invalid_argument, "parameter '" + parameter + "' is \"" + path.substr(0, 200) +
                                                                  "\"; right is the absolute path of a file below " +
                                                                      (names.empty() ? "(no folder: set disk_roots)" : names));
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) return wrong;
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed || !fs::is_regular_file(real, failed)) return wrong;
  for (const auto& root : roots) {
    const fs::path folder = fs::canonical(root, failed);
    if (failed) continue;
    const auto inside = real.lexically_relative(folder).string();
    if (!inside.empty() && inside != "." && !inside.starts_with("..")) return real.string();
  }
  return wrong;
}

Result<std::int64_t> image_size(const std::string& path, const std::string& format) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return errno_error(errno, "opening " + path);
  if (format == "qcow2") return qcow2_size(file.get(), path);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return errno_error(errno, "fstat of " + path);
  if (status.st_size == 0 || status.st_size % kSector != 0) {
    return bad_image(path, "is of " + std::to_string(status.st_size) + " bytes; a multiple of 512 is right for a raw one");
  }
  return status.st_size;
}

}  // namespace harena::qemu
