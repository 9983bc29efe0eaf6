#include <arpa/inet.h>
#include <sys/socket.h>

#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

class Dial : public SessionTest {};

UniqueFd listen_on(int family, std::uint16_t& port, std::uint32_t v4_address = INADDR_LOOPBACK) {
  UniqueFd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(v4_address);
  auto* address = family == AF_INET ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
  socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
  if (::bind(listener.get(), address, size) != 0 || ::listen(listener.get(), 8) != 0) return {};
  ::getsockname(listener.get(), address, &size);
  port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
  return listener;
}

TEST_F(Dial, BytesBothWaysWithHalfClose) {
  for (int family : {AF_INET, AF_INET6}) {
    std::uint16_t port = 0;
    auto listener = listen_on(family, port);
    if (!listener) continue;  // no IPv6 here
    auto task = [&]() -> Task<Result<std::string>> {
      DialRequest request;
      request.port = port;
      HARENA_CO_TRY(auto stream, co_await client.dial(request));
      UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
      HARENA_CO_TRY_STATUS(co_await stream->write("ping"));
      HARENA_CO_TRY_STATUS(co_await stream->shutdown_write());
      std::string buffer(16, '\0');
      auto got = ::recv(peer.get(), buffer.data(), buffer.size(), MSG_WAITALL);
      (void)!::send(peer.get(), buffer.data(), static_cast<std::size_t>(got), 0);
      peer.reset();
      std::vector<std::byte> answer(16);
      HARENA_CO_TRY(auto size, co_await stream->read(answer));
      co_return std::string(reinterpret_cast<char*>(answer.data()), size);
    };
    auto answer = await(task());
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(*answer, "ping");
  }
}

// Neither 127.0.0.1 nor every address: the kernel is asked where the port is.
TEST_F(Dial, LocalhostReachesAnyOwnAddress) {
  std::uint16_t port = 0;
  auto listener = listen_on(AF_INET, port, INADDR_LOOPBACK + 6);
  ASSERT_TRUE(listener);
  DialRequest request;
  request.port = port;
  auto stream = await(client.dial(request));
  ASSERT_TRUE(stream) << stream.error().describe();
}

TEST_F(Dial, ClosedPortAndForeignAddressAreTyped) {
  std::uint16_t port = 0;
  { auto gone = listen_on(AF_INET, port); }
  DialRequest request;
  request.port = port;
  auto closed = await(client.dial(request));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::unavailable);
  EXPECT_EQ(closed.error().cause_detail, "port_closed");
  request.host = "192.0.2.1";
  EXPECT_EQ(await(client.dial(request)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(must_run(argv({"true"})).exit.code, 0);
}

}  // namespace
}  // namespace harena::session
