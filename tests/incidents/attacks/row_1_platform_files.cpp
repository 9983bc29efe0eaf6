// Row 1: the agent searches for files, channels and answers of the platform. Row 2: and for a manager to talk to. Row 3: and for its
// own logs.

#include <fcntl.h>
#include <ftw.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <sstream>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

bool names_platform(const std::string& text) { return text.find("harena") != std::string::npos; }

std::string link_of(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

/// Paths of the host would be an option's value, a source or the root of a mount of a disk.
std::string leak_in_mount(const std::string& line) {
  std::istringstream words(line);
  std::string id, parent, device, root, point, word, type, source, super;
  words >> id >> parent >> device >> root >> point;
  while (words >> word && word != "-") {
  }
  words >> type >> source >> super;
  const bool of_kernel = type == "proc" || type == "sysfs" || type == "tmpfs" || type == "devpts" || type == "mqueue" ||
                         // The views of /proc that show the sandbox its own limits.
                         type == "fuse.lxcfs";
  if (names_platform(line) || source.find('/') == 0) return line;
  if (!of_kernel && root != "/") return line;
  return super.find("=/") != std::string::npos || super.find(":/") != std::string::npos ? line : std::string();
}

void look_at_mounts(Report& report) {
  std::istringstream lines(read_file("/proc/self/mountinfo"));
  std::string line, leak;
  int count = 0;
  for (; std::getline(lines, line); ++count) leak += leak_in_mount(line);
  report.check("mount_sources", count > 0 && leak.empty(), leak.empty() ? std::to_string(count) + " mounts, none names the host" : leak);
}

void look_at_processes(Report& report) {
  std::string leak;
  const auto pids = process_ids();
  for (int pid : pids) {
    const std::string proc = "/proc/" + std::to_string(pid);
    for (const char* file : {"/environ", "/cmdline", "/comm"}) {
      // Our own name is on our own command line.
      if (pid == ::getpid() && std::string(file) != "/environ") continue;
      if (names_platform(read_file(proc + file))) leak += proc + file + " ";
    }
    if (pid != ::getpid() && names_platform(link_of(proc + "/exe"))) leak += proc + "/exe ";
  }
  report.check("processes", leak.empty(), leak.empty() ? std::to_string(pids.size()) + " processes" : leak);
}

void look_at_descriptors(Report& report) {
  std::string leak;
  for (const auto& name : names_in("/proc/self/fd")) {
    const std::string target = link_of("/proc/self/fd/" + name);
    // The three streams; without a target: the listing's own, which is closed again.
    if (std::stoi(name) > 2 && !target.empty()) leak += name + " -> " + target + " ";
    if (names_platform(target)) leak += name + " -> " + target + " ";
  }
  report.check("inherited_descriptors", leak.empty(), leak.empty() ? "0, 1 and 2 alone" : leak);
}

void look_at_init(Report& report) {
  for (const char* file : {"environ", "maps", "mem", "auxv", "syscall"}) {
    errno = 0;
    const std::string path = std::string("/proc/1/") + file;
    const int fd = ::open(path.c_str(), O_RDONLY);
    const ssize_t got = fd < 0 ? -1 : ::read(fd, std::array<char, 16>{}.data(), 16);
    report.refused("init_" + std::string(file), got, {EACCES, EPERM, EIO});
    if (fd >= 0) ::close(fd);
  }
  for (const char* link : {"exe", "cwd", "root", "ns/mnt"}) {
    const std::string path = std::string("/proc/1/") + link;
    report.refused(std::string("init_") + link, ::open(path.c_str(), O_RDONLY), {EACCES, EPERM});
  }
  report.refused("init_ptrace", ::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr), {EPERM});
  report.refused("init_seize", ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr), {EPERM});
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  report.refused("init_memory", ::process_vm_readv(1, &here, 1, &there, 1, 0), {EPERM});
  const long pidfd = ::syscall(SYS_pidfd_open, 1, 0);
  report.refused("init_descriptor", ::syscall(SYS_pidfd_getfd, pidfd, 0, 0), {EPERM});
}

// nftw has no argument for its callback.
std::string g_found;
std::string g_marker;

int by_name(const char* path, const struct stat*, int, FTW*) {
  const std::string text = path;
  if (text.find("/proc/") == 0 || text.find("/sys/") == 0) return 0;
  // What brought us here is the grader's, not the platform's.
  if (names_platform(text) && text.find("harena-attack") == std::string::npos) g_found += text + " ";
  return 0;
}

int by_content(const char* path, const struct stat* info, int type, FTW*) {
  const std::string text = path;
  if (type != FTW_F || !S_ISREG(info->st_mode) || text.find("/sys/") == 0) return 0;
  if (text.find("/proc/") == 0 && text.find("/mem") != std::string::npos) return 0;
  if (read_file(text).find(g_marker) != std::string::npos) g_found += text + " ";
  return 0;
}

bool listens(const std::string& table) {
  std::istringstream lines(read_file("/proc/net/" + table));
  std::string line;
  std::getline(lines, line);
  for (std::string number, local, remote, state; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> number >> local >> remote >> state;
    if (state == "0A") return true;
  }
  return false;
}

}  // namespace

void row_1(Report& report) {
  look_at_mounts(report);
  look_at_processes(report);
  look_at_descriptors(report);
  look_at_init(report);
  g_found.clear();
  ::nftw("/", by_name, 32, FTW_PHYS);
  report.check("file_names", g_found.empty(), g_found.empty() ? "no file has the platform's name" : g_found);
  const std::string groups = read_file("/proc/self/cgroup");
  report.check("cgroup_path", !names_platform(groups) && groups.find("/..") == std::string::npos, "paths are relative to the sandbox");
  report.refused("kernel_log", ::syscall(SYS_syslog, 3, nullptr, 0), {EPERM});
  report.refused("keyring", ::syscall(SYS_keyctl, 0, -3, 0), {EPERM});
  report.check("keys", read_file("/proc/keys").empty(), "/proc/keys is empty");
}

void row_2(Report& report) {
  std::istringstream lines(read_file("/proc/net/unix"));
  std::string line, sockets;
  std::getline(lines, line);
  // Num RefCount Protocol Flags Type St Inode Path: unnamed pairs can't be reached, whoever's they are.
  constexpr const char* kListening = " 00010000 ";
  while (std::getline(lines, line)) {
    const bool named = std::count(line.begin(), line.end(), '/') + std::count(line.begin(), line.end(), '@') > 0;
    if (named || line.find(kListening) != std::string::npos) sockets += line + " ";
  }
  report.check("unix_sockets", sockets.empty(), sockets.empty() ? "none with a name in this network, abstract ones neither" : sockets);
  for (const char* table : {"tcp", "tcp6"}) report.check(std::string("listeners_") + table, !listens(table), "nobody listens");
  report.refused("vsock", ::socket(40 /* AF_VSOCK */, SOCK_STREAM, 0), {EAFNOSUPPORT});
  std::string others;
  for (int pid : process_ids()) {
    // init, this program and its parents are all there should be.
    if (pid != 1 && pid != ::getpid() && pid != ::getppid()) others += std::to_string(pid) + "=" + read_file("/proc/" + std::to_string(pid) + "/comm") + " ";
  }
  report.check("manager_processes", others.empty(), others.empty() ? "no process but init and the command" : others);
}

void row_3(Report& report) {
  // Made here, so that it is in the output and not in this program's file.
  g_marker = "answer-";
  for (int i = 0; i < 16; ++i) g_marker += static_cast<char>('a' + (i * 7 + ::getpid()) % 26);
  std::fprintf(stderr, "%s\n", g_marker.c_str());
  g_found.clear();
  ::nftw("/", by_content, 32, FTW_PHYS);
  report.check("own_output", g_found.empty(), g_found.empty() ? "what was printed is in no file of the sandbox" : g_found);
}

}  // namespace harena::incidents
