#pragma once
// Operations that stream: output of a command, its stdin, files both ways. Each owns its connection; dropping one (or cancelling
// the coroutine that uses it) closes the connection, which cancels the operation.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/session/client/endpoint.hpp"
#include "sdk/session/command_messages.hpp"
#include "sdk/session/file_messages.hpp"
#include "sdk/session/file_stream_messages.hpp"

namespace harena::session {

class StreamBase {
 public:
  StreamBase(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Channel> channel)
      : endpoint_(std::move(endpoint)), channel_(std::move(channel)) {}

 protected:
  /// The operation is over: the connection may serve another.
  Task<void> give_back() { return endpoint_->release(std::move(channel_)); }
  std::shared_ptr<Endpoint> endpoint_;
  std::unique_ptr<Channel> channel_;
};

struct OutputEvent {
  enum class Kind { output, truncated, exit, end };
  Kind kind = Kind::end;
  Stream stream = Stream::out;
  /// Number of the first byte.
  std::uint64_t offset = 0;
  std::string bytes;
  Truncated truncated;
  ExitStatus exit;
};

/// A reader of a command's output; while it reads, stdin may be fed by another coroutine of the same executor.
class OutputReader : public StreamBase {
 public:
  using StreamBase::StreamBase;
  /// Reading is the back-pressure. After `end` there is no more; `exit` comes before it unless follow was false.
  Task<Result<OutputEvent>> next();

  Task<Status> write_stdin(std::string_view bytes);
  Task<Status> end_stdin();
  Task<Status> resize(std::uint16_t rows, std::uint16_t cols);
  Task<Status> signal(int signal, SignalTarget target);
  /// Bytes of stdin that the command's pipe has taken, as of the last next().
  std::uint64_t stdin_acked() const { return acked_; }

  /// For SessionClient: the connection was a kept one, which may turn out to have ended. As long as nothing came and nothing was sent, `request`
  /// is asked again on a new one.
  void may_ask_again(AttachRequest request) { again_ = std::move(request); }

 private:
  Status take_output(ReceivedFrame frame, OutputEvent& event);
  Task<Result<ReceivedFrame>> receive();
  std::optional<AttachRequest> again_;
  std::uint64_t acked_ = 0;
  /// Behind the part that was handed over last.
  std::uint64_t next_offset_ = 0;
};

class StdinStream : public StreamBase {
 public:
  using StreamBase::StreamBase;
  /// At most so many bytes are on their way to the command.
  static constexpr std::uint64_t kWindowBytes = 256 << 10;
  /// Returns when all but the window is in the command's pipe. failed_precondition when it closed its stdin, aborted when
  /// another writer came.
  Task<Status> write(std::string_view bytes);
  /// Waits until everything written was taken; stdin stays open.
  Task<Status> flush();
  /// Closes the command's stdin behind what was written.
  Task<Status> end();
  /// Number of the next byte that the command needs: where to go on after a lost connection.
  std::uint64_t acked() const { return acked_; }

  /// For SessionClient: the number of the first byte. Bytes that the endpoint skips are acked at once.
  void begin_at(std::uint64_t offset) { sent_ = acked_ = offset; }

 private:
  Task<Status> await_acks(std::uint64_t window);
  std::uint64_t sent_ = 0;
  std::uint64_t acked_ = 0;
};

/// A file, or a folder as tar.
class FileReader : public StreamBase {
 public:
  using StreamBase::StreamBase;
  const FileStat& stat() const { return stat_; }
  /// After a request with `ask`, once, before next(): the part that is wanted.
  Task<Status> choose(FileRange range);
  /// The same: nothing more is wanted.
  Task<Status> decline();
  /// 1 to into.size() bytes; 0 at the end.
  Task<Result<std::size_t>> read(std::span<std::byte> into);
  /// The next bytes in a block of their own; empty at the end.
  Task<Result<std::string>> next();
  void set_stat(FileStat stat) { stat_ = std::move(stat); }

 private:
  FileStat stat_;
  bool done_ = false;
};

/// Bytes to the endpoint. Without the end that the derived class sends nothing appears.
class UploadStream : public StreamBase {
 public:
  using StreamBase::StreamBase;
  Task<Status> write(std::string_view bytes);

 protected:
  Task<Result<std::string>> end();
};

class FileWriter : public UploadStream {
 public:
  using UploadStream::UploadStream;
  /// Publishes the file. Without it nothing appears.
  Task<Result<FileStat>> finish();
};

class ArchiveWriter : public UploadStream {
 public:
  using UploadStream::UploadStream;
  Task<Result<FileArchiveEnd>> finish();
};

class FileWatcher : public StreamBase {
 public:
  using StreamBase::StreamBase;
  /// nullopt: the watched folder is gone.
  Task<Result<std::optional<FileEvent>>> next();
};

}  // namespace harena::session
