// harena-shim: one per sandbox. It outlives harenad; it owns the sandbox's processes and their output, and speaks the session
// protocol on DIR/session.sock. The contract with the backend that starts it is in shim/README.md.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "sdk/base/standard_streams.hpp"
#include "sdk/support/scheduling.hpp"
#include "shim/server.hpp"

namespace harena::shim {
namespace {

void harden() {
  // Not to be traced or read through /proc by anything in the sandbox, whatever its rights there; children inherit it until exec.
  ::prctl(PR_SET_DUMPABLE, 0);
  // Orphans of commands in host mode come here instead of to the machine's init.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::umask(077);
  // It answers in less time than a slice has. The spawner and new commands up to their exec as well.
  (void)prefer_latency();
}

Status serve(Options options) {
  HARENA_TRY(auto sandbox, Sandbox::open(std::move(options)));
  Spawner spawner(sandbox);
  HARENA_TRY_STATUS(spawner.start());
  SystemClock clock;
  HARENA_TRY(auto loop, EventLoop::create(clock));
  HARENA_TRY(auto reaper, Reaper::create(*loop));
  spawner.watch(*reaper);
  Server server(*loop, *reaper, sandbox, spawner);
  HARENA_TRY_STATUS(server.open());
  loop->run();
  return {};
}

int fail(const Error& error) {
  std::fprintf(stderr, "harena-shim: %s\n", error.describe().c_str());
  return 1;
}

}  // namespace
}  // namespace harena::shim

int main(int argc, char** argv) {
  using namespace harena::shim;
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::puts("harena-shim " HARENA_VERSION), 0;
  auto options = parse_options(argc, argv);
  if (!options) return fail(options.error());
  harena::fill_standard_streams();
  hide_arguments(argc, argv);
  harden();
  auto status = serve(*std::move(options));
  return status ? 0 : fail(status.error());
}
