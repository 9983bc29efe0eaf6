#include "sdk/http/connection.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <poll.h>

#include <algorithm>
#include <array>

#include "sdk/http/error.hpp"
#include "sdk/http/shard.hpp"
#include "sdk/http/tls.hpp"

namespace harena::http {
namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds kLinger{2'000};

Error unhandled(std::string_view what) {
  return make_error(ErrorCode::internal, "unhandled exception: " + std::string(what));
}

}  // namespace

Connection::Connection(std::shared_ptr<Shard> shard, StreamSocket socket, std::shared_ptr<TlsContext> tls)
    : shard_(std::move(shard)), socket_(std::move(socket)), tls_(std::move(tls)) {}

Connection::~Connection() = default;

void Connection::launch(std::shared_ptr<Connection> connection) {
  auto* const raw = connection.get();
  auto ended = [connection = std::move(connection)](const std::exception_ptr&) {
    connection->shard_->ended(connection.get());
  };
  asio::co_spawn(raw->shard_->loop(), raw->run(), asio::bind_cancellation_slot(raw->signal_.slot(), std::move(ended)));
}

// ---- watching ----

int Connection::watched_fd() const { return phase_ == Phase::handling ? fd_ : -1; }

void Connection::set_phase(Phase phase, std::chrono::milliseconds timeout) {
  phase_ = phase;
  deadline_ = timeout.count() > 0 ? std::chrono::steady_clock::now() + timeout : TimePoint::max();
}

void Connection::tick(TimePoint now, short poll_events) {
  if (now >= deadline_) {
    timed_out_ = true;
    return cancel();
  }
  if (now >= write_deadline_) return client_gone();
  if (phase_ != Phase::handling) return;
  if ((poll_events & (POLLERR | POLLHUP | POLLNVAL)) != 0) return client_gone();
  if ((poll_events & POLLRDHUP) == 0) return;
  // A body that is still being read will itself meet its end.
  const auto grace = shard_->core().options.half_close_grace;
  if (!reader_->done() && now - body_read_at_ < grace) return;
  if (!fin_seen_) fin_seen_ = now;
  if (now - *fin_seen_ >= grace) client_gone();
}

void Connection::client_gone() {
  gone_ = true;
  cancel();
}

void Connection::cancel() {
  if (phase_ == Phase::handling || phase_ == Phase::taken_over) cancelled_->store(true);
  signal_.emit(asio::cancellation_type::terminal);
}

void Connection::drain() {
  keep_alive_ = false;
  const bool busy = phase_ == Phase::handling || phase_ == Phase::taken_over;
  if (busy && last_words_) cancel();
}

void Connection::close_idle() {
  if (phase_ == Phase::waiting) cancel();
}

void Connection::set_last_words(std::string text) {
  last_words_ = std::move(text);
  // Not from here: the handler that calls this is on the stack.
  if (shard_->core().draining) asio::post(shard_->loop(), [self = shared_from_this()] { self->drain(); });
}

// ---- the life of a connection ----

Task<void> Connection::run() {
  try {
    if (co_await prepare_stream()) {
      while (co_await serve_one()) {
      }
    }
  } catch (const std::exception&) {  // cancelled; what there is to say about a handler was said to on_exchange
  }
  if (!stream_) co_return;
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  try {
    if (timed_out_ && phase_ == Phase::head) {
      const auto late = make_error(ErrorCode::deadline_exceeded, "the request's header took too long");
      co_await refuse(late, 408);
    }
    if (linger_ && !gone_) co_await linger();
  } catch (const std::exception&) {  // the client had its chance
  }
  stream_->close();
}

Task<bool> Connection::prepare_stream() {
  set_phase(Phase::head, shard_->core().options.header_timeout);
  auto plain = socket_stream(std::move(*socket_));
  socket_.reset();
  fd_ = plain->poll_fd();
  peer_ = plain->peer();
  if (tls_) {
    auto secured = co_await tls_->accept(std::move(plain));
    if (!secured.ok()) co_return false;
    plain = std::move(*secured);
  }
  stream_ = std::move(plain);
  const auto& options = shard_->core().options;
  reader_.emplace(*stream_, MessageLimits{options.max_header_bytes, options.max_header_count});
  first_ = true;
  co_return true;
}

Task<bool> Connection::serve_one() {
  const auto& options = shard_->core().options;
  reader_->buffer().shrink();
  set_phase(Phase::waiting, std::exchange(first_, false) ? options.header_timeout : options.idle_timeout);
  const auto some = co_await reader_->wait_for_bytes();
  if (!some.ok() || !*some) co_return false;
  set_phase(Phase::head, options.header_timeout);
  auto head = co_await reader_->read_head();
  if (head.ok()) co_return co_await handle(std::move(*head));
  if (reader_->failure_status() != 0) co_await refuse(head.error(), reader_->failure_status());
  co_return false;
}

// Answers what never became a request.
Task<void> Connection::refuse(const Error& error, int status) {
  keep_alive_ = false;
  linger_ = true;
  const auto body = error_body(error);
  Headers headers;
  headers.add("Content-Type", "application/json");
  if (status == 503) headers.add("Retry-After", "1");
  (void)co_await send(status, headers, body);
}

Task<bool> Connection::handle(MessageHead head) {
  http10_ = head.version < 11;
  head_only_ = head.method == "HEAD";
  keep_alive_ = reader_->keep_alive() && !shard_->core().draining;
  expects_continue_ = false;
  continue_deferred_ = false;
  reason_.clear();
  last_words_.reset();
  body_writer_.reset();
  fin_seen_.reset();
  body_read_at_ = {};
  if (const auto expect = head.headers.get("Expect"); expect && !http10_) {
    expects_continue_ = iequals(*expect, "100-continue");
    if (!expects_continue_) {
      const auto error = make_error(ErrorCode::invalid_argument, "Expect must be '100-continue', not '" + std::string(*expect) + "'");
      co_await refuse(error, 417);
      co_return false;
    }
  }
  if (!shard_->core().enter()) {
    const auto error = stopping_error();
    co_await refuse(error, 503);
    co_return false;
  }
  set_phase(Phase::handling, std::chrono::milliseconds(0));
  co_return co_await handle_counted(std::move(head));
}

Task<bool> Connection::handle_counted(MessageHead head) {
  struct Leave {
    ServerCore& core;
    ~Leave() { core.leave(); }
  };
  const Leave leave{shard_->core()};
  co_return co_await answer(std::move(head));
}

Task<bool> Connection::answer(MessageHead head) {
  const auto started = std::chrono::steady_clock::now();
  Request request({std::move(head.method), std::move(head.target), std::move(head.headers), peer_}, *this);
  request.set_cancel_flag(cancelled_);
  request.set_drain_flag(shard_->drain_flag());
  ResponseWriter response(request, *this);
  const auto outcome = co_await call_handler(request, response);
  // A cancellation was for the handler; without this every co_await from here on would throw.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  const auto settled = co_await settle(outcome, response);
  if (const auto& report = shard_->core().options.on_exchange) {
    report({request, response.status(), outcome.ok() ? nullptr : &outcome.error(),
            std::chrono::steady_clock::now() - started, gone_});
  }
  if (!settled.ok() || response.taken_over() || !keep_alive_) {
    linger_ = settled.ok() && !response.taken_over() && !reader_->done();
    co_return false;
  }
  co_return co_await discard_body();
}

Task<Status> Connection::call_handler(Request& request, ResponseWriter& response) {
  try {
    co_return co_await shard_->core().handler(request, response);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) {
      co_return make_error(ErrorCode::cancelled, gone_ ? "the client went away" : "cancelled");
    }
    co_return unhandled(error.what());
  } catch (const std::exception& error) {
    co_return unhandled(error.what());
  } catch (...) {
    co_return unhandled("of no known type");
  }
}

// The server is being stopped, or the client has gone: the one who may still listen is told.
Task<Status> Connection::take_leave(ResponseWriter& response) {
  const bool resumable = last_words_ && response.begun() && !response.finished();
  if (gone_ || writing_ || (response.begun() && !resumable)) co_return make_error(ErrorCode::cancelled, "cancelled");
  if (!response.begun()) {
    const auto body = error_body(stopping_error());
    Headers headers;
    headers.add("Content-Type", "application/json");
    headers.add("Retry-After", "1");
    co_return co_await response.send(503, std::move(headers), body);
  }
  HARENA_CO_TRY_STATUS(co_await response.write(*last_words_));
  co_return co_await response.finish();
}

// Whatever the handler left open is brought to an end: an answer, or an error that says to break the connection off.
Task<Status> Connection::settle(const Status& outcome, ResponseWriter& response) {
  if (*cancelled_) co_return co_await take_leave(response);
  if (response.finished()) co_return ok_status();
  if (response.begun()) co_return make_error(ErrorCode::aborted, "the handler left its answer unfinished");
  const auto nothing = make_error(ErrorCode::internal, "the handler gave no answer");
  const Error& error = outcome.ok() ? nothing : outcome.error();
  try {
    co_return co_await response.send_error(error);
  } catch (const std::exception&) {
    co_return make_error(ErrorCode::cancelled, "cancelled");
  }
}

Task<bool> Connection::discard_body() {
  if (reader_->done()) co_return true;
  linger_ = true;
  if (expects_continue_) co_return false;
  set_phase(Phase::closing, shard_->core().options.header_timeout);
  std::array<std::byte, 4096> block;
  for (std::size_t total = 0; total < kMaxDiscardedBytes;) {
    const auto count = co_await reader_->read_body(block);
    if (!count.ok()) co_return false;
    if (*count == 0) {
      linger_ = false;
      co_return true;
    }
    total += *count;
  }
  co_return false;
}

// Closing with unread bytes makes the kernel send a reset, which may overtake the answer: so the client is given
// time to read it and to close.
Task<void> Connection::linger() {
  set_phase(Phase::closing, kLinger);
  (void)co_await stream_->shutdown_write();
  std::array<std::byte, 4096> block;
  while (true) {
    const auto count = co_await stream_->read(block);
    if (!count.ok() || *count == 0) co_return;
  }
}

// ---- the request's body ----

std::optional<std::uint64_t> Connection::body_length() const {
  if (reader_->chunked()) return std::nullopt;
  return reader_->content_length().value_or(0);
}

Task<Result<std::size_t>> Connection::read_body(std::span<std::byte> into) {
  if (reader_->done()) co_return std::size_t{0};
  if (expects_continue_ && !continue_deferred_) {
    const Headers none;
    HARENA_CO_TRY_STATUS(co_await inform(100, none));
  }
  auto count = co_await reader_->read_body(into);
  body_read_at_ = std::chrono::steady_clock::now();
  expects_continue_ = false;  // a client that sends its body doesn't wait any more
  if (!count.ok()) keep_alive_ = false;
  co_return count;
}

}  // namespace harena::http
