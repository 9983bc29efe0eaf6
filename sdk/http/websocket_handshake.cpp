#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "sdk/base/text.hpp"
#include "sdk/http/websocket.hpp"

namespace harena::http {
namespace {

Error no_handshake(std::string what) {
  return make_error(ErrorCode::invalid_argument, "not a WebSocket handshake: " + std::move(what));
}

std::string choose_protocol(const Headers& request, const std::vector<std::string>& ours) {
  const auto offered = request.tokens("Sec-WebSocket-Protocol");
  for (const auto& protocol : ours) {
    if (std::find(offered.begin(), offered.end(), protocol) != offered.end()) return protocol;
  }
  return {};
}

Status check_request(std::string_view method, const Headers& request) {
  if (method != "GET") return no_handshake("the method must be GET, not " + std::string(method));
  if (!request.has_token("Connection", "upgrade") || !request.has_token("Upgrade", "websocket")) {
    return no_handshake("'Connection: Upgrade' and 'Upgrade: websocket' are needed");
  }
  const auto version = request.get("Sec-WebSocket-Version").value_or("none");
  if (version != "13") return no_handshake("Sec-WebSocket-Version must be 13, not " + std::string(version));
  const auto key = base64_decode(request.get("Sec-WebSocket-Key").value_or(""));
  if (!key.ok() || key->size() != 16) return no_handshake("Sec-WebSocket-Key must be 16 bytes in base64");
  return ok_status();
}

}  // namespace

std::string websocket_accept(std::string_view key) {
  const auto text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 1.3
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return base64_encode({reinterpret_cast<const char*>(digest.data()), size});
}

Result<WebSocketAnswer> websocket_answer(std::string_view method, const Headers& request,
                                         const WebSocketOptions& options) {
  HARENA_TRY_STATUS(check_request(method, request));
  WebSocketAnswer answer;
  answer.protocol = choose_protocol(request, options.protocols);
  answer.headers.add("Connection", "Upgrade");
  answer.headers.add("Upgrade", "websocket");
  answer.headers.add("Sec-WebSocket-Accept", websocket_accept(*request.get("Sec-WebSocket-Key")));
  if (!answer.protocol.empty()) answer.headers.add("Sec-WebSocket-Protocol", answer.protocol);
  return answer;
}

}  // namespace harena::http
