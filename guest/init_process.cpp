#include "guest/init_process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "guest/network.hpp"
#include "guest/root_tree.hpp"
#include "sdk/base/signal_mask.hpp"
#include "sdk/session/hello.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/packets.hpp"
#include "sdk/support/sandbox_init.hpp"
#include "sdk/support/seccomp_program.hpp"

namespace harena::guest {
namespace {

Status build(const InitContext& context) {
  const auto& identity = context.request.identity;
  HARENA_TRY_STATUS(context.namespaces.join_without_user());
  if (!identity.hostname.empty() && ::sethostname(identity.hostname.data(), identity.hostname.size()) != 0) return errno_error(errno, "sethostname");
  HARENA_TRY_STATUS(loopback_up());
  if (identity.network) HARENA_TRY_STATUS(configure_device(*identity.network));
  HARENA_TRY_STATUS(enter_root_tree(context.request, context.root));
  HARENA_TRY_STATUS(become_nobody_inside(context.namespaces, kDefaultIdBase));
  return give_everything_up();
}

}  // namespace

void run_init(const InitContext& context) {
  block_all_signals();
  auto status = build(context);
  if (!status.ok()) {
    (void)send_packet(context.report, "E" + session::encode_error(status.error()));
    ::_exit(1);
  }
  const int report = close_others(context.report);
  ::prctl(PR_SET_NAME, "init");
  status = install_seccomp(context.filter);
  const std::string answer = status.ok() ? "ok" : "E" + session::encode_error(status.error());
  if (!send_packet(report, answer).ok() || !status.ok()) ::_exit(1);
  ::close(report);
  reap_for_ever();
}

}  // namespace harena::guest
