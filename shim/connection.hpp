#pragma once
// One client of the session socket: frames in, frames out, one operation at a time.

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "sdk/session/fields.hpp"
#include "sdk/session/frame.hpp"
#include "shim/event_loop.hpp"
#include "shim/spool.hpp"

namespace harena::shim {

class Connection;
class Server;

/// What is going on between a request and its final frame. Destroyed when it finishes or the client leaves.
class Operation {
 public:
  explicit Operation(Connection& connection) : connection_(connection) {}
  virtual ~Operation() = default;
  /// A frame of the client inside the operation; the default refuses it.
  virtual void on_frame(const session::FrameHeader& header, std::string_view payload);
  /// The output queue has room again.
  virtual void on_writable() {}

 protected:
  Connection& connection_;
};

class Connection {
 public:
  /// An operation that produces in bulk stops above this and goes on at on_writable().
  static constexpr std::size_t kQueueHigh = 512 << 10;

  Connection(Server& server, EventLoop& loop, UniqueFd socket);
  ~Connection();

  // For operations.
  void send(session::FrameType type, std::string_view payload);
  template <class T>
  void send_message(session::FrameType type, const T& message) {
    send(type, session::encode(message));
  }
  void send_u64(session::FrameType type, std::uint64_t value);
  /// An output frame whose bytes come from the spool.
  void send_output(session::FrameType type, const std::shared_ptr<Spool>& spool, std::uint64_t offset, std::size_t length);
  std::size_t queued() const { return queued_; }
  void finish(std::string_view payload = {});
  template <class T>
  void finish_message(const T& message) {
    finish(session::encode(message));
  }
  /// The final ok with a descriptor.
  void finish_with_fd(UniqueFd fd);
  void fail(const Error& error);
  /// After the error is sent, no more.
  void fail_and_close(const Error& error);
  /// No frame is read until resume(); the client's departure is noticed all the same.
  void pause();
  void resume();
  void become(std::unique_ptr<Operation> next);
  Server& server() { return server_; }
  EventLoop& loop() { return loop_; }

  // For operations that hand the socket to a worker.
  int socket() const { return socket_.get(); }
  /// Stops reading and writing here (the queue must be empty); returns what was read and not used.
  std::string lend();
  /// The worker has ended its operation in order.
  void take_back();
  void close();

 private:
  struct Item {
    std::string bytes;
    std::size_t sent = 0;
    std::shared_ptr<Spool> spool;
    std::uint64_t offset = 0;
    std::size_t length = 0;
    UniqueFd fd;
  };

  void on_events(std::uint32_t events);
  void on_lent_events(std::uint32_t events);
  void read_some();
  void parse();
  void take_frame(const session::FrameHeader& header, std::string_view payload);
  void take_message(const session::FrameHeader& header, std::string_view payload);
  void answer_hello(std::string_view payload);
  void ended();
  std::string& tail();
  void flush_soon();
  void flush();
  bool flush_item(Item& item);
  std::uint32_t wanted_events() const;
  void update_events();

  Server& server_;
  EventLoop& loop_;
  UniqueFd socket_;
  EventLoop::Id watch_ = 0;
  std::string in_;
  std::size_t in_used_ = 0;
  std::deque<Item> out_;
  std::size_t queued_ = 0;
  session::MessageAssembler assembler_;
  std::unique_ptr<Operation> operation_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  bool greeted_ = false;
  bool paused_ = false;
  /// What the loop was asked for: a pause is told to it when something comes.
  std::uint32_t watched_ = 0;
  bool parsing_ = false;
  bool lent_ = false;
  bool closing_ = false;
  bool closed_ = false;
  bool flush_scheduled_ = false;
  bool blocked_ = false;
};

}  // namespace harena::shim
