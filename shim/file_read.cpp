// Reading a regular file, whole or a part.

#include <fcntl.h>
#include <time.h>

#include <algorithm>

#include "shim/file_verbs.hpp"

namespace harena::shim {
namespace {

constexpr std::size_t kChunkBytes = 512 << 10;

Error client_left() { return make_error(ErrorCode::unavailable, "the client has left"); }

/// The clock that file systems stamp with, fine-grained.
std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// What the client wants of the file whose stat it has seen; nullopt: nothing.
Result<std::optional<session::FileRange>> ask_for_part(WorkerChannel& channel) {
  HARENA_TRY(auto frame, channel.receive());
  std::optional<session::FileRange> range;
  if (frame.header.type == session::FrameType::data_end) return range;
  if (frame.header.type != session::FrameType::file_range) {
    auto type = session::to_string(frame.header.type);
    return make_error(ErrorCode::invalid_argument, "session protocol: frame '" + type + "' where file_range or data_end was due");
  }
  HARENA_TRY(range, session::decode<session::FileRange>(frame.payload, session::UnknownKeys::refuse));
  return range;
}

Status check_offset(std::uint64_t offset, const session::FileStat& stat) {
  if (offset <= stat.size) return {};
  return make_error(ErrorCode::out_of_range,
                    "offset " + std::to_string(offset) + ": '" + stat.path + "' has " + std::to_string(stat.size) + " bytes");
}

Status send_part(WorkerChannel& channel, int file, const session::FileStat& stat, const session::FileRange& range) {
  HARENA_TRY_STATUS(check_offset(range.offset, stat));
  std::uint64_t remaining = std::min(range.length.value_or(UINT64_MAX), stat.size - range.offset);
  for (std::uint64_t offset = range.offset; remaining > 0;) {
    auto chunk = static_cast<std::size_t>(std::min<std::uint64_t>(remaining, kChunkBytes));
    if (!channel.send_file(file, offset, chunk)) {
      return make_error(ErrorCode::unavailable, "the client has left, or '" + stat.path + "' got shorter while it was read");
    }
    offset += chunk;
    remaining -= chunk;
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const FileTree& tree, WorkerChannel& channel, const session::FileReadRequest& request) {
  HARENA_TRY(auto file, tree.open_file(request.path, O_RDONLY));
  auto seen = now_ns();
  HARENA_TRY(auto stat, stat_of(file.get(), request.path));
  stat.seen_ns = seen;
  HARENA_TRY_STATUS(check_offset(request.offset, stat));
  if (!channel.send_message(session::FrameType::file_stat, stat)) return client_left();
  session::FileRange range{request.offset, request.length};
  if (request.ask) {
    HARENA_TRY(auto wanted, ask_for_part(channel));
    if (!wanted) return std::string();
    range = *wanted;
  }
  HARENA_TRY_STATUS(send_part(channel, file.get(), stat, range));
  return std::string();
}

}  // namespace harena::shim
