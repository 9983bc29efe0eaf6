#include "plugins/microvm/machine/firecracker_api.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include "plugins/microvm/machine/ticker.hpp"

namespace harena::microvm {
namespace {

namespace http = boost::beast::http;

/// How often it is looked whether the socket is there.
constexpr std::int64_t kLookNs = 2'000'000;
/// Of what Firecracker says in an error message of ours.
constexpr std::size_t kMostFaultBytes = 2000;

std::string request_text(const std::string& method, const std::string& path, const json& body) {
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(path);
  request.version(11);
  request.set(http::field::host, "localhost");
  request.set(http::field::accept, "application/json");
  request.keep_alive(false);
  if (!body.is_null()) {
    request.set(http::field::content_type, "application/json");
    request.body() = body.dump();
  }
  request.prepare_payload();
  std::ostringstream text;
  text << request;
  return text.str();
}

Error lost(const std::string& why) { return infrastructure_error(ErrorCode::unavailable, "vmm", "Firecracker's API: " + why); }

/// One request and its answer.
class Exchange {
 public:
  Exchange(vmm::EventLoop& loop, UniqueFd socket, std::string text) : loop_(loop), socket_(std::move(socket)), out_(std::move(text)) {
    parser_.header_limit(8 << 10);
    parser_.body_limit(kMaxFirecrackerAnswerBytes);
  }
  ~Exchange() { loop_.unwatch(socket_.get()); }

  Status run(std::int64_t deadline_ns, const std::string& what) {
    HARENA_TRY_STATUS(loop_.watch(socket_.get(), EPOLLIN | EPOLLOUT, [this](std::uint32_t events) { on_ready(events); }));
    HARENA_TRY_STATUS(loop_.run_until([this] { return parser_.is_done() || broken_.has_value(); }, deadline_ns, what));
    return broken_ ? Status(*broken_) : Status();
  }
  const http::response<http::string_body>& answer() const { return parser_.get(); }

 private:
  void on_ready(std::uint32_t events) {
    if ((events & EPOLLOUT) != 0 && sent_ < out_.size()) send();
    if (!broken_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
  }
  void send() {
    const ssize_t put = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno != EAGAIN && errno != EINTR) return break_off(std::strerror(errno));
    if (put > 0) sent_ += static_cast<std::size_t>(put);
    if (sent_ == out_.size()) (void)loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t ready) { on_ready(ready); });
  }
  void receive() {
    std::array<char, 4096> bytes;
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return break_off(std::strerror(errno));
    in_.append(bytes.data(), static_cast<std::size_t>(got));
    boost::system::error_code failed;
    while (!in_.empty() && !parser_.is_done()) {
      const std::size_t used = parser_.put(boost::asio::buffer(in_), failed);
      in_.erase(0, used);
      if (failed == http::error::need_more || (used == 0 && !failed)) break;
      if (failed) return break_off("its answer isn't HTTP that fits: " + failed.message());
    }
    if (got == 0 && !parser_.is_done()) {
      if (parser_.got_some()) parser_.put_eof(failed);  // which it takes for a bug of ours otherwise
      if (failed || !parser_.is_done()) break_off("it closed the connection without an answer");
    }
  }
  void break_off(const std::string& why) {
    broken_ = lost(why);
    loop_.unwatch(socket_.get());
  }

  vmm::EventLoop& loop_;
  UniqueFd socket_;
  std::string out_, in_;
  std::size_t sent_ = 0;
  http::response_parser<http::string_body> parser_;
  std::optional<Error> broken_;
};

}  // namespace

Result<UniqueFd> connect_in_folder(int folder, const std::string& name) {
  const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return make_error(ErrorCode::invalid_argument, "the name " + name + " is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  if (errno == ENOENT) return make_error(ErrorCode::not_found, "there is no socket " + name);
  return make_error(ErrorCode::unavailable, "nobody accepts on " + name + ": " + std::strerror(errno));
}

Status FirecrackerApi::await(const std::function<std::string()>& ended, std::int64_t deadline_ns) {
  bool there = false;
  std::string how;
  const auto look = [&] {
    there = connect_in_folder(folder_.get(), name_).ok();
    if (!there) how = ended();
  };
  look();
  Ticker ticker(loop_);
  HARENA_TRY_STATUS(ticker.start(kLookNs, look));
  HARENA_TRY_STATUS(loop_.run_until([&] { return there || !how.empty(); }, deadline_ns, "Firecracker's API socket"));
  return there ? Status() : Status(infrastructure_error(ErrorCode::unavailable, "vmm", "the VMM ended before it listened on its API socket: " + how));
}

Result<json> FirecrackerApi::call(const std::string& method, const std::string& path, const json& body, std::int64_t deadline_ns) {
  auto socket = connect_in_folder(folder_.get(), name_);
  if (!socket.ok()) return lost(socket.error().message);
  Exchange exchange(loop_, *std::move(socket), request_text(method, path, body));
  const std::string what = "Firecracker's answer to " + method + " " + path;
  if (Status came = exchange.run(deadline_ns, what); !came.ok()) return std::move(came).error().during(what);
  const auto& answer = exchange.answer();
  const json document = answer.body().empty() ? json() : json::parse(answer.body(), nullptr, false);
  if (answer.result_int() >= 200 && answer.result_int() < 300) {
    if (document.is_discarded()) return lost("its answer to " + method + " " + path + " isn't JSON");
    return document;
  }
  const auto fault = document.is_object() ? document.find("fault_message") : document.end();
  std::string words = document.is_object() && fault != document.end() && fault->is_string() ? fault->get<std::string>() : answer.body();
  return make_error(ErrorCode::failed_precondition, "Firecracker refuses " + method + " " + path + " (" + std::to_string(answer.result_int()) +
                                                        "): " + words.substr(0, kMostFaultBytes));
}

}  // namespace harena::microvm
