#pragma once
// The first start: project root and an admin token in a file that only its owner can read.
//
// Order: the file is complete and durable before the store hears of the token, in one transaction with the project
// and a mark that this was done. So after a crash there is either nothing, or a file whose token the next start
// adopts. A file that exists is never overwritten, and once the mark is there never read again for this.

#include <filesystem>
#include <string>

#include "core/contracts/state_store.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"

namespace harena {

/// Characters [0-9a-z] of a token's public id.
inline constexpr std::size_t kTokenIdLength = 12;

struct BootstrapOutcome {
  enum class Kind {
    first_start,  ///< file and records were made
    mended,       ///< the file was there, the records were not: an earlier start was cut off
    done_before,  ///< nothing to do
  } kind = Kind::done_before;
  std::filesystem::path token_file;
};

/// The token file has the token and a newline. Idempotent. Errors: those of the file system naming the path;
/// failed_precondition for a file that holds no token, or that others may read (it says what to do).
Result<BootstrapOutcome> bootstrap_admin(const CallContext& call, StateStore& store, Clock& clock,
                                         RandomSource& random, const std::filesystem::path& token_file);

}  // namespace harena
