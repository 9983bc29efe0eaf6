#include "plugins/container/disk_pool.hpp"

#include <algorithm>

#include "plugins/container/launcher/disk_mount.hpp"
#include "sdk/base/signal_mask.hpp"

namespace harena::container {

DiskPool::DiskPool(DiskImages& images, std::size_t most, std::chrono::milliseconds idle) : images_(images), most_(most), idle_(idle) {}

DiskPool::~DiskPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

DiskPool::Size& DiskPool::used_now(std::int64_t bytes, std::int64_t inodes, const std::string& folder) {
  const auto found = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& size) {
    return size.bytes == bytes && size.inodes == inodes && size.folder == folder;
  });
  if (found != sizes_.end()) {
    sizes_.splice(sizes_.begin(), sizes_, found);
  } else {
    sizes_.push_front({bytes, inodes, folder, {}});
  }
  return sizes_.front();
}

std::optional<SandboxDisk> DiskPool::take(std::int64_t bytes, std::int64_t inodes, const std::string& folder) {
  if (most_ == 0) return std::nullopt;
  std::optional<SandboxDisk> taken;
  {
    std::lock_guard lock(mutex_);
    if (ending_) return std::nullopt;
    auto& size = used_now(bytes, inodes, folder);
    if (!size.disks.empty()) {
      taken = std::move(size.disks.front());
      size.disks.pop_front();
    }
    last_take_ = std::chrono::steady_clock::now();
    failed_ = false;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return taken;
}

std::size_t DiskPool::ready_locked() const {
  std::size_t count = 0;
  for (const auto& size : sizes_) count += size.disks.size();
  return count;
}

std::size_t DiskPool::ready() const {
  std::lock_guard lock(mutex_);
  return ready_locked();
}

DiskPool::Size* DiskPool::wanting() {
  if (failed_) return nullptr;
  const std::size_t share = std::max<std::size_t>(1, most_ / std::max<std::size_t>(1, sizes_.size()));
  for (auto& size : sizes_) {
    if (size.disks.size() < share) return &size;
  }
  return nullptr;
}

/// What is given back is unmounted without the lock: that takes a while.
void DiskPool::drop_idle(std::unique_lock<std::mutex>& lock) {
  std::list<Size> idle;
  if (std::chrono::steady_clock::now() - last_take_ >= idle_) {
    idle = std::move(sizes_);
    sizes_.clear();
  } else {
    while (sizes_.size() > most_) idle.splice(idle.end(), sizes_, std::prev(sizes_.end()));
    // A size that came in takes from the others' shares.
    for (auto size = sizes_.rbegin(); size != sizes_.rend() && ready_locked() > most_; ++size) {
      idle.push_back({0, 0, {}, std::move(size->disks)});
      size->disks.clear();
    }
  }
  lock.unlock();
  idle.clear();
  lock.lock();
}

void DiskPool::make_one(std::unique_lock<std::mutex>& lock) {
  const Size* wanted = wanting();
  if (wanted == nullptr) return;
  const std::int64_t bytes = wanted->bytes, inodes = wanted->inodes;
  const std::string folder = wanted->folder;
  lock.unlock();
  SandboxDisk disk;
  auto image = images_.make_nameless(bytes, inodes, folder);
  auto mount = image.ok() ? mount_disk_image(image->get()) : Result<UniqueFd>(image.error());
  if (mount.ok()) disk = {*std::move(image), *std::move(mount)};
  lock.lock();
  failed_ = !disk.there();
  const auto size = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& one) {
    return one.bytes == bytes && one.inodes == inodes && one.folder == folder;
  });
  // One that nobody wants any more goes without the lock.
  if (size != sizes_.end() && !ending_ && !failed_) return size->disks.push_back(std::move(disk));
  lock.unlock();
  disk = {};
  lock.lock();
}

void DiskPool::run() {
  block_all_signals();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    drop_idle(lock);
    if (!ending_ && wanting() != nullptr) {
      make_one(lock);
    } else if (!ending_ && sizes_.empty()) {
      changed_.wait(lock);
    } else if (!ending_) {
      changed_.wait_until(lock, last_take_ + idle_);
    }
  }
}

}  // namespace harena::container
