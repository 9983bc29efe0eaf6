#include "sdk/client/ports.hpp"

#include <algorithm>
#include <istream>
#include <iterator>

#include <Poco/Buffer.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/StreamSocket.h>

namespace harena::client {

namespace {

Error lost(const std::string& why) {
  return infrastructure_error(ErrorCode::unavailable, kConnectionLost, "the connection to the port was lost: " + why);
}

Error refusal(std::istream& in, int status) {
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto body = json::parse(text, nullptr, false);
  return error_from_json(body.is_object() ? body.value("error", json()) : json(), status);
}

}  // namespace

struct Tunnel::State {
  std::unique_ptr<Poco::Net::HTTPClientSession> session;
  Poco::Net::StreamSocket socket;
  std::string early;  // arrived together with the answer's head
};

Tunnel::Tunnel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tunnel::~Tunnel() = default;

Result<std::unique_ptr<Tunnel>> Tunnel::open(Client& client, const std::string& sandbox_id, std::uint16_t port) try {
  const auto& endpoint = client.connection().endpoint();
  auto state = std::make_unique<State>();
  state->session = client.connection().fresh_session();
  const auto target = endpoint.base_path + "/sandboxes/" + segment(sandbox_id) + "/ports/" + std::to_string(port);
  Poco::Net::HTTPRequest request("GET", target, Poco::Net::HTTPMessage::HTTP_1_1);
  request.set("Authorization", "Bearer " + endpoint.token);
  request.set("Connection", "Upgrade");
  request.set("Upgrade", "tcp");
  state->session->sendRequest(request);
  Poco::Net::HTTPResponse response;
  auto& in = state->session->receiveResponse(response);
  const int status = static_cast<int>(response.getStatus());
  if (status != 101) return refusal(in, status);
  Poco::Buffer<char> early(0);
  state->session->drainBuffer(early);
  state->early.assign(early.begin(), early.size());
  state->socket = state->session->detachSocket();
  state->socket.setBlocking(false);
  return std::unique_ptr<Tunnel>(new Tunnel(std::move(state)));
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

int Tunnel::fd() const { return state_->socket.impl()->sockfd(); }

bool Tunnel::pending() const { return !state_->early.empty() || (state_->socket.secure() && state_->socket.available() > 0); }

Result<std::optional<std::size_t>> Tunnel::read_some(char* buffer, std::size_t size) try {
  if (!state_->early.empty()) {
    const auto count = state_->early.copy(buffer, size);
    state_->early.erase(0, count);
    return std::optional(count);
  }
  const int count = state_->socket.receiveBytes(buffer, static_cast<int>(size));
  if (count < 0) return std::optional<std::size_t>();
  return std::optional(static_cast<std::size_t>(count));
} catch (const Poco::TimeoutException&) {
  return std::optional<std::size_t>();
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

Result<std::size_t> Tunnel::write_some(std::string_view bytes) try {
  const int count = state_->socket.sendBytes(bytes.data(), static_cast<int>(bytes.size()));
  return static_cast<std::size_t>(std::max(count, 0));
} catch (const Poco::TimeoutException&) {
  return std::size_t{0};
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

void Tunnel::finish_writing() {
  try {
    state_->socket.shutdownSend();
  } catch (const Poco::Exception&) {
    // The peer is gone: there is nothing left to finish.
  }
}

}  // namespace harena::client
