#include "guest/identity.hpp"

#include <fcntl.h>
#include <linux/random.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

#include "guest/clone_hooks.hpp"
#include "guest/network.hpp"
#include "sdk/base/text.hpp"
#include "sdk/session/hello.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/packets.hpp"
#include "sdk/support/sandbox_root.hpp"

namespace harena::guest {
namespace {

using session::GuestIdentity;

constexpr std::size_t kLeastEntropyBytes = 32;
constexpr std::size_t kMaxHostnameBytes = 64;

constexpr const char* kHostnameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

bool is_hostname(const std::string& name) {
  return name.size() <= kMaxHostnameBytes && name.find_first_not_of(kHostnameLetters) == std::string::npos;
}

Error bad_identity(const std::string& what, const std::string& value, const std::string& right) {
  return make_error(ErrorCode::invalid_argument, what + " '" + value + "': " + right);
}

std::string resolver_text(const GuestIdentity& identity) {
  std::string text;
  if (identity.network) {
    for (const auto& server : identity.network->nameservers) text += "nameserver " + server + "\n";
  }
  return text.empty() ? "# no network\n" : text;
}

/// Below the sandbox's root, never through a link of the image.
Result<UniqueFd> open_etc(int root) {
  if (::mkdirat(root, "etc", 0755) == 0 && ::fchownat(root, "etc", kDefaultIdBase, kDefaultIdBase, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(errno, "chown /etc");
  }
  return open_directory(root, "etc");
}

/// In a child of the agent: into the sandbox's namespaces, where names have their place. The names of its hooks, each with its newline.
Result<std::string> rename_inside(const GuestIdentity& identity, int init_pidfd) {
  if (::setns(init_pidfd, CLONE_NEWNS | CLONE_NEWUTS) != 0) return errno_error(errno, "enter the sandbox");
  if (!identity.hostname.empty() && ::sethostname(identity.hostname.data(), identity.hostname.size()) != 0) return errno_error(errno, "sethostname");
  HARENA_TRY(UniqueFd root, open_directory(AT_FDCWD, "/"));
  HARENA_TRY_STATUS(write_names(root.get(), identity));
  std::string hooks;
  for (const auto& name : find_clone_hooks(root.get())) hooks += name + "\n";
  return hooks;
}

/// What `work` says there.
Result<std::string> in_a_child(const std::function<Result<std::string>()>& work) {
  HARENA_TRY(auto report, make_packet_pair());
  const pid_t child = ::fork();
  if (child < 0) return errno_error(errno, "fork");
  if (child == 0) {
    auto said = work();
    (void)send_packet(report.second.get(), said.ok() ? "o" + *said : "E" + session::encode_error(said.error()));
    ::_exit(0);
  }
  report.second.reset();
  auto packet = receive_packet(report.first.get());
  ::waitpid(child, nullptr, 0);
  if (!packet.ok()) return make_error(ErrorCode::internal, "the helper that enters the sandbox has died");
  if (packet->bytes.starts_with('o')) return packet->bytes.substr(1);
  return session::decode_error(std::string_view(packet->bytes).substr(1));
}

}  // namespace

Status check_identity(const GuestIdentity& identity) {
  if (!is_hostname(identity.hostname)) return bad_identity("hostname", identity.hostname, "at most 64 letters, digits, dashes and dots are right");
  if (!identity.machine_id.empty() &&
      (identity.machine_id.size() != 32 || identity.machine_id.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    return bad_identity("machine_id", identity.machine_id, "32 lower-case hexadecimal digits are right");
  }
  if (!identity.entropy.empty() && identity.entropy.size() < kLeastEntropyBytes) {
    return bad_identity("entropy", std::to_string(identity.entropy.size()) + " bytes", "32 or more are right");
  }
  if (identity.wall_ns < 0) return bad_identity("wall_ns", std::to_string(identity.wall_ns), "nanoseconds since 1970 are right");
  return identity.network ? check_network(*identity.network) : Status();
}

Result<std::int64_t> set_wall_clock(std::int64_t wall_ns) {
  if (wall_ns == 0) return std::int64_t{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t before = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  const timespec wanted{wall_ns / 1'000'000'000, wall_ns % 1'000'000'000};
  if (::clock_settime(CLOCK_REALTIME, &wanted) != 0) return errno_error(errno, "set the clock");
  return wall_ns - before;
}

Status add_entropy(const std::string& entropy) {
  if (entropy.empty()) return {};
  UniqueFd device(::open("/dev/urandom", O_RDWR | O_CLOEXEC));
  if (!device) return errno_error(errno, "open /dev/urandom");
  std::vector<std::uint32_t> buffer(2 + (entropy.size() + 3) / 4);
  auto* info = reinterpret_cast<rand_pool_info*>(buffer.data());
  info->entropy_count = static_cast<int>(entropy.size() * 8);
  info->buf_size = static_cast<int>(entropy.size());
  std::copy(entropy.begin(), entropy.end(), reinterpret_cast<char*>(info->buf));
  if (::ioctl(device.get(), RNDADDENTROPY, info) != 0) return errno_error(errno, "RNDADDENTROPY");
  // EAGAIN: the generator isn't seeded at all yet, so what was added counts from its first seed on.
  if (::ioctl(device.get(), RNDRESEEDCRNG) != 0 && errno != EAGAIN) return errno_error(errno, "RNDRESEEDCRNG");
  return {};
}

Status write_names(int root, const GuestIdentity& identity) {
  auto etc = open_etc(root);
  // An image whose /etc is a link leads wherever it likes: nothing is written there.
  if (!etc.ok()) return {};
  if (!identity.hostname.empty()) {
    HARENA_TRY_STATUS(write_etc(etc->get(), "hostname", identity.hostname + "\n", kDefaultIdBase));
    HARENA_TRY_STATUS(write_etc(etc->get(), "hosts", hosts_text(identity.hostname), kDefaultIdBase));
  }
  if (!identity.machine_id.empty()) HARENA_TRY_STATUS(write_etc(etc->get(), "machine-id", identity.machine_id + "\n", kDefaultIdBase));
  return write_etc(etc->get(), "resolv.conf", resolver_text(identity), kDefaultIdBase);
}

Result<session::RenewAnswer> renew_identity(const GuestIdentity& identity, pid_t init) {
  session::RenewAnswer answer;
  HARENA_TRY(answer.clock_step_ns, set_wall_clock(identity.wall_ns));
  if (identity.wall_ns != 0) answer.renewed.push_back("clock");
  HARENA_TRY_STATUS(add_entropy(identity.entropy));
  if (!identity.entropy.empty()) answer.renewed.push_back("entropy");
  HARENA_TRY(UniqueFd pidfd, open_init(init));
  if (!identity.hostname.empty() || !identity.machine_id.empty() || identity.network) {
    HARENA_TRY(const std::string hooks, in_a_child([&] { return rename_inside(identity, pidfd.get()); }));
    for (const auto& name : split(hooks, '\n')) {
      if (!name.empty()) answer.hooks.push_back(name);
    }
    if (!identity.hostname.empty()) answer.renewed.push_back("hostname");
    if (!identity.machine_id.empty()) answer.renewed.push_back("machine-id");
  }
  if (identity.network) {
    HARENA_TRY(const std::string nothing, in_a_child([&]() -> Result<std::string> {
      HARENA_TRY_STATUS(renew_network(*identity.network, pidfd.get()));
      return std::string();
    }));
    (void)nothing;
    for (const char* part : {"network", "mac", "neighbours"}) answer.renewed.push_back(part);
  }
  return answer;
}

}  // namespace harena::guest
