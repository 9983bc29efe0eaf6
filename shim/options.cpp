#include "shim/options.hpp"

#include <sys/prctl.h>

#include <charconv>
#include <cstring>
#include <limits>

#include "sdk/base/text.hpp"

namespace harena::shim {
namespace {

Status set_fd(std::string_view name, std::string_view value, int& out) {
  HARENA_TRY(auto number, parse_int(value, 0, std::numeric_limits<int>::max(), name));
  out = static_cast<int>(number);
  return {};
}

Error bad(std::string_view name, std::string_view value, std::string_view right) {
  return make_error(ErrorCode::invalid_argument,
                    std::string(name) + " '" + std::string(value) + "': " + std::string(right));
}

Status set_mode(std::string_view value, Options& options) {
  if (value != "namespaces" && value != "host") return bad("--mode", value, "namespaces or host");
  options.mode = value == "host" ? Mode::host : Mode::namespaces;
  return {};
}

Status set_channel(std::string_view value, Options& options) {
  if (value != "unix" && value != "tunnel") return bad("--channel", value, "unix or tunnel");
  options.channel = value == "unix" ? ChannelKind::unix_socket : ChannelKind::tunnel;
  return {};
}

Status set_caps(std::string_view value, Options& options) {
  std::uint64_t caps = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), caps, 16);
  if (error != std::errc() || end != value.data() + value.size()) return bad("--caps", value, "a hexadecimal set, without 0x");
  options.caps = caps;
  return {};
}

Status set_spool_cap(std::string_view value, Options& options) {
  HARENA_TRY(auto bytes, parse_int(value, 0, std::numeric_limits<std::int64_t>::max(), "--spool-cap"));
  options.spool_cap_bytes = static_cast<std::uint64_t>(bytes);
  return {};
}

Status add_rlimit(std::string_view value, Options& options) {
  HARENA_TRY(auto limit, ResourceLimit::parse(value));
  options.rlimits.push_back(limit);
  return {};
}

Status add_environment(std::string_view value, Options& options) {
  auto equals = value.find('=');
  if (equals == 0 || equals == std::string_view::npos) return bad("--environment", value, "NAME=VALUE");
  options.environment.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  return {};
}

Status set(std::string_view name, std::string_view value, Options& options) {
  if (name == "--run-dir") return options.run_dir = value, ok_status();
  if (name == "--sandbox") return options.sandbox = value, ok_status();
  if (name == "--mode") return set_mode(value, options);
  if (name == "--channel") return set_channel(value, options);
  if (name == "--listen-fd") return set_fd(name, value, options.listen_fd);
  if (name == "--init-pid") return set_fd(name, value, options.init_pid);
  if (name == "--init-pidfd") return set_fd(name, value, options.init_pidfd);
  if (name == "--cgroup-fd") return set_fd(name, value, options.cgroup_fd);
  if (name == "--v1-tasks-fd") return set_fd(name, value, options.v1_tasks_fds.emplace_back());
  if (name == "--seccomp-fd") return set_fd(name, value, options.seccomp_fd);
  if (name == "--ready-fd") return set_fd(name, value, options.ready_fd);
  if (name == "--caps") return set_caps(value, options);
  if (name == "--spool-cap") return set_spool_cap(value, options);
  if (name == "--apparmor") return options.apparmor = value, ok_status();
  if (name == "--tools") return options.tools = value, ok_status();
  if (name == "--rlimit") return add_rlimit(value, options);
  if (name == "--environment") return add_environment(value, options);
  static const std::vector<std::string> kKnown = {
      "--run-dir", "--sandbox", "--mode", "--channel", "--listen-fd", "--init-pid", "--init-pidfd", "--cgroup-fd",
      "--v1-tasks-fd", "--seccomp-fd", "--ready-fd", "--caps", "--spool-cap", "--tools", "--apparmor", "--rlimit", "--environment"};
  return make_error(ErrorCode::invalid_argument, "unknown option " + std::string(name) + suggestion(name, kKnown));
}

Status check(const Options& options) {
  if (options.run_dir.empty()) return make_error(ErrorCode::invalid_argument, "--run-dir is required");
  if (options.sandbox.empty()) return make_error(ErrorCode::invalid_argument, "--sandbox is required");
  if (options.mode == Mode::namespaces && (options.init_pid <= 0 || options.init_pidfd < 0)) {
    return make_error(ErrorCode::invalid_argument, "--mode namespaces needs --init-pid and --init-pidfd");
  }
  return {};
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 >= argc) return make_error(ErrorCode::invalid_argument, std::string(argv[i]) + " needs a value");
    HARENA_TRY_STATUS(set(argv[i], argv[i + 1], options));
  }
  HARENA_TRY_STATUS(check(options));
  return options;
}

void hide_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::memset(argv[i], 0, std::strlen(argv[i]));
  ::prctl(PR_SET_NAME, "harena-shim");
}

}  // namespace harena::shim
