#pragma once
// The jail of a Firecracker process: the folder that its jailer makes its root, and the process tree.
//
//   machine -> keeper (PID 1 of a pid namespace, of network, IPC and UTS namespaces of their own) -> jailer, which becomes Firecracker
//
// The keeper is there because the jailer changes its user, which takes a parent-death signal away: when harena-machine dies the keeper does, and with
// the first process of its namespace everything in it. It has the VMM's user, no descriptors and no memory of interest.
//
// The root is an ordinary folder beside the machine's files with hard links to those that Firecracker opens by name (docs/jailer.md of Firecracker);
// it goes with this object, or with the machine's folder.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::microvm {

class FirecrackerJail {
 public:
  /// Makes the folder below spec.work_dir and what of `spec` the VMM opens. Files are linked where all may read them, else copied; the
  /// writable disk becomes spec.uid's.
  static Result<std::unique_ptr<FirecrackerJail>> make(const VmmSpec& spec);
  ~FirecrackerJail();

  /// The root's folder, for the sockets in it.
  Result<UniqueFd> open() const;
  /// Another file that Firecracker may read by this name.
  Status put(const std::string& from, const std::string& name) const;
  /// A regular file that Firecracker has made, as root's own `to`, which nobody but root writes. A link or a device is refused: data_loss.
  Status take(const std::string& name, const std::string& to) const;
  /// The serial number that Firecracker gives the drive: made of the file's device and inode numbers.
  Result<std::string> drive_serial(const std::string& name) const;

  /// argv of the jailer.
  std::vector<std::string> arguments(const VmmSpec& spec) const;
  struct Process {
    pid_t keeper = -1;
    UniqueFd pidfd;
    UniqueFd lifeline;  // its keeper ends when this is closed before it could ask to be killed with its parent
  };
  /// Starts it: `console` becomes its standard output, `log` its standard error.
  Result<Process> start(const VmmSpec& spec, int console, int log) const;

 private:
  FirecrackerJail(std::string base, std::string root, std::uint32_t uid) : base_(std::move(base)), root_(std::move(root)), uid_(uid) {}
  std::string inside(const std::string& name) const { return root_ + "/" + name; }
  std::string base_;
  std::string root_;
  std::uint32_t uid_;
};

}  // namespace harena::microvm
