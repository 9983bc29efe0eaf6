#include "core/image/erofs.hpp"

namespace harena::image {
namespace {

/// The time of the file system itself, and the latest that a file's may be. -T would do, but version 1.5 gives that time to
/// all files, whatever --preserve-mtime says; and then Python's caches, which know their source by its time, are worthless.
/// The last second that RFC 3339 can write: no file is later.
constexpr const char* kBuildTime = "SOURCE_DATE_EPOCH=253402300799";

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const auto start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

}  // namespace

Status make_erofs(ProcessSpawner& spawner, const std::filesystem::path& folder, const std::filesystem::path& file,
                  const Checkpoint& checkpoint) {
  const std::vector<std::string> argv = {"mkfs.erofs", "--quiet", "--preserve-mtime",
                                         "-U00000000-0000-0000-0000-000000000000", "-x2", "-zlz4",
                                         file.string(), folder.string()};
  HARENA_TRY(const auto outcome, spawner.run(argv, {kBuildTime}, checkpoint));
  if (outcome.exit_code == 0) return ok_status();
  const bool full = outcome.output.find("No space left") != std::string::npos || outcome.output.find("ENOSPC") != std::string::npos;
  if (full) {
    return infrastructure_error(ErrorCode::resource_exhausted, "image-work",
                                "no space left for the layer in '" + file.parent_path().string() + "'");
  }
  return infrastructure_error(ErrorCode::internal, "image-work",
                              "mkfs.erofs ended with " + std::to_string(outcome.exit_code) + ": " + last_line(outcome.output));
}

}  // namespace harena::image
