// How a machine that stands still becomes an image, and what goes on afterwards.

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "plugins/microvm/machine/machine.hpp"
#include "plugins/microvm/machine/ram_delta.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/qcow2_file.hpp"

namespace harena::microvm {
namespace {

/// A delta above this part of the RAM becomes part of a RAM file: its users would each hold these pages for themselves otherwise.
constexpr std::int64_t kMergeAbove = 8;  // an eighth

/// A whole memory is written at 100 MB/s or more.
constexpr std::int64_t kSaveNsPerByte = 10;

std::int64_t now_us() { return monotonic_now_ns() / 1000; }

}  // namespace

void Machine::remove_files(const std::vector<std::string>& names) const {
  for (const auto& name : names) {
    if (!name.empty()) ::unlink(path(name).c_str());
  }
}

Result<std::string> Machine::make_overlay() {
  const std::string name = names_.next("disk");
  HARENA_TRY_STATUS(vmm::make_qcow2_overlay(path(name), config_.disk_bytes));
  return name;
}

Status Machine::add_delta(const std::string& folder, FileNames& names, MachineImage& image) {
  if (mapping_ == RamMapping::shared) return {};
  HARENA_TRY(const auto address, find_ram_mapping(vmm_->pid(), path(ram_), config_.ram_bytes));
  HARENA_TRY(const auto pages, own_pages(vmm_->pid(), address, config_.ram_bytes));
  if (pages.empty()) return {};
  const std::string name = names.next("delta");
  HARENA_TRY_STATUS(write_delta(folder + "/" + name, vmm_->pid(), address, config_.ram_bytes, pages));
  image.delta = name;
  return {};
}

Result<MachineImage> Machine::capture(const std::string& folder, FileNames& names) {
  MachineImage image{.ram = ram_, .disk = disk_, .ram_bytes = config_.ram_bytes, .disk_bytes = config_.disk_bytes, .cpus = config_.cpus,
                     .vmm = vmm_->version(), .kvm = config_.accelerator == Accelerator::kvm, .cpu_model = config_.cpu_model,
                     .readonly_root = config_.readonly_root};
  for (const auto& layer : config_.layers) image.layers.push_back(layer.digest);
  image.state = names.next("state");
  if (!driver_.traits.maps_ram_file) {
    HARENA_TRY_STATUS(save_own_ram(folder, names, image));
    if (Status kept = keep_disk(folder, names, image); !kept.ok()) {
      for (const auto& name : {image.state, image.delta, image.ram == ram_ ? std::string() : image.ram}) {
        if (!name.empty()) ::unlink((folder + "/" + name).c_str());
      }
      remove_files({std::exchange(ram_, {})});
      return std::move(kept).error();
    }
    return image;
  }
  HARENA_TRY_STATUS(vmm_->save({folder + "/" + image.state, MemoryKind::none, {}}, monotonic_now_ns() + kStepPatienceNs));
  fault_point("machine.capture.state");
  Status done = add_delta(folder, names, image);
  if (folder != config_.vm_dir && done.ok()) {
    image.ram = names.next("ram");
    done = link_or_copy(path(ram_), folder + "/" + image.ram);
  }
  if (done.ok()) done = keep_disk(folder, names, image);
  if (done.ok()) return image;
  ::unlink((folder + "/" + image.state).c_str());
  return std::move(done).error();
}

Status Machine::keep_disk(const std::string& folder, FileNames& names, MachineImage& image) const {
  if (folder == config_.vm_dir) return {};  // the machine itself pauses: nobody writes it meanwhile
  for (auto& file : image.disk) {
    const std::string mine = path(file.path);
    file.path = names.next("disk");
    const std::string theirs = folder + "/" + file.path;
    HARENA_TRY_STATUS(driver_.traits.disk_chains ? link_or_copy(mine, theirs) : clone_file(mine, theirs));
  }
  return {};
}

Status Machine::save_own_ram(const std::string& folder, FileNames& names, MachineImage& image) {
  const bool whole = ram_.empty();
  const std::string changes = folder + "/" + names.next("changes");
  if (whole) image.ram = names.next("ram");
  const SavePaths paths = {folder + "/" + image.state, whole ? MemoryKind::whole : MemoryKind::changes, whole ? folder + "/" + image.ram : changes};
  const Status saved = [&]() -> Status {
    HARENA_TRY_STATUS(vmm_->save(paths, monotonic_now_ns() + kStepPatienceNs + config_.ram_bytes * kSaveNsPerByte));
    fault_point("machine.capture.state");
    if (whole) return {};
    const std::string delta = names.next("delta");
    const Status written = delta_of_changes(folder + "/" + delta, changes, config_.ram_bytes);
    ::unlink(changes.c_str());
    HARENA_TRY_STATUS(written);
    image.delta = delta;
    if (folder == config_.vm_dir) return {};
    image.ram = names.next("ram");
    return link_or_copy(path(ram_), folder + "/" + image.ram);
  }();
  if (saved.ok()) return {};
  if (whole) ::unlink((folder + "/" + image.ram).c_str());
  if (!image.delta.empty()) ::unlink((folder + "/" + image.delta).c_str());
  ::unlink(paths.state.c_str());
  remove_files({std::exchange(ram_, {})});
  return saved;
}

void Machine::keep_ram_base(const std::string& folder, const MachineImage& image) {
  if (driver_.traits.maps_ram_file || folder == config_.vm_dir) return;
  remove_files({std::exchange(ram_, names_.next("ram"))});
  // On another file system a copy would be as long as a whole save.
  if (::link((folder + "/" + image.ram).c_str(), path(ram_).c_str()) != 0) ram_.clear();
}

Result<std::unique_ptr<Vmm>> Machine::move_to(std::unique_ptr<Vmm> ahead, const std::string& state) {
  const std::int64_t deadline = monotonic_now_ns() + kStepPatienceNs;
  HARENA_TRY_STATUS(ahead->load_state(state, deadline));
  HARENA_TRY_STATUS(ahead->run(deadline));
  return adopt_vmm(std::move(ahead), session::LinkStart::go_on);
}

Result<MachineImage> Machine::capture_and_go_on(const std::string& folder, FileNames& names, json& told) {
  const bool chained = driver_.traits.disk_chains;
  std::string overlay;
  auto chain = disk_;
  if (chained) {
    HARENA_TRY(overlay, make_overlay());
    chain.push_back({overlay, true});
  }
  const bool moves = driver_.traits.maps_ram_file && mapping_ == RamMapping::shared;
  std::unique_ptr<Vmm> ahead, before;
  auto captured = [&]() -> Result<MachineImage> {
    if (moves) {
      auto plan = spec(true, chain);
      plan.ram = RamMapping::own_copy;
      HARENA_TRY(ahead, driver_.launch(loop_, plan, monotonic_now_ns() + kStepPatienceNs));
    }
    fault_point("machine.snapshot.ahead");
    const std::int64_t frozen = now_us();
    HARENA_TRY_STATUS(freeze());
    const std::int64_t stopped = now_us();
    auto image = [&]() -> Result<MachineImage> {
      const std::int64_t deadline = monotonic_now_ns() + kStepPatienceNs;
      HARENA_TRY_STATUS(vmm_->stop(deadline));
      HARENA_TRY(auto made, capture(folder, names));
      told["captured_us"] = now_us() - stopped;
      fault_point("machine.snapshot.captured");
      if (moves) {
        HARENA_TRY(before, move_to(std::move(ahead), folder + "/" + made.state));
        told["stopped_us"] = now_us() - stopped;
      } else if (chained) {
        HARENA_TRY_STATUS(vmm_->put_overlay(kDiskSerial, path(overlay), deadline));
      }
      disk_ = chain;
      mapping_ = RamMapping::own_copy;
      return made;
    }();
    ahead.reset();
    const Status ran = before ? Status() : vmm_->run(monotonic_now_ns() + kStepPatienceNs);
    if (!before) told["stopped_us"] = now_us() - stopped;
    const Status thawed = ran.ok() ? thaw() : ran;
    told["frozen_us"] = now_us() - frozen;
    if (!thawed.ok()) {
      fail(thawed.error());
      return thawed.error();
    }
    return image;
  }();
  if (!captured.ok() && disk_.back().path != overlay) remove_files({overlay});
  return captured;
}

void Machine::shorten_disk() {
  if (disk_.size() <= kMaxDiskFiles || !vmm_->flatten(kDiskSerial, monotonic_now_ns() + kFlattenPatienceNs).ok()) return;
  const std::vector<DiskFile> before(disk_.begin() + 1, disk_.end() - 1);
  disk_ = {disk_.front(), disk_.back()};
  for (const auto& file : before) remove_files({file.path});
}

Status Machine::merge_large_delta(const std::string& folder, FileNames& names, MachineImage& image) {
  if (image.delta.empty()) return {};
  HARENA_TRY(const auto size, delta_size(folder + "/" + image.delta));
  if (driver_.traits.maps_ram_file && size.pages * kPageBytes < image.ram_bytes / kMergeAbove) return {};
  const std::string fresh = names.next("ram");
  Status merged = clone_file(folder + "/" + image.ram, folder + "/" + fresh);
  if (merged.ok()) merged = merge_delta(folder + "/" + image.delta, folder + "/" + fresh);
  if (merged.ok() && ::chmod((folder + "/" + fresh).c_str(), 0666) != 0) merged = errno_error(errno, "chmod of a RAM file");
  if (!merged.ok()) {
    ::unlink((folder + "/" + fresh).c_str());
    return merged;
  }
  MachineImage before = image;
  image.ram = fresh;
  image.delta.clear();
  // One that is paused is on the disk: what goes is what isn't needed any more, also when the host dies in between.
  HARENA_TRY_STATUS(folder == config_.vm_dir ? image.write_to_disk(folder) : image.write(folder));
  ::unlink((folder + "/" + before.ram).c_str());
  ::unlink((folder + "/" + before.delta).c_str());
  return {};
}

Result<json> Machine::snapshot(const std::string& folder) {
  if (state_ != State::running && state_ != State::paused) return make_error(ErrorCode::failed_precondition, "the machine has ended");
  HARENA_TRY(FileNames names, FileNames::in(folder));
  json told = json::object();
  MachineImage image;
  if (state_ == State::paused) {
    HARENA_TRY(const auto mine, MachineImage::read(config_.vm_dir));
    HARENA_TRY(image, adopt_image(mine, config_.vm_dir, folder, names));
    if (!driver_.traits.maps_ram_file) HARENA_TRY_STATUS(merge_large_delta(folder, names, image));
  } else {
    HARENA_TRY(image, capture_and_go_on(folder, names, told));
    if (Status merged = merge_large_delta(folder, names, image); !merged.ok()) {
      if (!driver_.traits.maps_ram_file) remove_files({std::exchange(ram_, {})});  // changes are counted from an image that there isn't
      return std::move(merged).error();
    }
    keep_ram_base(folder, image);
    shorten_disk();
  }
  fault_point("machine.snapshot.unwritten");
  HARENA_TRY_STATUS(image.write(folder));
  if (!image.delta.empty()) {
    HARENA_TRY(const auto size, delta_size(folder + "/" + image.delta));
    told["changed_pages"] = size.pages;
  }
  return told;
}

Result<json> Machine::rollback(const std::string& folder) {
  if (state_ != State::running && state_ != State::paused) return make_error(ErrorCode::failed_precondition, "the machine has ended");
  HARENA_TRY(const auto image, MachineImage::read(folder));
  HARENA_TRY_STATUS(image.check_files(folder));
  HARENA_TRY_STATUS(check_fits(image));
  HARENA_TRY(const auto mine, adopt_image(image, folder, config_.vm_dir, names_));
  const std::string ram = ram_;
  const auto disk = disk_;
  const RamMapping mapping = mapping_;
  auto prepared = prepare(mine);
  if (!prepared.ok()) {
    ram_ = ram;
    mapping_ = mapping;
    remove_files(mine.files());
    return std::move(prepared).error();
  }
  fault_point("machine.rollback.prepared");
  // What it was before goes: its own image if it is paused, its files in any case.
  std::vector<std::string> old = {ram};
  for (const auto& file : disk) old.push_back(file.path);
  if (state_ == State::paused) {
    HARENA_TRY(const auto paused, MachineImage::read(config_.vm_dir));
    old = paused.files();
  }
  HARENA_TRY(json told, go_on(std::move(*prepared), mine, session::LinkStart::new_epoch, true));
  link_lost_ = false;
  remove_files(old);
  return told;
}

}  // namespace harena::microvm
