#pragma once
// Sandboxes of the control API: create, connect, resume, info, kill, timeout, refreshes, pause, snapshots, fork, network.

#include "plugins/e2b/control/control.hpp"
#include "plugins/e2b/control/create_request.hpp"

namespace harena::e2b {

using AnswerTask = http::Task<Result<Answer>>;

AnswerTask create_sandbox_v2(ControlCall& call);
AnswerTask create_sandbox_legacy(ControlCall& call);
AnswerTask sandbox_info(ControlCall& call);
AnswerTask kill_sandbox(ControlCall& call);
AnswerTask connect_sandbox_v2(ControlCall& call);
AnswerTask connect_sandbox_legacy(ControlCall& call);
AnswerTask resume_sandbox(ControlCall& call);
AnswerTask pause_sandbox(ControlCall& call);
AnswerTask set_sandbox_timeout(ControlCall& call);
AnswerTask refresh_sandbox(ControlCall& call);
AnswerTask update_sandbox_network(ControlCall& call);

/// Starts what the template starts in a new sandbox, and waits until it is ready. The error says what the ready command said.
http::Task<Status> start_template(Services& services, std::string key, std::string id, const Template& from);
/// For a sandbox that was made of another one or its snapshot. Where the backend `kept` the file system alone, it has no processes: what
/// the template starts is started anew, as far as that is in the configuration still. A sandbox that doesn't get ready is stopped.
http::Task<Status> start_again(Services& services, std::string key, Record record, std::string kept);
/// One run of its ready command, if it has one: whether it ended with 0, and what it said on standard error.
struct ReadyAnswer {
  bool ready = false;
  std::string said;
};
http::Task<Result<ReadyAnswer>> ask_ready(Services& services, std::string key, std::string id, const Template& from);

}  // namespace harena::e2b
