#include "sdk/client/connection.hpp"

#include <array>
#include <atomic>
#include <istream>
#include <mutex>
#include <ostream>

#include <Poco/Net/Context.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/HTTPSClientSession.h>
#include <Poco/Net/NetException.h>

#include "sdk/base/text.hpp"
#include "sdk/client/retry.hpp"
#include "sdk/client/wire.hpp"

namespace harena::client {

using Poco::Net::HTTPClientSession;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kMaxErrorBytes = 1024 * 1024;
constexpr std::size_t kMaxBodyBytes = std::size_t{512} * 1024 * 1024;

Poco::Timespan timespan(std::chrono::milliseconds duration) { return Poco::Timespan(duration.count() * 1000); }

Error connect_error(const Endpoint& endpoint, const std::string& why) {
  return infrastructure_error(ErrorCode::unavailable, kNotSent,
                              "can't connect to " + endpoint.describe() + ": " + why + "; is harenad running there?");
}

Error lost_error(const Endpoint& endpoint, const std::string& why) {
  return infrastructure_error(ErrorCode::unavailable, kConnectionLost,
                              "the connection to " + endpoint.describe() + " was lost: " + why);
}

Error silence_error(const Endpoint& endpoint, std::chrono::milliseconds limit) {
  return infrastructure_error(ErrorCode::deadline_exceeded, kConnectionLost,
                              endpoint.describe() + " was silent for " + std::to_string(limit.count() / 1000) + " s");
}

Response head_of(const Poco::Net::HTTPResponse& answer) {
  Response response;
  response.status = static_cast<int>(answer.getStatus());
  for (const auto& [name, value] : answer) response.headers[ascii_lower(name)] = value;
  return response;
}

void fill(Poco::Net::HTTPRequest& out, const Request& request, const Endpoint& endpoint) {
  out.set("Authorization", "Bearer " + endpoint.token);
  out.set("User-Agent", "harena-cpp/" HARENA_VERSION);
  for (const auto& [name, value] : request.headers) out.set(name, value);
  if (!request.content_type.empty()) out.setContentType(request.content_type);
  if (request.source) {
    out.setChunkedTransferEncoding(true);
  } else if (!request.body.empty() || request.method != "GET") {
    out.setContentLength64(static_cast<Poco::Int64>(request.body.size()));
  }
}

Status send_body(std::ostream& out, const Request& request) {
  if (!request.source) {
    out.write(request.body.data(), static_cast<std::streamsize>(request.body.size()));
    return {};
  }
  std::array<char, kPieceBytes> buffer;
  while (true) {
    HARENA_TRY(const std::size_t size, request.source(buffer.data(), buffer.size()));
    if (size == 0) return {};
    out.write(buffer.data(), static_cast<std::streamsize>(size));
    if (!out) return {};  // the server has answered early, or the connection broke: the answer tells
  }
}

/// Hands over what has arrived without waiting for a full buffer.
Status drain(std::istream& in, const Connection::Sink& sink, std::int64_t& received) {
  std::array<char, kPieceBytes> buffer;
  while (in.peek() != std::istream::traits_type::eof()) {
    const auto available = std::clamp<std::streamsize>(in.rdbuf()->in_avail(), 1, buffer.size());
    in.read(buffer.data(), available);
    received += in.gcount();
    HARENA_TRY_STATUS(sink({buffer.data(), static_cast<std::size_t>(in.gcount())}));
  }
  return {};
}

/// The API's error, read to its end so that the connection can be used again.
Error refusal(std::istream& in, int status) {
  std::string text;
  std::int64_t received = 0;
  const auto keep = [&](std::string_view bytes) -> Status {
    if (text.size() < kMaxErrorBytes) text += bytes;
    return {};
  };
  const auto ignored = drain(in, keep, received);
  const json parsed = json::parse(text, nullptr, false);
  return error_from_json(parsed.is_object() ? parsed.value("error", json()) : json(), status);
}

}  // namespace

struct Connection::State {
  std::unique_ptr<HTTPClientSession> session;
  std::mutex mutex;  // guards the pointer against abort
  std::atomic<bool> aborted{false};
};

Connection::Connection(Endpoint endpoint, Timeouts timeouts)
    : endpoint_(std::move(endpoint)), timeouts_(timeouts), state_(std::make_unique<State>()) {}

Connection::~Connection() = default;

std::unique_ptr<HTTPClientSession> Connection::fresh_session() const {
  std::unique_ptr<HTTPClientSession> session;
  if (endpoint_.tls) {
    const Poco::Net::Context::Ptr context(new Poco::Net::Context(
        Poco::Net::Context::TLS_CLIENT_USE, "", "", "", Poco::Net::Context::VERIFY_STRICT, 9, true));
    session = std::make_unique<Poco::Net::HTTPSClientSession>(endpoint_.host, endpoint_.port, context);
  } else {
    session = std::make_unique<HTTPClientSession>(endpoint_.host, endpoint_.port);
  }
  session->setKeepAlive(true);
  session->setTimeout(timespan(timeouts_.connect), timespan(timeouts_.read), timespan(timeouts_.read));
  return session;
}

void Connection::abort() {
  const std::lock_guard lock(state_->mutex);
  state_->aborted = true;
  try {
    if (state_->session) state_->session->abort();
  } catch (const Poco::Exception&) {
    // Not connected at this moment: the flag stops the next call.
  }
}

Result<Response> Connection::call(const Request& request) {
  std::string body;
  HARENA_TRY(auto response, stream(request, [&](std::string_view bytes) -> Status {
    if (body.size() + bytes.size() > kMaxBodyBytes) {
      return make_error(ErrorCode::resource_exhausted, "the answer has over " + std::to_string(kMaxBodyBytes) + " bytes");
    }
    body += bytes;
    return {};
  }));
  response.body = std::move(body);
  return response;
}

Result<HTTPClientSession*> Connection::ready_session(std::chrono::milliseconds limit) {
  const std::lock_guard lock(state_->mutex);
  if (state_->aborted) return make_error(ErrorCode::cancelled, "the connection was closed by this side");
  if (!state_->session) state_->session = fresh_session();
  state_->session->setTimeout(timespan(timeouts_.connect), timespan(limit), timespan(limit));
  return state_->session.get();
}

void Connection::drop() {
  const std::lock_guard lock(state_->mutex);
  state_->session.reset();
}

Result<Response> Connection::stream(const Request& request, const Sink& sink, const OnHead& on_head) {
  const auto limit = request.read_timeout.count() > 0 ? request.read_timeout : timeouts_.read;
  bool sent = false;
  try {
    HARENA_TRY(HTTPClientSession* const session, ready_session(limit));
    Poco::Net::HTTPRequest out(request.method, endpoint_.base_path + request.target, Poco::Net::HTTPMessage::HTTP_1_1);
    fill(out, request, endpoint_);
    auto& body = session->sendRequest(out);
    sent = true;
    if (auto status = send_body(body, request); !status.ok()) {
      drop();
      return std::move(status).error();
    }
    return receive(*session, sink, on_head);
  } catch (const Poco::TimeoutException&) {
    drop();
    if (!sent) return connect_error(endpoint_, "no answer within " + std::to_string(timeouts_.connect.count() / 1000) + " s");
    return silence_error(endpoint_, limit);
  } catch (const Poco::Exception& error) {
    drop();
    return sent ? lost_error(endpoint_, error.displayText()) : connect_error(endpoint_, error.displayText());
  } catch (const std::exception& error) {
    drop();
    return lost_error(endpoint_, error.what());
  }
}

Result<Response> Connection::receive(HTTPClientSession& session, const Sink& sink, const OnHead& on_head) {
  Poco::Net::HTTPResponse answer;
  auto& in = session.receiveResponse(answer);
  Response response = head_of(answer);
  if (response.status >= 400) return refusal(in, response.status);
  std::int64_t received = 0;
  auto status = on_head ? on_head(response) : Status();
  if (status.ok()) status = drain(in, sink, received);
  if (status.ok() && answer.hasContentLength() && received != answer.getContentLength64()) {
    status = lost_error(endpoint_, "the answer ended early");
  }
  if (status.ok()) return response;
  drop();  // what wasn't read to its end would be taken for the next answer
  return std::move(status).error();
}

}  // namespace harena::client
