#pragma once
// QemuProcess: QEMU in its jail (sdk/vmm/jail.hpp), a child of this single-threaded process that dies with it.

#include <memory>
#include <string>

#include "plugins/qemu/machine/machine_config.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/event_loop.hpp"
#include "sdk/vmm/qmp_client.hpp"

namespace harena::qemu {

class QemuProcess {
 public:
  /// Starts it; the guest runs when this returns. `group_files`: files that it writes "0" into. Errors carry the end of QEMU's log.
  static Result<std::unique_ptr<QemuProcess>> start(vmm::EventLoop& loop, const MachineConfig& config, const std::vector<int>& group_files,
                                                    std::int64_t deadline_ns);
  /// Kills and reaps it.
  ~QemuProcess();

  vmm::QmpClient& qmp() { return *qmp_; }
  /// The guest's serial line, both ways. Borrowed.
  int console() const { return console_.get(); }
  /// Readable once it has ended.
  int pidfd() const { return pidfd_.get(); }
  pid_t pid() const { return pid_; }
  /// "exit 0", "signal 9"; empty while it lives.
  std::string ended();
  /// The end of its log.
  std::string log() const;

 private:
  QemuProcess() = default;
  pid_t pid_ = -1;
  UniqueFd pidfd_, console_;
  std::unique_ptr<vmm::QmpClient> qmp_;
  std::string ended_, log_path_;
};

}  // namespace harena::qemu
