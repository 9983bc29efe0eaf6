#include "sdk/session/tunnel/bridge.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "sdk/session/tunnel/peers.hpp"

namespace harena::session {
namespace {

// What an epoll event is about: one of these, or a stream (its id behind kStreamBit).
constexpr std::uint64_t kChannel = 1;
constexpr std::uint64_t kListener = 2;
constexpr std::uint64_t kTimer = 3;
constexpr std::uint64_t kWake = 4;
constexpr std::uint64_t kStreamBit = 1ull << 32;

constexpr std::size_t kReadBytes = 64 << 10;
/// The channel isn't read for longer than this in one turn.
constexpr int kReadsPerTurn = 64;
constexpr int kAcceptsPerTurn = 16;
constexpr std::int64_t kAcceptRestNs = 50'000'000;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void make_non_blocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

Result<UniqueFd> connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return make_error(ErrorCode::invalid_argument, "'" + path + "' is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket && ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  return infrastructure_error(ErrorCode::unavailable, "guest-session", std::string("the session endpoint doesn't accept: ") + std::strerror(errno));
}

bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::getuid();
}

class Bridge final : public ChannelBridge, private TunnelEvents, public PeerHost {
 public:
  Bridge(Side side, RandomSource* random) : random_(random), tunnel_(side, *this), side_(side) {}
  ~Bridge() override;
  Status open();
  void begin_guest(UniqueFd channel, std::string session_path, AgentHandler agent);

  int fd() const override { return epoll_.get(); }
  Status turn() override;
  void renew_channel(UniqueFd channel) override;
  void replace_channel(UniqueFd channel, LinkStart start) override;
  void close_channel() override { channel_.reset(); }
  bool has_channel() const override { return static_cast<bool>(channel_); }
  bool synced() const override { return channel_ && tunnel_.synced(); }
  void listen(UniqueFd listener) override;
  void stop_listening() override { listener_.reset(); }
  std::size_t connections() const override;
  void ask(FrameType type, std::string payload, std::int64_t timeout_ms, AgentReply reply) override;

 private:
  // TunnelEvents
  void on_open(StreamId stream, StreamKind kind) override;
  void on_data(StreamId stream, std::string_view bytes) override;
  void on_end(StreamId stream) override;
  void on_reset(StreamId stream, const Error& why) override;
  void on_writable(StreamId stream) override;
  void on_synced(LinkStart start) override;
  // PeerHost
  Tunnel& tunnel() override { return tunnel_; }
  void watch(StreamId stream, int fd, std::uint32_t events, bool first) override;
  void unwatch(int fd) override { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }
  void drop(StreamId stream) override;
  void defer(std::function<void()> action) override;

  void add(int fd, std::uint64_t what, std::uint32_t events);
  void handle(std::uint64_t what, std::uint32_t events);
  void read_channel();
  void flush_channel();
  void accept_some();
  bool accept_one();
  void agent_call(StreamId stream);
  void run_deferred();
  void run_timers();
  void after_ns(std::int64_t ns, std::function<void()> action);
  void set_timer();
  void wake();
  Peer* find(StreamId stream);

  RandomSource* random_;
  Tunnel tunnel_;
  const Side side_;
  UniqueFd epoll_, timer_, wake_, channel_, listener_;
  bool channel_more_ = false;
  std::string session_path_;
  AgentHandler agent_;
  std::map<StreamId, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> dropped_;
  std::vector<std::function<void()>> deferred_;
  std::multimap<std::int64_t, std::function<void()>> timers_;
  std::shared_ptr<Bridge*> self_ = std::make_shared<Bridge*>(this);
};

Bridge::~Bridge() {
  *self_ = nullptr;
  run_deferred();
  // An ask's last word may ask again: what is added meanwhile goes too.
  while (!peers_.empty()) auto gone = std::exchange(peers_, {});
  run_deferred();
}

Status Bridge::open() {
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !timer_ || !wake_) return errno_error(errno, "making the bridge's descriptors");
  add(timer_.get(), kTimer, EPOLLIN);
  add(wake_.get(), kWake, EPOLLIN);
  return {};
}

void Bridge::add(int fd, std::uint64_t what, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = what;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Bridge::watch(StreamId stream, int fd, std::uint32_t events, bool first) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = kStreamBit | stream;
  ::epoll_ctl(epoll_.get(), first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

// Edge-triggered: a virtio port whose host end is away (between two VMMs) is ready for errors all the time.
void Bridge::begin_guest(UniqueFd channel, std::string session_path, AgentHandler agent) {
  session_path_ = std::move(session_path);
  agent_ = std::move(agent);
  renew_channel(std::move(channel));
}

void Bridge::renew_channel(UniqueFd channel) {
  channel_ = std::move(channel);
  make_non_blocking(channel_.get());
  add(channel_.get(), kChannel, EPOLLIN | EPOLLOUT | EPOLLET);
}

void Bridge::replace_channel(UniqueFd channel, LinkStart start) {
  channel_ = std::move(channel);
  make_non_blocking(channel_.get());
  add(channel_.get(), kChannel, EPOLLIN | EPOLLOUT | EPOLLET);
  tunnel_.start(start, *random_);
  wake();
}

void Bridge::listen(UniqueFd listener) {
  listener_ = std::move(listener);
  make_non_blocking(listener_.get());
  add(listener_.get(), kListener, EPOLLIN);
}

std::size_t Bridge::connections() const {
  return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [](const auto& entry) {
    return dynamic_cast<const SocketPeer*>(entry.second.get()) != nullptr;
  }));
}

Status Bridge::turn() {
  std::array<epoll_event, 64> events;
  const bool was_broken = !tunnel_.broken().ok();
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) handle(events[static_cast<std::size_t>(i)].data.u64, events[static_cast<std::size_t>(i)].events);
  if (channel_more_) read_channel();
  run_timers();
  run_deferred();
  flush_channel();
  dropped_.clear();
  if (!was_broken && !tunnel_.broken().ok()) channel_.reset();
  return tunnel_.broken();
}

void Bridge::handle(std::uint64_t what, std::uint32_t events) {
  if ((what & kStreamBit) != 0) {
    if (auto* peer = find(static_cast<StreamId>(what))) peer->on_events(events);
    return;
  }
  std::uint64_t ignored = 0;
  switch (what) {
    case kChannel: return read_channel();
    case kListener: return accept_some();
    case kTimer: (void)!::read(timer_.get(), &ignored, sizeof ignored); return;
    default: (void)!::read(wake_.get(), &ignored, sizeof ignored); return;
  }
}

void Bridge::read_channel() {
  channel_more_ = false;
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerTurn && channel_; ++i) {
    const auto count = ::read(channel_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      // A port without its host end reads nothing until that comes back; a socket is at its end.
      if (side_ == Side::host) channel_.reset();
      return;
    }
    tunnel_.receive({buffer.data(), static_cast<std::size_t>(count)});
  }
  channel_more_ = static_cast<bool>(channel_);
  if (channel_more_) wake();
}

void Bridge::flush_channel() {
  while (channel_) {
    const auto bytes = tunnel_.output();
    if (bytes.empty()) break;
    const auto count = ::write(channel_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count < 0 && errno != EAGAIN && side_ == Side::host) channel_.reset();
      break;
    }
    tunnel_.sent(static_cast<std::size_t>(count));
    tunnel_.tell_writable();
  }
  tunnel_.tell_writable();
}

void Bridge::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (!accept_one()) return;
  }
}

bool Bridge::accept_one() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    // Who waits stays readable: without a pause this would be a busy loop until somebody closes something.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
    after_ns(kAcceptRestNs, [this] {
      if (listener_) add(listener_.get(), kListener, EPOLLIN);
    });
    return false;
  }
  if (!socket) return errno == ECONNABORTED || errno == EINTR;
  if (!is_own_user(socket.get())) return true;
  if (auto stream = tunnel_.open(StreamKind::session); stream.ok()) {
    peers_.emplace(*stream, std::make_unique<SocketPeer>(*this, *stream, std::move(socket), HangUp::cancels));
  }
  return true;
}

void Bridge::ask(FrameType type, std::string payload, std::int64_t timeout_ms, AgentReply reply) {
  auto stream = tunnel_.open(StreamKind::agent);
  if (!stream.ok()) return defer([reply = std::move(reply), error = stream.error()] { reply(error); });
  auto peer = std::make_unique<AskPeer>(*this, *stream, type, std::move(payload), now_ns(), std::move(reply));
  if (tunnel_.synced()) peer->begin(now_ns());
  peers_.emplace(*stream, std::move(peer));
  wake();
  if (timeout_ms <= 0) return;
  after_ns(timeout_ms * 1'000'000, [this, id = *stream, type, timeout_ms] {
    auto* ask = dynamic_cast<AskPeer*>(find(id));
    if (ask == nullptr) return;
    ask->fail(infrastructure_error(ErrorCode::deadline_exceeded, "guest-agent", "the guest didn't answer '" + to_string(type) + "' within " +
                                                                                    std::to_string(timeout_ms) + " ms"));
  });
}

void Bridge::on_open(StreamId stream, StreamKind kind) {
  if (kind == StreamKind::agent) return agent_call(stream);
  auto socket = connect_unix(session_path_);
  if (!socket.ok()) return tunnel_.reset(stream, socket.error());
  peers_.emplace(stream, std::make_unique<SocketPeer>(*this, stream, *std::move(socket), HangUp::delivers));
}

void Bridge::on_synced(LinkStart) {
  for (auto& [stream, peer] : peers_) {
    if (auto* ask = dynamic_cast<AskPeer*>(peer.get())) ask->begin(now_ns());
  }
}

void Bridge::agent_call(StreamId stream) {
  auto reply = [self = self_, stream](Result<std::string> result) {
    if (*self == nullptr) return;
    if (auto* call = dynamic_cast<CallPeer*>((*self)->find(stream))) {
      call->reply(result);
      (*self)->wake();
    }
  };
  auto handler = [this, reply](FrameType type, std::string payload) { agent_(type, std::move(payload), reply); };
  peers_.emplace(stream, std::make_unique<CallPeer>(*this, stream, handler));
}

void Bridge::on_data(StreamId stream, std::string_view bytes) {
  if (auto* peer = find(stream)) return peer->on_data(bytes);
  tunnel_.consumed(stream, bytes.size());
}

void Bridge::on_end(StreamId stream) {
  if (auto* peer = find(stream)) peer->on_end();
}

void Bridge::on_reset(StreamId stream, const Error& why) {
  if (auto* peer = find(stream)) peer->on_reset(why);
}

void Bridge::on_writable(StreamId stream) {
  if (auto* peer = find(stream)) peer->on_writable();
}

Peer* Bridge::find(StreamId stream) {
  auto it = peers_.find(stream);
  return it == peers_.end() ? nullptr : it->second.get();
}

void Bridge::drop(StreamId stream) {
  auto node = peers_.extract(stream);
  if (!node.empty()) dropped_.push_back(std::move(node.mapped()));
}

void Bridge::defer(std::function<void()> action) {
  deferred_.push_back(std::move(action));
  wake();
}

void Bridge::run_deferred() {
  while (!deferred_.empty()) {
    for (auto& action : std::exchange(deferred_, {})) action();
  }
}

void Bridge::after_ns(std::int64_t ns, std::function<void()> action) {
  timers_.emplace(now_ns() + ns, std::move(action));
  set_timer();
}

void Bridge::run_timers() {
  if (timers_.empty() || timers_.begin()->first > now_ns()) return;
  while (!timers_.empty() && timers_.begin()->first <= now_ns()) timers_.extract(timers_.begin()).mapped()();
  set_timer();
}

void Bridge::set_timer() {
  itimerspec when{};
  if (!timers_.empty()) {
    when.it_value.tv_sec = timers_.begin()->first / 1'000'000'000;
    when.it_value.tv_nsec = timers_.begin()->first % 1'000'000'000;
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Bridge::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

}  // namespace

Result<std::unique_ptr<ChannelBridge>> ChannelBridge::on_host(RandomSource& random) {
  auto bridge = std::make_unique<Bridge>(Side::host, &random);
  HARENA_TRY_STATUS(bridge->open());
  return std::unique_ptr<ChannelBridge>(std::move(bridge));
}

Result<std::unique_ptr<ChannelBridge>> ChannelBridge::in_guest(UniqueFd channel, std::string session_path, AgentHandler agent) {
  auto bridge = std::make_unique<Bridge>(Side::guest, nullptr);
  HARENA_TRY_STATUS(bridge->open());
  bridge->begin_guest(std::move(channel), std::move(session_path), std::move(agent));
  return std::unique_ptr<ChannelBridge>(std::move(bridge));
}

}  // namespace harena::session
