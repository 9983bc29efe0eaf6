// Our WebSocket against Beast's, both roles, and against bytes that no peer should send.
#include "sdk/http/websocket.hpp"

#include <gtest/gtest.h>

#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "sdk/http/test_support.hpp"
#include "sdk/http/websocket_frame.hpp"

namespace harena::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Kind = WebSocketMessage::Kind;
using BeastSocket = beast::websocket::stream<asio::ip::tcp::socket>;

Task<Status> echo(Request&, ResponseWriter& response) {
  WebSocketOptions options;
  options.protocols = {"chat.v2", "chat.v1"};
  options.max_message_bytes = 2 << 20;
  HARENA_CO_TRY(auto socket, co_await response.accept_websocket(options));
  while (true) {
    HARENA_CO_TRY(auto message, co_await socket->receive());
    if (message.kind == Kind::closed) co_return ok_status();
    HARENA_CO_TRY_STATUS(co_await socket->send(message.kind, message.data));
  }
}

class BeastClient {
 public:
  explicit BeastClient(std::uint16_t port, const char* protocols = nullptr) : socket(context) {
    socket.next_layer().connect({asio::ip::address_v4::loopback(), port});
    if (protocols != nullptr) {
      socket.set_option(beast::websocket::stream_base::decorator([protocols](beast::websocket::request_type& request) {
        request.set("Sec-WebSocket-Protocol", protocols);
      }));
    }
    socket.handshake(answer, "x", "/");
  }
  std::string read() {
    beast::flat_buffer buffer;
    socket.read(buffer);
    return beast::buffers_to_string(buffer.data());
  }
  asio::io_context context;
  BeastSocket socket;
  beast::websocket::response_type answer;
};

TEST(WebSocket, EchoesMessagesAndFragments) {
  TestServer server(echo);
  BeastClient client(server.port());
  client.socket.text(true);
  client.socket.write(asio::buffer(std::string("grüße")));
  EXPECT_EQ(client.read(), "grüße");
  EXPECT_TRUE(client.socket.got_text());
  client.socket.binary(true);
  client.socket.write_some(false, asio::buffer(std::string("one ")));
  client.socket.ping("between fragments");
  client.socket.write_some(false, asio::buffer(std::string("")));
  client.socket.write_some(true, asio::buffer(std::string("two\0\xff", 5)));
  EXPECT_EQ(client.read(), std::string("one two\0\xff", 9));
  EXPECT_TRUE(client.socket.got_binary());
  for (const std::size_t size : {0u, 125u, 126u, 65535u, 65536u, 2u << 20}) {
    const std::string big(size, 'z');
    client.socket.write(asio::buffer(big));
    EXPECT_EQ(client.read(), big) << size;
  }
}

TEST(WebSocket, AnswersPingsAndClose) {
  TestServer server(echo);
  BeastClient client(server.port());
  std::string pong;
  client.socket.control_callback([&](beast::websocket::frame_type kind, beast::string_view data) {
    if (kind == beast::websocket::frame_type::pong) pong = data;
  });
  client.socket.ping("are you there");
  client.socket.write(asio::buffer(std::string("x")));
  client.read();
  EXPECT_EQ(pong, "are you there");
  client.socket.close(beast::websocket::close_reason(static_cast<beast::websocket::close_code>(4321), "enough"));
  EXPECT_EQ(client.socket.reason().code, 4321);
}

TEST(WebSocket, AgreesOnASubProtocol) {
  TestServer server(echo);
  BeastClient client(server.port(), "chat.v1, chat.v2");
  EXPECT_EQ(client.answer["Sec-WebSocket-Protocol"], "chat.v2");
  BeastClient other(server.port(), "unknown");
  EXPECT_EQ(other.answer.count("Sec-WebSocket-Protocol"), 0u);
}

TEST(WebSocket, RefusesOtherRequestsWithAReason) {
  TestServer server(echo);
  EXPECT_EQ(server.fetch({}).status, 400);
  EXPECT_THAT(server.fetch({}).body, testing::HasSubstr("'Upgrade: websocket'"));
}

// Frames as bytes, masked with zeros so that they can be read here.
std::string frame(unsigned first, std::string_view payload) {
  std::string out;
  out += static_cast<char>(first);
  out += static_cast<char>(0x80 | payload.size());
  out += std::string(4, '\0');
  return out.append(payload);
}

std::string close_frame_for(const std::string& bytes) {
  static const std::string kHandshake =
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  TestServer server(echo);
  RawClient client(server.port());
  client.send(kHandshake + bytes);
  client.read_until("\r\n\r\n");
  return client.read_to_end();
}

std::uint16_t close_code_for(const std::string& bytes) {
  const auto answer = close_frame_for(bytes);
  if (answer.size() < 4 || static_cast<unsigned char>(answer[0]) != 0x88) return 0;
  return static_cast<std::uint16_t>((static_cast<unsigned char>(answer[2]) << 8) | static_cast<unsigned char>(answer[3]));
}

TEST(WebSocket, TellsAPeerWhatItDidWrong) {
  EXPECT_EQ(close_code_for(frame(0x83, "x")), 1002);                          // reserved opcode
  EXPECT_EQ(close_code_for(frame(0xc2, "x")), 1002);                          // reserved bit
  EXPECT_EQ(close_code_for(frame(0x80, "x")), 1002);                          // continuation of nothing
  EXPECT_EQ(close_code_for(frame(0x02, "x") + frame(0x82, "y")), 1002);       // a second message inside the first
  EXPECT_EQ(close_code_for(frame(0x09, "x")), 1002);                          // fragmented ping
  EXPECT_EQ(close_code_for("\x82\x01x"), 1002);                               // not masked
  EXPECT_EQ(close_code_for(frame(0x88, "x")), 1002);                          // half a close code
  EXPECT_EQ(close_code_for(frame(0x88, std::string("\x03\xee", 2))), 1002);   // 1006 isn't sent
  EXPECT_EQ(close_code_for(frame(0x81, "\xff\xfe")), 1007);                   // not UTF-8
  EXPECT_EQ(close_code_for(std::string("\x82\xff\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00", 14)), 1009);
  EXPECT_EQ(close_code_for(frame(0x88, "")), 0);  // an empty close is answered by an empty close
}

TEST(WebSocket, TheHandshakeIsThatOfTheRfc) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocket, OurClientTalksToOurServer) {
  TestServer server(echo);
  auto talk = [](Endpoint endpoint) -> Task<std::string> {
    auto stream = co_await connect(endpoint);
    WebSocketOptions options;
    options.protocols = {"chat.v1"};
    auto socket = co_await connect_websocket(std::move(*stream), "/", Headers(), options);
    if (!socket.ok()) co_return socket.error().describe();
    EXPECT_EQ((*socket)->protocol(), "chat.v1");
    EXPECT_TRUE((co_await (*socket)->send_fragment(Kind::text, "a", false)).ok());
    EXPECT_TRUE((co_await (*socket)->send_fragment(Kind::text, "b", true)).ok());
    auto echoed = co_await (*socket)->receive();
    EXPECT_TRUE((co_await (*socket)->close(1000, "bye")).ok());
    auto closed = co_await (*socket)->receive();
    EXPECT_EQ(closed->close_code, 1000);
    co_return echoed->data;
  };
  EXPECT_EQ(run_on(server.io(), talk(server.endpoint())), "ab");
}

TEST(WebSocketFrame, HeadersRoundTrip) {
  for (const std::uint64_t length : {0ull, 125ull, 126ull, 65535ull, 65536ull, 1ull << 40}) {
    for (const bool masked : {false, true}) {
      FrameHeader header{true, Opcode::binary, std::nullopt, length};
      if (masked) header.mask = std::array{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
      const auto bytes = encode_frame_header(header);
      for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        EXPECT_FALSE(decode_frame_header(std::as_bytes(std::span(bytes).first(cut)))->has_value());
      }
      const auto decoded = *decode_frame_header(std::as_bytes(std::span(bytes)));
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->header.length, length);
      EXPECT_EQ(decoded->header.mask, header.mask);
      EXPECT_EQ(decoded->size, bytes.size());
    }
  }
}

}  // namespace
}  // namespace harena::http
