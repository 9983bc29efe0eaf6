#pragma once
// Copying between this machine and a sandbox, with progress: a folder as one tar stream, or file by file in parallel.

#include <functional>
#include <string>

#include "core/cli/transfer_meter.hpp"
#include "sdk/client/files.hpp"

namespace harena::cli {

struct TransferPlan {
  client::Client& client;
  std::string sandbox;
  /// File by file, so many at once, each taken up again by itself; 0: a folder is one tar stream, which keeps hard links.
  int parallel = 0;
  TransferMeter& meter;
};

/// `source` (a file, or a folder's content) becomes `target`. Modes and symlinks are kept; links are never followed.
Status upload(const TransferPlan& plan, const std::string& source, const std::string& target);
/// The other way. Modes lose their set-user-id bits; nothing is written outside `target`.
Status download(const TransferPlan& plan, const client::FileStat& source, const std::string& target);

/// What stdin brings becomes the file `target`. It can be read once only: `aborted` when the connection broke after a part of it.
Status upload_stdin(const TransferPlan& plan, const std::string& target);
/// A file's bytes, a folder's content as a tar stream.
Status download_to_stdout(const TransferPlan& plan, const client::FileStat& source);

/// The content of a local folder into one of the sandbox, which is made, and the other way; as tar streams. A lost connection begins again.
Status upload_tree(const TransferPlan& plan, const std::string& source, const std::string& target);
Status download_tree(const TransferPlan& plan, const std::string& source, const std::string& target);

/// `work(client, index)` for each index below `count`, on up to `plan.parallel` threads with a connection each. The first
/// failure ends it and is returned.
Status in_parallel(const TransferPlan& plan, std::size_t count,
                   const std::function<Status(client::Client&, std::size_t)>& work);

}  // namespace harena::cli
