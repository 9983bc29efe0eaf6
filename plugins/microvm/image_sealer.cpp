#include "plugins/microvm/image_sealer.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "plugins/microvm/image_digests.hpp"

namespace harena::microvm {
namespace {

constexpr int kLowestPriority = 19;

}  // namespace

ImageSealer::~ImageSealer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ImageSealer::add(std::string folder) {
  std::lock_guard lock(mutex_);
  if (folder == under_way_ || std::find(waiting_.begin(), waiting_.end(), folder) != waiting_.end()) return;
  waiting_.push_back(std::move(folder));
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

bool ImageSealer::going_on() const {
  std::lock_guard lock(mutex_);
  return !ending_;
}

void ImageSealer::work() {
  // Of a thread, not of the process (setpriority(2), NOTES).
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kLowestPriority);
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::string folder = std::move(waiting_.front());
    waiting_.pop_front();
    under_way_ = folder;
    lock.unlock();
    seal(folder);
    lock.lock();
    under_way_.clear();
  }
}

void ImageSealer::seal(const std::string& folder) {
  if (is_sealed(folder)) return;
  const Status sealed = seal_image(folder, [this] { return going_on(); });
  if (sealed.ok() || sealed.error().code == ErrorCode::cancelled || ::access(folder.c_str(), F_OK) != 0) return;
  warn_("a snapshot has no digests: " + sealed.error().message);
}

}  // namespace harena::microvm
