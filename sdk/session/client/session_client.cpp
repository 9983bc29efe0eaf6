#include "sdk/session/client/session_client.hpp"

#include "sdk/http/socket_stream.hpp"
#include "sdk/session/client/dial_stream.hpp"

namespace harena::session {
namespace {

Error out_of_place(FrameType type, FrameType wanted) {
  return infrastructure_error(ErrorCode::data_loss, "session",
                              "the session endpoint sent '" + to_string(type) + "' instead of '" + to_string(wanted) + "'");
}

Task<Result<ReceivedFrame>> expect(Channel& channel, FrameType type) {
  HARENA_CO_TRY(auto frame, co_await channel.receive());
  if (frame.type == type) co_return frame;
  co_return out_of_place(frame.type, type);
}

CommandRequest command_request(std::string command, std::uint64_t timeout_ms = 0) {
  CommandRequest request;
  request.command = std::move(command);
  request.timeout_ms = timeout_ms;
  return request;
}

/// What the endpoint must offer for this request: for its type, or for an option that a type of the first release has got since.
template <class Request>
std::string_view feature_for(FrameType type, const Request& request) {
  if constexpr (std::is_same_v<Request, StartRequest>) {
    if (!request.stdin_data.empty()) return kFeatureStdinData;
  }
  if constexpr (std::is_same_v<Request, FileReadRequest>) {
    if (request.ask) return kFeatureReadAsk;
  }
  if constexpr (std::is_same_v<Request, FileWriteRequest>) {
    if (request.offset) return kFeatureWriteOffset;
  }
  if constexpr (std::is_same_v<Request, FileListRequest>) {
    if (!request.xattrs.empty()) return kFeatureListXattrs;
  }
  return required_feature(type);
}

/// Twice is as good as once, also when the endpoint did it and only its answer was lost.
bool may_be_repeated(FrameType type) {
  switch (type) {
    case FrameType::list:
    case FrameType::info:
    case FrameType::wait:
    case FrameType::resize:
    case FrameType::stats:
    case FrameType::file_stat_get:
    case FrameType::file_readlink:
    case FrameType::file_chmod:
    case FrameType::file_chown:
    case FrameType::file_truncate:
    case FrameType::attach:
    case FrameType::file_read:
    case FrameType::file_list:
    case FrameType::file_watch:
    case FrameType::file_archive_read:
    case FrameType::file_xattr_list:
    case FrameType::file_xattr_set: return true;
    default: return false;
  }
}

/// A start under an op id never starts a second command.
template <class Request>
bool may_be_repeated(FrameType type, const Request& request) {
  if constexpr (std::is_same_v<Request, StartRequest>) return !request.op.empty();
  return may_be_repeated(type);
}

/// Whether the endpoint waits for something from the client inside the operation. Then it ends the connection after an error
/// (docs/session-protocol.md, Connections 4), perhaps a moment later than the error arrives: it isn't to be used again.
template <class Request>
bool takes_data(const Request& request) {
  if constexpr (std::is_same_v<Request, FileReadRequest>) return request.ask;
  return false;
}

}  // namespace

template <class Request>
Task<Result<std::unique_ptr<Channel>>> SessionClient::begin_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request) {
  if (auto feature = feature_for(type, request); !feature.empty()) {
    auto offered = co_await channel->require(feature);
    if (!offered) {
      co_await endpoint_->release(std::move(channel));
      co_return std::move(offered).error();
    }
  }
  HARENA_CO_TRY_STATUS(co_await channel->send_message(type, request));
  co_return std::move(channel);
}

template <class Request>
Task<Result<std::unique_ptr<Channel>>> SessionClient::begin(FrameType type, const Request& request) {
  HARENA_CO_TRY(auto channel, co_await endpoint_->acquire());
  co_return co_await begin_on(std::move(channel), type, request);
}

template <class Request>
Task<Result<SessionClient::Opened>> SessionClient::open_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request) {
  HARENA_CO_TRY(channel, co_await begin_on(std::move(channel), type, request));
  auto frame = co_await channel->receive();
  if (!frame) {
    if (!takes_data(request)) co_await endpoint_->release(std::move(channel));
    co_return std::move(frame).error();
  }
  co_return Opened{std::move(channel), *std::move(frame)};
}

template <class Request>
Task<Result<SessionClient::Opened>> SessionClient::open(FrameType type, const Request& request) {
  HARENA_CO_TRY(auto channel, co_await endpoint_->acquire());
  const bool had_served = channel->has_served();
  auto opened = co_await open_on(std::move(channel), type, request);
  if (opened || !had_served || !may_be_repeated(type, request) || !is_lost(opened.error())) co_return opened;
  HARENA_CO_TRY(auto fresh, co_await endpoint_->connect());
  co_return co_await open_on(std::move(fresh), type, request);
}

template <class Request>
Task<Result<SessionClient::Opened>> SessionClient::open(FrameType type, const Request& request, FrameType first) {
  HARENA_CO_TRY(auto opened, co_await open(type, request));
  if (opened.frame.type != first) co_return out_of_place(opened.frame.type, first);
  co_return opened;
}

template <class Request>
Task<Result<std::string>> SessionClient::call_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request) {
  HARENA_CO_TRY(channel, co_await begin_on(std::move(channel), type, request));
  auto payload = co_await channel->receive_ok();
  co_await endpoint_->release(std::move(channel));
  co_return payload;
}

template <class Request>
Task<Result<std::string>> SessionClient::call(FrameType type, Request request) {
  HARENA_CO_TRY(auto channel, co_await endpoint_->acquire());
  const bool had_served = channel->has_served();
  auto payload = co_await call_on(std::move(channel), type, request);
  if (payload || !had_served || !may_be_repeated(type) || !is_lost(payload.error())) co_return payload;
  // A kept connection that ended between the look at it and its use: one that is new tells whether the endpoint is there.
  HARENA_CO_TRY(auto fresh, co_await endpoint_->connect());
  co_return co_await call_on(std::move(fresh), type, request);
}

template <class Reply, class Request>
Task<Result<Reply>> SessionClient::ask(FrameType type, Request request) {
  HARENA_CO_TRY(auto payload, co_await call(type, std::move(request)));
  co_return decode<Reply>(payload);
}

template <class Request>
Task<Status> SessionClient::tell(FrameType type, Request request) {
  HARENA_CO_TRY_STATUS(co_await call(type, std::move(request)));
  co_return ok_status();
}

Task<Result<Started>> SessionClient::start(StartRequest request) {
  request.attach = false;
  HARENA_CO_TRY(auto opened, co_await open(FrameType::start, request, FrameType::started));
  HARENA_CO_TRY_STATUS(co_await opened.channel->receive_ok());
  co_await endpoint_->release(std::move(opened.channel));
  co_return decode<Started>(opened.frame.payload);
}

Task<Result<AttachedCommand>> SessionClient::start_attached(StartRequest request) {
  request.attach = true;
  HARENA_CO_TRY(auto opened, co_await open(FrameType::start, request, FrameType::started));
  HARENA_CO_TRY(auto started, decode<Started>(opened.frame.payload));
  co_return AttachedCommand{std::move(started), OutputReader(endpoint_, std::move(opened.channel))};
}

Task<Result<OutputReader>> SessionClient::attach(AttachRequest request) {
  HARENA_CO_TRY(auto channel, co_await endpoint_->acquire());
  const bool had_served = channel->has_served();
  auto begun = co_await begin_on(std::move(channel), FrameType::attach, request);
  if (!begun && had_served && is_lost(begun.error())) {
    HARENA_CO_TRY(auto fresh, co_await endpoint_->connect());
    HARENA_CO_TRY(fresh, co_await begin_on(std::move(fresh), FrameType::attach, request));
    co_return OutputReader(endpoint_, std::move(fresh));
  }
  HARENA_CO_TRY(channel, std::move(begun));
  OutputReader reader(endpoint_, std::move(channel));
  // The first frame may be long in coming: the reader finds out whether this connection was one that had ended.
  if (had_served) reader.may_ask_again(std::move(request));
  co_return reader;
}

Task<Result<StdinStream>> SessionClient::open_stdin(StdinRequest request) {
  if (!request.offset) {
    HARENA_CO_TRY(auto known, co_await info(request.command));
    request.offset = known.stdin_bytes;
  }
  HARENA_CO_TRY(auto channel, co_await begin(FrameType::stdin_open, request));
  HARENA_CO_TRY_STATUS(co_await expect(*channel, FrameType::ready));
  StdinStream stream(endpoint_, std::move(channel));
  stream.begin_at(*request.offset);
  co_return stream;
}

Task<Result<CommandInfo>> SessionClient::info(std::string command) {
  return ask<CommandInfo>(FrameType::info, command_request(std::move(command)));
}

Task<Result<CommandInfo>> SessionClient::wait(std::string command, std::uint64_t timeout_ms) {
  return ask<CommandInfo>(FrameType::wait, command_request(std::move(command), timeout_ms));
}

Task<Result<std::vector<CommandInfo>>> SessionClient::list() {
  HARENA_CO_TRY(auto reply, co_await ask<CommandList>(FrameType::list, Empty{}));
  co_return std::move(reply.commands);
}

Task<Status> SessionClient::signal(std::string command, int signal, SignalTarget target) {
  SignalRequest request;
  request.command = std::move(command);
  request.signal = signal;
  request.target = target;
  return tell(FrameType::signal, std::move(request));
}

Task<Status> SessionClient::resize(std::string command, std::uint16_t rows, std::uint16_t cols) {
  ResizeRequest request;
  request.command = std::move(command);
  request.rows = rows;
  request.cols = cols;
  return tell(FrameType::resize, std::move(request));
}

Task<Status> SessionClient::forget(std::string command) {
  return tell(FrameType::forget, command_request(std::move(command)));
}

template <class Request>
Task<Result<FileReader>> SessionClient::open_reader(FrameType type, const Request& request) {
  HARENA_CO_TRY(auto opened, co_await open(type, request, FrameType::file_stat));
  HARENA_CO_TRY(auto stat, decode<FileStat>(opened.frame.payload));
  FileReader reader(endpoint_, std::move(opened.channel));
  reader.set_stat(std::move(stat));
  co_return reader;
}

Task<Result<FileReader>> SessionClient::read_file(FileReadRequest request) {
  co_return co_await open_reader(FrameType::file_read, request);
}

Task<Result<FileReader>> SessionClient::read_archive(FileArchiveReadRequest request) {
  co_return co_await open_reader(FrameType::file_archive_read, request);
}

Task<Result<ArchiveWriter>> SessionClient::write_archive(FileArchiveWriteRequest request) {
  HARENA_CO_TRY(auto channel, co_await begin(FrameType::file_archive_write, request));
  HARENA_CO_TRY_STATUS(co_await expect(*channel, FrameType::ready));
  channel->widen();
  co_return ArchiveWriter(endpoint_, std::move(channel));
}

Task<Result<FileWatcher>> SessionClient::watch(FileWatchRequest request) {
  HARENA_CO_TRY(auto opened, co_await open(FrameType::file_watch, request, FrameType::ready));
  co_return FileWatcher(endpoint_, std::move(opened.channel));
}

Task<Result<FileWriter>> SessionClient::write_file(FileWriteRequest request) {
  HARENA_CO_TRY(auto channel, co_await begin(FrameType::file_write, request));
  HARENA_CO_TRY_STATUS(co_await expect(*channel, FrameType::ready));
  channel->widen();
  co_return FileWriter(endpoint_, std::move(channel));
}

Task<Result<FileListing>> SessionClient::list_files(FileListRequest request) {
  HARENA_CO_TRY(auto opened, co_await open(FrameType::file_list, request));
  FileListing listing;
  while (opened.frame.type != FrameType::ok) {
    HARENA_CO_TRY(auto batch, decode<FileEntries>(opened.frame.payload));
    std::move(batch.entries.begin(), batch.entries.end(), std::back_inserter(listing.entries));
    auto frame = co_await opened.channel->receive();
    if (!frame) {
      co_await endpoint_->release(std::move(opened.channel));
      co_return std::move(frame).error();
    }
    opened.frame = *std::move(frame);
  }
  co_await endpoint_->release(std::move(opened.channel));
  HARENA_CO_TRY(auto end, decode<FileListEnd>(opened.frame.payload));
  listing.cursor = std::move(end.cursor);
  co_return listing;
}

Task<Result<FileStat>> SessionClient::stat(FilePathRequest request) {
  return ask<FileStat>(FrameType::file_stat_get, std::move(request));
}
Task<Result<FileStat>> SessionClient::readlink(FilePathRequest request) {
  return ask<FileStat>(FrameType::file_readlink, std::move(request));
}
Task<Result<FileStat>> SessionClient::mkdir(FileMkdirRequest request) {
  return ask<FileStat>(FrameType::file_mkdir, std::move(request));
}
Task<Status> SessionClient::remove(FileRemoveRequest request) {
  return tell(FrameType::file_remove, std::move(request));
}
Task<Result<FileStat>> SessionClient::move(FileMoveRequest request) {
  return ask<FileStat>(FrameType::file_move, std::move(request));
}
Task<Result<FileStat>> SessionClient::chmod(FileChmodRequest request) {
  return ask<FileStat>(FrameType::file_chmod, std::move(request));
}
Task<Result<FileStat>> SessionClient::chown(FileChownRequest request) {
  return ask<FileStat>(FrameType::file_chown, std::move(request));
}
Task<Result<FileStat>> SessionClient::symlink(FileSymlinkRequest request) {
  return ask<FileStat>(FrameType::file_symlink, std::move(request));
}
Task<Result<FileStat>> SessionClient::truncate(FileTruncateRequest request) {
  return ask<FileStat>(FrameType::file_truncate, std::move(request));
}

Task<Result<FileXattrs>> SessionClient::xattrs(FileXattrListRequest request) {
  return ask<FileXattrs>(FrameType::file_xattr_list, std::move(request));
}
Task<Status> SessionClient::set_xattr(FileXattrSetRequest request) {
  return tell(FrameType::file_xattr_set, std::move(request));
}
Task<Status> SessionClient::remove_xattr(FileXattrRemoveRequest request) {
  return tell(FrameType::file_xattr_remove, std::move(request));
}

Task<Result<std::unique_ptr<http::ByteStream>>> SessionClient::dial(DialRequest request) {
  HARENA_CO_TRY(auto channel, co_await begin(FrameType::dial, request));
  auto fd = co_await channel->receive_ok_with_fd();
  if (fd.ok() && !*fd) co_return std::make_unique<DialStream>(std::move(channel));
  co_await endpoint_->release(std::move(channel));
  if (!fd) co_return std::move(fd).error();
  co_return co_await http::adopt_stream(*std::move(fd));
}

Task<Status> SessionClient::shutdown(std::uint32_t grace_ms) {
  ShutdownRequest request;
  request.grace_ms = grace_ms;
  return tell(FrameType::shutdown, request);
}

Task<Result<Stats>> SessionClient::stats() { return ask<Stats>(FrameType::stats, Empty{}); }

}  // namespace harena::session
