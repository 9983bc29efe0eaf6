#include "sdk/client/attach.hpp"

#include <Poco/Buffer.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/Net/NetException.h>
#include <Poco/Net/WebSocket.h>

namespace harena::client {

using Poco::Net::WebSocket;

namespace {

constexpr int kPong = static_cast<int>(WebSocket::FRAME_FLAG_FIN) | static_cast<int>(WebSocket::FRAME_OP_PONG);

Error lost(const std::string& why) {
  return infrastructure_error(ErrorCode::unavailable, kConnectionLost, "the terminal's connection was lost: " + why);
}

}  // namespace

struct Attachment::State {
  std::unique_ptr<Poco::Net::HTTPClientSession> session;
  std::unique_ptr<WebSocket> socket;
};

Attachment::Attachment(std::unique_ptr<State> state) : state_(std::move(state)) {}
Attachment::~Attachment() = default;

Result<std::unique_ptr<Attachment>> Attachment::open(Client& client, const Commands& commands,
                                                     const std::string& command_id, std::int64_t offset) {
  const auto path = commands.path_of(command_id);
  return connect(client, path + "/attach" + query({{"stdout_offset", std::to_string(offset)}}), path);
}

Result<std::unique_ptr<Attachment>> Attachment::open_console(Client& client, const std::string& sandbox_id) {
  const auto path = "/sandboxes/" + segment(sandbox_id) + "/console";
  return connect(client, path, path);
}

Result<std::unique_ptr<Attachment>> Attachment::connect(Client& client, const std::string& target, const std::string& asked_instead) {
  const auto& endpoint = client.connection().endpoint();
  auto state = std::make_unique<State>();
  Poco::Net::HTTPResponse response;
  try {
    state->session = client.connection().fresh_session();
    Poco::Net::HTTPRequest request("GET", endpoint.base_path + target, Poco::Net::HTTPMessage::HTTP_1_1);
    request.set("Authorization", "Bearer " + endpoint.token);
    state->socket = std::make_unique<WebSocket>(*state->session, request, response);
    state->socket->setReceiveTimeout(Poco::Timespan(0));
    state->socket->setMaxPayloadSize(8 * 1024 * 1024);
    return std::unique_ptr<Attachment>(new Attachment(std::move(state)));
  } catch (const Poco::Net::WebSocketException&) {
    // Poco reads the answer's head only; asking in the ordinary way gets the sentence.
    HARENA_TRY_STATUS(client.get(asked_instead));
    return lost("the server answered HTTP " + std::to_string(static_cast<int>(response.getStatus())) + " to the WebSocket");
  } catch (const Poco::Exception& error) {
    return lost(error.displayText());
  }
}

int Attachment::fd() const { return state_->socket->impl()->sockfd(); }
bool Attachment::pending() const { return state_->socket->available() > 0; }

Result<std::optional<Attachment::Message>> Attachment::receive() try {
  Poco::Buffer<char> buffer(0);
  int flags = 0;
  const int size = state_->socket->receiveFrame(buffer, flags);
  const std::string_view bytes(buffer.begin(), buffer.size());
  const int opcode = flags & WebSocket::FRAME_OP_BITMASK;
  if ((size == 0 && flags == 0) || opcode == WebSocket::FRAME_OP_CLOSE) return lost("the server closed it");
  if (opcode == WebSocket::FRAME_OP_PING) {
    state_->socket->sendFrame(bytes.data(), static_cast<int>(bytes.size()), kPong);
    return std::optional<Message>();
  }
  if (opcode == WebSocket::FRAME_OP_BINARY || opcode == WebSocket::FRAME_OP_CONT) {
    return std::optional(Message{std::string(bytes), std::nullopt});
  }
  if (opcode != WebSocket::FRAME_OP_TEXT) return std::optional<Message>();
  HARENA_TRY(const auto event, parse_json(bytes));
  if (event.contains("error")) return error_from_json(event["error"], 0);
  if (!event.contains("exit")) return std::optional<Message>();
  return std::optional(Message{"", ExitStatus::from_json(event["exit"])});
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

Status Attachment::send_input(std::string_view bytes) try {
  state_->socket->sendFrame(bytes.data(), static_cast<int>(bytes.size()), WebSocket::FRAME_BINARY);
  return {};
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

Status Attachment::send_resize(PtySize size) { return send_text({{"resize", {{"rows", size.rows}, {"cols", size.cols}}}}); }
Status Attachment::send_eof() { return send_text({{"eof", true}}); }

Status Attachment::send_text(const json& message) try {
  const auto text = message.dump();
  state_->socket->sendFrame(text.data(), static_cast<int>(text.size()), WebSocket::FRAME_TEXT);
  return {};
} catch (const Poco::Exception& error) {
  return lost(error.displayText());
}

}  // namespace harena::client
