#pragma once
// The files of one sandbox on the host: its folders below state_dir, and its socket below run_dir.

#include <cstdint>
#include <string>

#include "plugins/container/sandbox_state.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// state_dir/{u,w,session}: upper and work folder (the sandbox's root owns them), and the shim's.
Status make_folders(const std::string& state_dir, std::uint32_t first_id);
/// The first two of them, in `folder`.
Status make_upper_and_work(int folder, std::uint32_t first_id);
/// The third alone.
Status make_session_folder(const std::string& state_dir);
/// A listening socket at `endpoint`, mode 0600. failed_precondition when the path is longer than the kernel allows (107 bytes).
Result<UniqueFd> listen_at(const std::string& endpoint);
/// What the sandbox wrote: an enemy's tree. Idempotent. No process of the sandbox may live any more.
Status remove_upper(const SandboxState& state);
/// Socket and the shim's folder. Idempotent.
Status remove_session(const SandboxState& state);

/// Tells ext4 that the folders in `folder` have nothing to do with each other, so that each gets a place of its own. A hint: where it
/// can't be given, nothing changes.
///
/// Beside each other they would share one block group with what was removed a moment ago, and ext4 passes over inodes that were freed
/// within the last minutes one by one: 60 to 250 us for each new file instead of 14, once some thousand sandboxes have come and gone.
void spread_folders_in(const std::string& folder);

}  // namespace harena::container
