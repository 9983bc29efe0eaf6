#include "core/cli/relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace harena::cli {

namespace {

constexpr std::size_t kHeldBytes = 64 * 1024;

/// One direction: what was read and not yet written.
struct Flow {
  std::array<char, kHeldBytes> bytes;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool source_ended = false;
  bool done = false;

  bool wants_to_read() const { return !source_ended && end < bytes.size(); }
  bool wants_to_write() const { return begin < end; }
  std::string_view waiting() const { return {bytes.data() + begin, end - begin}; }
  void wrote(std::size_t count) {
    begin += count;
    if (begin == end) begin = end = 0;
  }
};

Result<std::optional<std::size_t>> read_local(int fd, char* buffer, std::size_t size) {
  const auto count = ::recv(fd, buffer, size, 0);
  if (count >= 0) return std::optional(static_cast<std::size_t>(count));
  if (errno == EAGAIN || errno == EINTR) return std::optional<std::size_t>();
  return errno_error(errno, "reading from the local connection");
}

Result<std::size_t> write_local(int fd, std::string_view bytes) {
  const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return errno_error(errno, "writing to the local connection");
}

template <class Read, class Write, class Finish>
Status pump(Flow& flow, Read read, Write write, Finish finish) {
  if (flow.wants_to_read()) {
    HARENA_TRY(const auto count, read(flow.bytes.data() + flow.end, flow.bytes.size() - flow.end));
    if (count && *count == 0) flow.source_ended = true;
    flow.end += count.value_or(0);
  }
  while (flow.wants_to_write()) {
    HARENA_TRY(const std::size_t count, write(flow.waiting()));
    if (count == 0) break;
    flow.wrote(count);
  }
  if (flow.source_ended && !flow.wants_to_write() && !flow.done) {
    flow.done = true;
    finish();
  }
  return {};
}

short events_for(const Flow& in, const Flow& out) {
  return static_cast<short>((in.wants_to_read() ? POLLIN : 0) | (out.wants_to_write() ? POLLOUT : 0));
}

}  // namespace

Status relay(UniqueFd local, client::Tunnel& tunnel) {
  ::fcntl(local.get(), F_SETFL, ::fcntl(local.get(), F_GETFL) | O_NONBLOCK);
  Flow outward;  // local -> sandbox
  Flow inward;
  while (!outward.done || !inward.done) {
    std::array<pollfd, 2> waited = {pollfd{local.get(), events_for(outward, inward), 0},
                                    pollfd{tunnel.fd(), events_for(inward, outward), 0}};
    for (auto& one : waited) {
      if (one.events == 0) one.fd = -1;  // a hang-up that was seen already would wake us for ever
    }
    const bool ready = tunnel.pending() && inward.wants_to_read();
    if (::poll(waited.data(), waited.size(), ready ? 0 : -1) < 0 && errno != EINTR) return errno_error(errno, "poll");
    HARENA_TRY_STATUS(pump(
        outward, [&](char* buffer, std::size_t size) { return read_local(local.get(), buffer, size); },
        [&](std::string_view bytes) { return tunnel.write_some(bytes); }, [&] { tunnel.finish_writing(); }));
    HARENA_TRY_STATUS(pump(
        inward, [&](char* buffer, std::size_t size) { return tunnel.read_some(buffer, size); },
        [&](std::string_view bytes) { return write_local(local.get(), bytes); },
        [&] { ::shutdown(local.get(), SHUT_WR); }));
  }
  return {};
}

}  // namespace harena::cli
