#include "shim/connection.hpp"

#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "sdk/session/hello.hpp"
#include "shim/features.hpp"
#include "shim/server.hpp"
#include "shim/spawn.hpp"

namespace harena::shim {

using session::FrameHeader;
using session::FrameType;

namespace {

/// Below this a copy is cheaper than a second system call.
constexpr std::size_t kCopyBytes = 16 << 10;

Error protocol_error(std::string message) {
  return make_error(ErrorCode::invalid_argument, "session protocol: " + std::move(message));
}

}  // namespace

void Operation::on_frame(const FrameHeader& header, std::string_view) {
  connection_.fail_and_close(protocol_error("frame '" + session::to_string(header.type) + "' has no place in this operation"));
}

Connection::Connection(Server& server, EventLoop& loop, UniqueFd socket)
    : server_(server), loop_(loop), socket_(std::move(socket)) {
  watched_ = EPOLLIN | EPOLLRDHUP;
  watch_ = loop_.watch(socket_.get(), watched_, [this](std::uint32_t events) { on_events(events); });
}

Connection::~Connection() {
  operation_.reset();
  loop_.forget(watch_);
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  loop_.forget(watch_);
  // The operation goes now (it may have to end a command); this object at the end of the turn.
  auto operation = std::move(operation_);
  loop_.defer([op = std::shared_ptr<Operation>(std::move(operation)), &server = server_, self = this]() mutable {
    op.reset();
    server.drop(*self);
  });
}

void Connection::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if (closed_) return;
  if ((events & EPOLLIN) != 0 && !paused_) return read_some();
  // Not before something came: most pauses are over by then.
  if ((events & EPOLLIN) != 0) update_events();
  if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) close();
}

void Connection::read_some() {
  std::array<char, 64 << 10> buffer;
  auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close();
  in_.append(buffer.data(), static_cast<std::size_t>(got));
  parse();
}

void Connection::parse() {
  if (parsing_) return;
  parsing_ = true;
  while (!paused_ && !closed_ && !closing_ && !lent_ && in_.size() - in_used_ >= session::kHeaderBytes) {
    std::string_view rest = std::string_view(in_).substr(in_used_);
    auto header = session::parse_header(rest);
    if (!header) {
      fail_and_close(header.error());
      break;
    }
    if (rest.size() < session::kHeaderBytes + header->length) break;
    in_used_ += session::kHeaderBytes + header->length;
    take_frame(*header, rest.substr(session::kHeaderBytes, header->length));
  }
  parsing_ = false;
  if (lent_ || in_used_ == 0) return;
  in_.erase(0, std::exchange(in_used_, 0));
  if (in_.empty()) in_.shrink_to_fit();
}

void Connection::take_frame(const FrameHeader& header, std::string_view payload) {
  if (header.type == FrameType::ping) return send(FrameType::pong, payload);
  if (header.type == FrameType::window || header.type == FrameType::pong) return;
  if (session::is_raw(header.type) || header.type == FrameType::data_end) {
    if (operation_) return operation_->on_frame(header, payload);
    return fail_and_close(protocol_error("frame '" + session::to_string(header.type) + "' outside of an operation"));
  }
  auto whole = assembler_.add(header, payload);
  if (!whole) return fail_and_close(whole.error());
  if (!*whole) return;
  std::string message = assembler_.take();
  take_message(header, message);
}

void Connection::take_message(const FrameHeader& header, std::string_view payload) {
  if (header.type == FrameType::hello) return answer_hello(payload);
  if (!greeted_) return fail_and_close(protocol_error("the first frame is 'hello', not '" + session::to_string(header.type) + "'"));
  if (operation_ && session::is_request(header.type)) {
    return fail_and_close(protocol_error("request '" + session::to_string(header.type) + "' while an operation is in progress"));
  }
  if (operation_) return operation_->on_frame(header, payload);
  if (server_.begin(*this, header.type, payload)) return;
  if ((header.flags & session::kFlagMayIgnore) != 0) return;
  fail_and_close(make_error(ErrorCode::unimplemented, "this endpoint doesn't know frame type '" + session::to_string(header.type) + "'"));
}

void Connection::answer_hello(std::string_view payload) {
  auto hello = session::decode<session::Hello>(payload);
  if (!hello) return fail_and_close(hello.error());
  if (hello->min_version > session::kProtocolVersion || hello->max_version < session::kProtocolVersion) {
    return fail_and_close(make_error(
        ErrorCode::failed_precondition,
        "this endpoint speaks session protocol " + std::to_string(session::kProtocolVersion) + ", the client " +
            std::to_string(hello->min_version) + " to " + std::to_string(hello->max_version)));
  }
  greeted_ = true;
  session::HelloOk ok;
  ok.version = session::kProtocolVersion;
  ok.build = HARENA_VERSION;
  ok.features = offered_features(server_.sandbox().options());
  ok.sandbox = server_.sandbox().options().sandbox;
  send_message(FrameType::hello_ok, ok);
}

std::string& Connection::tail() {
  if (out_.empty() || out_.back().spool || out_.back().fd) out_.emplace_back();
  return out_.back().bytes;
}

void Connection::send(FrameType type, std::string_view payload) {
  auto& bytes = tail();
  std::size_t before = bytes.size();
  session::append_message(bytes, type, payload);
  queued_ += bytes.size() - before;
  flush_soon();
}

void Connection::send_u64(FrameType type, std::uint64_t value) {
  auto& bytes = tail();
  session::append_u64_frame(bytes, type, value);
  queued_ += session::kHeaderBytes + 8;
  flush_soon();
}

void Connection::send_output(FrameType type, const std::shared_ptr<Spool>& spool, std::uint64_t offset, std::size_t length) {
  auto& bytes = tail();
  session::append_output_prefix(bytes, type, offset, length);
  queued_ += session::kHeaderBytes + 8 + length;
  flush_soon();
  if (length <= kCopyBytes) {
    std::size_t at = bytes.size();
    bytes.resize(at + length);
    // Written by this process and not removed while the spool lives: all of it is there.
    if (::pread(spool->fd(), bytes.data() + at, length, static_cast<off_t>(offset)) != static_cast<ssize_t>(length)) close();
    return;
  }
  Item item;
  item.spool = spool;
  item.offset = offset;
  item.length = length;
  out_.push_back(std::move(item));
}

void Connection::finish(std::string_view payload) {
  send(FrameType::ok, payload);
  ended();
}

void Connection::finish_with_fd(UniqueFd fd) {
  Item item;
  session::append_message(item.bytes, FrameType::ok, {});
  queued_ += item.bytes.size();
  item.fd = std::move(fd);
  out_.push_back(std::move(item));
  flush_soon();
  ended();
}

void Connection::fail(const Error& error) {
  send(FrameType::error, session::encode_error(error));
  ended();
}

void Connection::fail_and_close(const Error& error) {
  closing_ = true;
  fail(error);
}

void Connection::ended() {
  if (operation_) loop_.defer([op = std::shared_ptr<Operation>(std::move(operation_))] {});
  operation_.reset();
  if (paused_) resume();
}

void Connection::become(std::unique_ptr<Operation> next) {
  if (operation_) loop_.defer([op = std::shared_ptr<Operation>(std::move(operation_))] {});
  operation_ = std::move(next);
}

void Connection::pause() { paused_ = true; }

void Connection::resume() {
  paused_ = false;
  if (watched_ != wanted_events()) update_events();
  // What was read before the pause; not from inside the caller's own stack.
  loop_.defer([this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired() && !closed_) parse();
  });
}

std::string Connection::lend() {
  lent_ = true;
  loop_.forget(watch_);
  watch_ = loop_.watch(socket_.get(), EPOLLRDHUP, [this](std::uint32_t events) { on_lent_events(events); });
  std::string rest = in_.substr(in_used_);
  in_.clear();
  in_used_ = 0;
  return rest;
}

void Connection::on_lent_events(std::uint32_t) {
  // The worker sees it at its next read or write; the operation gives it a moment.
  loop_.forget(watch_);
  if (operation_) operation_->on_writable();
}

void Connection::take_back() {
  lent_ = false;
  ended();
  loop_.forget(watch_);
  watched_ = EPOLLIN | EPOLLRDHUP;
  watch_ = loop_.watch(socket_.get(), watched_, [this](std::uint32_t events) { on_events(events); });
}

std::uint32_t Connection::wanted_events() const {
  std::uint32_t events = EPOLLRDHUP;
  if (!paused_) events |= EPOLLIN;
  if (blocked_) events |= EPOLLOUT;
  return events;
}

void Connection::update_events() {
  if (lent_ || closed_) return;
  watched_ = wanted_events();
  loop_.modify(watch_, watched_);
}

void Connection::flush_soon() {
  if (std::exchange(flush_scheduled_, true)) return;
  loop_.defer([this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) flush();
  });
}

bool Connection::flush_item(Item& item) {
  ssize_t moved = 0;
  if (item.spool) {
    auto offset = static_cast<off_t>(item.offset);
    moved = ::sendfile(socket_.get(), item.spool->fd(), &offset, item.length);
    if (moved > 0) {
      item.offset += static_cast<std::uint64_t>(moved);
      item.length -= static_cast<std::size_t>(moved);
    }
  } else if (item.fd) {
    // Descriptor and frame in one message; a frame of a few bytes goes whole or not at all.
    moved = send_with_fd(socket_.get(), item.bytes, item.fd.get()) ? static_cast<ssize_t>(item.bytes.size()) : -1;
    if (moved > 0) item.sent = item.bytes.size();
  } else {
    moved = ::send(socket_.get(), item.bytes.data() + item.sent, item.bytes.size() - item.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved > 0) item.sent += static_cast<std::size_t>(moved);
  }
  if (moved > 0) queued_ -= static_cast<std::size_t>(moved);
  return moved > 0;
}

void Connection::flush() {
  flush_scheduled_ = false;
  if (closed_ || lent_) return;
  bool was_high = queued_ > kQueueHigh / 2;
  bool blocked = false;
  while (!out_.empty() && !blocked) {
    auto& item = out_.front();
    if (item.spool ? item.length == 0 : item.sent == item.bytes.size()) {
      out_.pop_front();
      continue;
    }
    if (flush_item(item)) continue;
    if (errno != EAGAIN && errno != EINTR) return close();
    blocked = true;
  }
  if (blocked != blocked_) {
    blocked_ = blocked;
    update_events();
  }
  if (closing_ && out_.empty()) return close();
  if (was_high && queued_ <= kQueueHigh / 2 && operation_) operation_->on_writable();
}

}  // namespace harena::shim
