#include "sdk/support/landlock.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

// linux/landlock.h of the oldest supported distribution knows version 2; these are the kernel's numbers.
constexpr unsigned kAskVersion = 1;
constexpr std::uint64_t kExecute = 1u << 0, kMakeChar = 1u << 6, kMakeBlock = 1u << 11, kRefer = 1u << 13;
constexpr std::uint64_t kBindTcp = 1u << 0, kConnectTcp = 1u << 1;
constexpr std::uint64_t kScopeAbstractSockets = 1u << 0, kScopeSignals = 1u << 1;
constexpr int kRulePathBeneath = 1;
constexpr int kVersionOfRefer = 2, kVersionOfNetwork = 4, kVersionOfScopes = 6;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t folder;
};

/// Moves between folders are refused by every ruleset that doesn't allow them.
Status allow_moves(int ruleset) {
  UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error(errno, "open /");
  const PathBeneath rule{kRefer, root.get()};
  if (::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) != 0) return errno_error(errno, "landlock_add_rule");
  return {};
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

Status confine_file_helper() {
  const int version = landlock_version();
  if (version < kVersionOfRefer) return {};
  RulesetAttributes attributes;
  attributes.files = kExecute | kMakeChar | kMakeBlock | kRefer;
  if (version >= kVersionOfNetwork) attributes.network = kBindTcp | kConnectTcp;
  if (version >= kVersionOfScopes) attributes.scoped = kScopeAbstractSockets | kScopeSignals;
  // An older kernel takes the longer structure as long as what it doesn't know is zero.
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return errno_error(errno, "landlock_create_ruleset");
  HARENA_TRY_STATUS(allow_moves(ruleset.get()));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "PR_SET_NO_NEW_PRIVS");
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return errno_error(errno, "landlock_restrict_self");
  return {};
}

}  // namespace harena
