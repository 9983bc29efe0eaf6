// Reading a regular file, whole or a part.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "shim/file_verbs.hpp"

namespace harena::shim {
namespace {

constexpr std::size_t kChunkBytes = 512 << 10;
constexpr std::size_t kMaxMadeUpBytes = 16 << 20;

Error client_left() { return make_error(ErrorCode::unavailable, "the client has left"); }

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

/// The whole of a file whose size is only known when it was read.
Result<std::string> made_up_content(int file, const std::string& path) {
  std::string content;
  for (;;) {
    auto used = content.size();
    content.resize(used + kChunkBytes);
    auto got = ::read(file, content.data() + used, kChunkBytes);
    content.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(errno, "reading '" + path + "'");
    if (got == 0) return content;
    if (content.size() > kMaxMadeUpBytes) return make_error(ErrorCode::resource_exhausted, "'" + path + "' goes on after 16 MiB");
  }
}

Status send_content(WorkerChannel& channel, std::string_view content) {
  for (; !content.empty(); content.remove_prefix(std::min(kChunkBytes, content.size()))) {
    if (!channel.send(session::FrameType::data, content.substr(0, kChunkBytes))) return client_left();
  }
  return {};
}

/// What is read: an opened file, or what a made-up one had.
struct Opened {
  UniqueFd file;
  session::FileStat stat;
  std::optional<std::string> content;
};

Result<Opened> open_source(const FileTree& tree, const std::string& path) {
  Opened opened;
  HARENA_TRY(opened.file, tree.open_file(path, O_RDONLY));
  HARENA_TRY(opened.stat, seen_stat_of(opened.file.get(), path));
  if (!is_made_up(opened.file.get())) return opened;
  HARENA_TRY(opened.content, made_up_content(opened.file.get(), path));
  opened.stat.size = opened.content->size();
  return opened;
}

Status send_file(WorkerChannel& channel, const Opened& opened, std::uint64_t offset, std::uint64_t remaining) {
  while (remaining > 0) {
    auto chunk = static_cast<std::size_t>(std::min<std::uint64_t>(remaining, kChunkBytes));
    if (!channel.send_file(opened.file.get(), offset, chunk)) {
      return make_error(ErrorCode::unavailable, "the client has left, or '" + opened.stat.path + "' got shorter while it was read");
    }
    offset += chunk;
    remaining -= chunk;
  }
  return {};
}

Status send_part(WorkerChannel& channel, const Opened& opened, const session::FileRange& range) {
  HARENA_TRY_STATUS(check_offset(range.offset, opened.stat));
  std::uint64_t length = std::min(range.length.value_or(UINT64_MAX), opened.stat.size - range.offset);
  if (!opened.content) return send_file(channel, opened, range.offset, length);
  return send_content(channel, std::string_view(*opened.content).substr(range.offset, length));
}

}  // namespace

Result<std::string> read_file(const FileTree& tree, WorkerChannel& channel, const session::FileReadRequest& request) {
  HARENA_TRY(auto opened, open_source(tree, request.path));
  HARENA_TRY_STATUS(check_offset(request.offset, opened.stat));
  if (!channel.send_message(session::FrameType::file_stat, opened.stat)) return client_left();
  session::FileRange range{request.offset, request.length};
  if (request.ask) {
    HARENA_TRY(auto wanted, ask_for_part(channel));
    if (!wanted) return std::string();
    range = *wanted;
  }
  HARENA_TRY_STATUS(send_part(channel, opened, range));
  return std::string();
}

}  // namespace harena::shim
