#pragma once
// DiskPool: a few disks of the sizes that were asked for last, made and mounted in advance. Attaching a loop device and mounting an ext4 are
// most of what a create with `disk` costs more than one without; this is done after answers, by a thread of its own.
//
//   if (auto disk = pool.take(bytes, inodes, folder)) ...    mounted already; either way another one of this size is made afterwards
//
// An image has no name and its mount is in no namespace: whoever dies, the kernel takes image, file system and loop device away with the last
// descriptor, so there is nothing to sweep. A ready disk becomes one sandbox's and never another's.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "plugins/container/disk_images.hpp"

namespace harena::container {

/// A disk for one sandbox. `mount` may be invalid: the launcher mounts the image then.
struct SandboxDisk {
  UniqueFd image;
  UniqueFd mount;
  bool there() const { return image.get() >= 0; }
  /// What the launcher wants: the mount, or what to make it from.
  int for_launcher() const { return mount.get() >= 0 ? mount.get() : image.get(); }
};

/// Thread-safe.
class DiskPool {
 public:
  /// `most` disks of all sizes together; 0: none ever. Those that nobody wanted for `idle` are given back. `images` outlives the pool.
  DiskPool(DiskImages& images, std::size_t most, std::chrono::milliseconds idle);
  ~DiskPool();
  DiskPool(const DiskPool&) = delete;
  DiskPool& operator=(const DiskPool&) = delete;

  /// A ready one of exactly this size whose blocks are on the file system of `folder`; nullopt: make one.
  std::optional<SandboxDisk> take(std::int64_t bytes, std::int64_t inodes, const std::string& folder);
  /// How many are ready.
  std::size_t ready() const;

 private:
  struct Size {
    std::int64_t bytes;
    std::int64_t inodes;
    std::string folder;
    std::deque<SandboxDisk> disks;
  };
  Size& used_now(std::int64_t bytes, std::int64_t inodes, const std::string& folder);
  std::size_t ready_locked() const;
  /// The size that has less than its share, the last used first; nullptr: all have.
  Size* wanting();
  void drop_idle(std::unique_lock<std::mutex>& lock);
  void make_one(std::unique_lock<std::mutex>& lock);
  void run();

  DiskImages& images_;
  const std::size_t most_;
  const std::chrono::milliseconds idle_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Size> sizes_;  // the last used first, `most_` of them at most
  std::chrono::steady_clock::time_point last_take_{};
  bool failed_ = false;  // the last one couldn't be made: not again before somebody asks
  bool ending_ = false;
  std::thread thread_;  // from the first take on
};

}  // namespace harena::container
