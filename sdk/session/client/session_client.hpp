#pragma once
// SessionClient: the operations of harena.session/1 as typed calls of coroutines.
//
//   SessionClient client(Endpoint::over_unix(path));
//   HARENA_CO_TRY(auto run, co_await client.start_attached(request));
//   for (;;) { HARENA_CO_TRY(auto event, co_await run.output.next()); ... }

#include <memory>
#include <string>
#include <vector>

#include "sdk/session/client/session_streams.hpp"

namespace harena::session {

struct AttachedCommand {
  Started started;
  OutputReader output;
};

struct FileListing {
  std::vector<FileStat> entries;
  /// Empty: that was all.
  std::string cursor;
};

/// Cheap to copy; thread-safe as far as the Endpoint is. Errors of the calls: those of the endpoint, typed (docs/session-protocol.md), and
/// unavailable with cause infrastructure, detail "session", when it can't be reached or went away.
class SessionClient {
 public:
  explicit SessionClient(std::shared_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  Task<Result<Started>> start(StartRequest request);
  Task<Result<AttachedCommand>> start_attached(StartRequest request);
  Task<Result<OutputReader>> attach(AttachRequest request);
  Task<Result<StdinStream>> open_stdin(StdinRequest request);
  Task<Result<CommandInfo>> info(std::string command);
  /// At the latest after timeout_ms (0: no limit), ended or not.
  Task<Result<CommandInfo>> wait(std::string command, std::uint64_t timeout_ms);
  Task<Result<std::vector<CommandInfo>>> list();
  Task<Status> signal(std::string command, int signal, SignalTarget target);
  Task<Status> resize(std::string command, std::uint16_t rows, std::uint16_t cols);
  /// Kills its tree; removes record and output.
  Task<Status> forget(std::string command);

  Task<Result<FileReader>> read_file(FileReadRequest request);
  Task<Result<FileWriter>> write_file(FileWriteRequest request);
  Task<Result<FileListing>> list_files(FileListRequest request);
  Task<Result<FileStat>> stat(FilePathRequest request);
  Task<Result<FileStat>> readlink(FilePathRequest request);
  Task<Result<FileStat>> mkdir(FileMkdirRequest request);
  Task<Status> remove(FileRemoveRequest request);
  Task<Result<FileStat>> move(FileMoveRequest request);
  Task<Result<FileStat>> chmod(FileChmodRequest request);
  Task<Result<FileStat>> chown(FileChownRequest request);
  Task<Result<FileStat>> symlink(FileSymlinkRequest request);
  Task<Result<FileStat>> truncate(FileTruncateRequest request);
  Task<Result<FileXattrs>> xattrs(FileXattrListRequest request);
  Task<Status> set_xattr(FileXattrSetRequest request);
  Task<Status> remove_xattr(FileXattrRemoveRequest request);
  /// Returns when everything is watched.
  Task<Result<FileWatcher>> watch(FileWatchRequest request);
  /// stat() is the folder's.
  Task<Result<FileReader>> read_archive(FileArchiveReadRequest request);
  Task<Result<ArchiveWriter>> write_archive(FileArchiveWriteRequest request);

  /// A TCP connection to a port in the sandbox, half-close and all; not through the endpoint.
  Task<Result<std::unique_ptr<http::ByteStream>>> dial(DialRequest request);
  Task<Status> shutdown(std::uint32_t grace_ms);
  Task<Result<Stats>> stats();

 private:
  template <class Request>
  Task<Result<std::string>> call(FrameType type, Request request);
  template <class Reply, class Request>
  Task<Result<Reply>> ask(FrameType type, Request request);
  template <class Request>
  Task<Status> tell(FrameType type, Request request);
  template <class Request>
  Task<Result<std::unique_ptr<Channel>>> begin(FrameType type, const Request& request);
  template <class Request>
  Task<Result<std::unique_ptr<Channel>>> begin_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request);
  template <class Request>
  Task<Result<std::string>> call_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request);
  /// An operation and the first frame of its answer.
  struct Opened {
    std::unique_ptr<Channel> channel;
    ReceivedFrame frame;
  };
  template <class Request>
  Task<Result<Opened>> open_on(std::unique_ptr<Channel> channel, FrameType type, const Request& request);
  /// Asks again on a new connection when a kept one had ended and the request may be repeated.
  template <class Request>
  Task<Result<Opened>> open(FrameType type, const Request& request);
  template <class Request>
  Task<Result<Opened>> open(FrameType type, const Request& request, FrameType first);
  template <class Request>
  Task<Result<FileReader>> open_reader(FrameType type, const Request& request);

  std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace harena::session
