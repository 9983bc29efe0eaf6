// A jailer for tests: takes exactly the arguments that Firecracker's jailer documents (docs/jailer.md of 1.x), does what it documents with
// the file system and the user, and becomes the program. Static, as what it starts. What it doesn't do: cgroups (none are asked for) and device nodes.

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "jailer: %s\n", why.c_str());
  std::exit(1);
}

void must(bool done, const std::string& what) {
  if (!done) refuse(what + " failed");
}

struct Options {
  std::map<std::string, std::string> values;
  std::vector<std::string> extra;
};

Options read(int argc, char** argv) {
  Options options;
  int at = 1;
  for (; at < argc && std::string(argv[at]) != "--"; at += 2) {
    const std::string name = argv[at];
    bool known = false;
    for (const char* one : {"--id", "--exec-file", "--uid", "--gid", "--chroot-base-dir", "--resource-limit", "--netns", "--cgroup", "--cgroup-version",
                            "--parent-cgroup"}) {
      known = known || name == one;
    }
    if (!known) refuse("Found argument '" + name + "' which wasn't expected, or isn't valid in this context.");
    if (at + 1 >= argc) refuse("The argument '" + name + "' requires a value, but none was supplied.");
    options.values[name] = argv[at + 1];
  }
  for (const char* needed : {"--id", "--exec-file", "--uid", "--gid"}) {
    if (options.values.count(needed) == 0) refuse("Argument '" + std::string(needed) + "' required, but not found.");
  }
  for (int i = at + 1; i < argc; ++i) options.extra.emplace_back(argv[i]);
  return options;
}

void limit_files(const std::string& text) {
  if (text.rfind("no-file=", 0) != 0) refuse("Invalid resource argument: " + text);
  const rlim_t count = std::strtoull(text.c_str() + 8, nullptr, 10);
  const rlimit limit{count, count};
  must(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

void close_others() {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
}

void enter(const fs::path& root) {
  must(::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) == 0, "a mount namespace");
  must(::mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) == 0, "binding the root");
  must(::chdir(root.c_str()) == 0 && ::mkdir("old_root", 0700) == 0, "old_root");
  must(::syscall(SYS_pivot_root, ".", "old_root") == 0 && ::chroot(".") == 0, "pivot_root");
  must(::umount2("old_root", MNT_DETACH) == 0 && ::rmdir("old_root") == 0, "leaving the old root");
}

}  // namespace

int main(int argc, char** argv) {
  close_others();
  Options options = read(argc, argv);
  const std::string id = options.values["--id"];
  const fs::path program = fs::canonical(options.values["--exec-file"]);
  const std::string name = program.filename();
  if (name.find("firecracker") == std::string::npos) refuse("The file name '" + name + "' must contain 'firecracker'");
  if (id.empty() || id.size() > 64) refuse("Invalid instance ID");
  const fs::path root = fs::canonical(options.values["--chroot-base-dir"]) / name / id / "root";
  fs::create_directories(root);
  fs::copy_file(program, root / name);
  // The real one has none: the socket that all guests of a test are behind, where one lies beside the program.
  if (fs::is_socket(program.parent_path() / "guest")) fs::create_hard_link(program.parent_path() / "guest", root / "guest");
  if (options.values.count("--resource-limit") != 0) limit_files(options.values["--resource-limit"]);
  const auto uid = static_cast<uid_t>(std::strtoul(options.values["--uid"].c_str(), nullptr, 10));
  const auto gid = static_cast<gid_t>(std::strtoul(options.values["--gid"].c_str(), nullptr, 10));
  enter(root);
  for (const char* folder : {"/", "/dev", "/dev/net", "/run"}) {
    fs::create_directories(folder);
    must(::chmod(folder, 0700) == 0 && ::chown(folder, uid, gid) == 0, folder);
  }
  must(::setgroups(0, nullptr) == 0 && ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0, "changing the user");
  std::vector<std::string> arguments = {"/" + name, "--id", id, "--start-time-us", "1", "--start-time-cpu-us", "1"};
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  std::vector<char*> raw;
  for (auto& one : arguments) raw.push_back(one.data());
  raw.push_back(nullptr);
  char* environment[] = {nullptr};
  ::execve(raw[0], raw.data(), environment);
  refuse("exec");
}
