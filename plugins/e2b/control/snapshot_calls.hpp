#pragma once
// Snapshots and forks: what the backend offers.

#include "plugins/e2b/control/sandbox_calls.hpp"

namespace harena::e2b {

AnswerTask fork_sandbox(ControlCall& call);
AnswerTask snapshot_sandbox(ControlCall& call);
AnswerTask list_snapshots(ControlCall& call);

/// The snapshot of that id or name which the caller may see, as the API has it; null: there is none.
http::Task<Result<nlohmann::json>> find_snapshot(ControlCall& call, std::string name);
/// False: there is none.
http::Task<Result<bool>> delete_snapshot(ControlCall& call, std::string name);

}  // namespace harena::e2b
