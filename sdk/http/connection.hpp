#pragma once
// One connection of a server: reads requests one after the other, runs the handler, writes answers. Internal to sdk/http.

#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "sdk/http/body_framing.hpp"
#include "sdk/http/message_reader.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/socket_stream.hpp"

namespace harena::http {

class Shard;
class TlsContext;

/// Lives on its shard's loop; every function runs there.
class Connection final : public std::enable_shared_from_this<Connection>, private BodySource, private ResponseSink {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Connection(std::shared_ptr<Shard> shard, StreamSocket socket, std::shared_ptr<TlsContext> tls);
  ~Connection() override;
  static void launch(std::shared_ptr<Connection> connection);

  /// For the tick: -1 unless a handler runs that must hear of the client's departure.
  int watched_fd() const;
  void tick(TimePoint now, short poll_events);
  /// No further request; ends the one in flight if it can be gone on with elsewhere.
  void drain();
  void close_idle();
  /// Cancels what runs.
  void cancel();

 private:
  /// An unread body up to this size is read and dropped so that the connection may be kept.
  static constexpr std::uint64_t kMaxDiscardedBytes = 64 * 1024;
  enum class Phase { waiting, head, handling, taken_over, closing };

  Task<void> run();
  Task<bool> prepare_stream();
  Task<bool> serve_one();
  Task<void> refuse(const Error& error, int status);
  Task<bool> handle(MessageHead head);
  Task<bool> handle_counted(MessageHead head);
  Task<bool> answer(MessageHead head);
  Task<Status> call_handler(Request& request, ResponseWriter& response);
  Task<Status> take_leave(ResponseWriter& response);
  Task<Status> settle(const Status& outcome, ResponseWriter& response);
  Task<bool> discard_body();
  Task<void> linger();
  void set_phase(Phase phase, std::chrono::milliseconds timeout);
  void client_gone();

  Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  const Headers& trailers() const override { return reader_->trailers(); }
  std::optional<std::uint64_t> body_length() const override;
  void defer_continue() override { continue_deferred_ = true; }

  Task<Status> inform(int status, const Headers& headers) override;
  Task<Status> send(int status, const Headers& headers, std::string_view body) override;
  Task<Status> begin(int status, const Headers& headers, std::optional<std::uint64_t> length) override;
  Task<Status> write(std::span<const std::byte> bytes) override;
  Task<Status> finish(const Headers& trailers) override;
  Task<Status> begin_with(int status, const Headers& headers, std::optional<std::uint64_t> length,
                          std::span<const std::byte> first) override;
  Task<Status> finish_with(std::span<const std::byte> last) override;
  Task<Result<std::unique_ptr<ByteStream>>> upgrade(int status, const Headers& headers) override;
  void set_reason(std::string reason) override { reason_ = std::move(reason); }
  void set_last_words(std::string text) override;

  std::string answer_head(int status, const Headers& headers, BodyKind kind, std::uint64_t length);
  BodyKind body_kind(int status, bool has_length) const;
  /// The head of a streamed answer, whose body the new body_writer_ writes.
  std::string begin_head(int status, const Headers& headers, std::optional<std::uint64_t> length);
  template <class Write>
  Task<Status> guarded_write(Write write);

  std::shared_ptr<Shard> shard_;
  std::optional<StreamSocket> socket_;
  std::shared_ptr<TlsContext> tls_;
  std::unique_ptr<ByteStream> stream_;
  std::optional<MessageReader<true>> reader_;
  boost::asio::cancellation_signal signal_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  int fd_ = -1;
  std::string peer_;

  Phase phase_ = Phase::waiting;
  TimePoint deadline_ = TimePoint::max();
  TimePoint write_deadline_ = TimePoint::max();
  std::optional<TimePoint> fin_seen_;
  TimePoint body_read_at_{};
  bool gone_ = false;
  bool timed_out_ = false;
  bool first_ = true;
  bool linger_ = false;

  // Of the request in flight.
  bool head_only_ = false;
  bool http10_ = false;
  bool expects_continue_ = false;
  bool continue_deferred_ = false;
  std::string reason_;
  std::optional<std::string> last_words_;
  /// A write has begun and hasn't ended well: what is on the wire may be half of something.
  bool writing_ = false;
  bool keep_alive_ = false;
  std::optional<BodyWriter> body_writer_;
};

}  // namespace harena::http
