#include "sdk/vmm/qmp_client.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace harena::vmm {
namespace {

Error gone(const std::string& why) { return infrastructure_error(ErrorCode::unavailable, "vmm", "the connection to QEMU: " + why); }

}  // namespace

Result<std::unique_ptr<QmpClient>> QmpClient::start(EventLoop& loop, UniqueFd socket, std::int64_t deadline_ns) {
  std::unique_ptr<QmpClient> client(new QmpClient(loop, std::move(socket)));
  HARENA_TRY_STATUS(client->watch());
  HARENA_TRY_STATUS(client->greet(deadline_ns));
  return client;
}

QmpClient::~QmpClient() { loop_.unwatch(socket_.get()); }

Status QmpClient::watch() {
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

Status QmpClient::greet(std::int64_t deadline_ns) {
  HARENA_TRY_STATUS(loop_.run_until([this] { return greeting_ || broken_; }, deadline_ns, "QEMU's greeting"));
  if (broken_) return *broken_;
  const json version = greeting_->at("QMP").value("version", json::object()).value("qemu", json::object());
  version_ = std::to_string(version.value("major", 0)) + "." + std::to_string(version.value("minor", 0)) + "." +
             std::to_string(version.value("micro", 0));
  HARENA_TRY_STATUS(execute("qmp_capabilities", json::object(), deadline_ns));
  return {};
}

void QmpClient::break_off(Error why) {
  if (!broken_) broken_ = std::move(why);
  loop_.unwatch(socket_.get());
}

void QmpClient::on_readable() {
  char bytes[16 << 10];
  const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return break_off(gone(got == 0 ? "closed" : std::strerror(errno)));
  std::size_t looked = in_.size();
  in_.append(bytes, static_cast<std::size_t>(got));
  for (std::size_t end; !broken_ && (end = in_.find('\n', looked)) != std::string::npos; looked = 0) {
    take_line(in_.substr(0, end));
    in_.erase(0, end + 1);
  }
  if (in_.size() > kMaxQmpLineBytes) break_off(gone("a line of more than " + std::to_string(kMaxQmpLineBytes) + " bytes"));
}

void QmpClient::take_line(const std::string& line) {
  json document = json::parse(line, nullptr, false);
  if (!document.is_object()) return break_off(gone("a line that isn't a JSON object"));
  if (document.contains("event") && document["event"].is_string()) {
    const auto name = document["event"].get<std::string>();
    if (events_.size() >= kMaxQmpEvents && events_.count(name) == 0) return;
    ++events_[name].count;
    events_[name].data = document.value("data", json());
  } else if (document.contains("QMP") && document["QMP"].is_object()) {
    if (!greeting_) greeting_ = std::move(document);
  } else if (document.contains("id") && document["id"] == last_id_ && !reply_) {
    reply_ = std::move(document);
  } else if (!document.contains("id") || !document["id"].is_number_unsigned() || document["id"] > last_id_) {
    break_off(gone("an answer to nothing that was asked"));
  }  // else: of a command whose caller didn't wait for it
}

Status QmpClient::send(const std::string& text, std::span<const int> fds) const {
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  // Commands are a few hundred bytes and one at a time: a socket that doesn't take one is of a QEMU that reads nothing.
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(text.size())) return {};
  return gone(sent < 0 ? std::strerror(errno) : "it doesn't read");
}

Result<json> QmpClient::execute(const std::string& command, const json& arguments, std::int64_t deadline_ns, std::span<const int> fds) {
  if (broken_) return *broken_;
  if (fds.size() > 8) return make_error(ErrorCode::internal, "a QMP command takes 8 descriptors at most");
  reply_.reset();
  json request = {{"execute", command}, {"id", ++last_id_}};
  if (!arguments.empty()) request["arguments"] = arguments;
  HARENA_TRY_STATUS(send(request.dump() + "\n", fds));
  HARENA_TRY_STATUS(loop_.run_until([this] { return reply_ || broken_; }, deadline_ns, "QEMU's answer to " + command));
  if (!reply_) return *broken_;
  json answer = *std::move(reply_);
  if (answer.contains("return")) return answer["return"];
  const json error = answer.value("error", json::object());
  const std::string why = error.is_object() && error.contains("desc") && error["desc"].is_string() ? error["desc"].get<std::string>() : "?";
  return infrastructure_error(ErrorCode::failed_precondition, "vmm", "QEMU refused " + command + ": " + why.substr(0, 500));
}

int QmpClient::event_count(const std::string& name) const {
  const auto found = events_.find(name);
  return found == events_.end() ? 0 : found->second.count;
}

json QmpClient::last_event(const std::string& name) const {
  const auto found = events_.find(name);
  return found == events_.end() ? json() : found->second.data;
}

}  // namespace harena::vmm
