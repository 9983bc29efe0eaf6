#include "plugins/qemu/machine/machine_snapshot.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "sdk/support/files.hpp"
#include "sdk/vmm/file_copies.hpp"

namespace harena::qemu {
namespace {

constexpr const char* kManifest = "snapshot.json";

/// What of a machine's configuration is the user's, and what it is called there.
struct Parameter {
  const char* key;
  const char* name;
};
constexpr Parameter kParameters[] = {
    {"max_cpus", "cpu_max"}, {"max_memory_bytes", "memory_max"}, {"disks", "disks"},         {"iso", "iso"},
    {"kernel", "kernel"},    {"initramfs", "initramfs"},         {"command_line", "command_line"}, {"display", "display"},
    {"uefi", "firmware"},    {"has_cloud_init", "cloud_init"},    {"cloud_init", "cloud_init"}};

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

Error differs(const std::string& name, const json& now, const json& then) {
  return make_error(ErrorCode::invalid_argument, "parameter '" + name + "' is " + shown(now) +
                                                     "; a machine that starts from a snapshot has what it had then: " + shown(then));
}

Error another_host(const std::string& what, const std::string& then, const std::string& now) {
  Error error = make_error(ErrorCode::failed_precondition, "the snapshot was taken under " + what + " " + then + "; this host has " + now);
  error.retry = Retry::other_node;
  return error;
}

}  // namespace

Status sync_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file && ::fsync(file.get()) == 0) return {};
  return errno_error(errno, "writing " + path + " to the disk");
}

Result<std::map<std::string, ImageIdentity>> identify_images(const MachineConfig& config) {
  std::vector<std::string> paths = {config.iso};
  for (const auto& disk : config.disks) paths.push_back(disk.image);
  std::map<std::string, ImageIdentity> found;
  for (const auto& path : paths) {
    struct stat status{};
    if (path.empty()) continue;
    if (::stat(path.c_str(), &status) != 0) return errno_error(errno, "looking at the image " + path);
    found[path] = {status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
  }
  return found;
}

Status copy_snapshot_files(const MachineSnapshot& snapshot, const std::string& from, const std::string& to) {
  for (const auto& name : own_files(snapshot.config)) {
    ::unlink((to + "/" + name).c_str());  // of an attempt before
    HARENA_TRY_STATUS(vmm::clone_file(from + "/" + name, to + "/" + name));
  }
  return {};
}

std::vector<std::string> own_files(const MachineConfig& config) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < config.disks.size(); ++i) names.push_back(disk_file(config, i));
  if (config.uefi) names.emplace_back(kVariablesFile);
  if (config.has_cloud_init) names.emplace_back(kSeedFile);
  return names;
}

Result<MachineSnapshot> MachineSnapshot::read(const std::string& folder) {
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, folder + "/" + kManifest, 4 << 20));
  try {
    const json document = json::parse(text);
    if (document.at("qemu_snapshot") != kVersion) {
      return make_error(ErrorCode::failed_precondition, "a machine's snapshot of version " + document["qemu_snapshot"].dump() +
                                                            "; this release reads " + std::to_string(kVersion));
    }
    MachineSnapshot snapshot;
    document.at("tag").get_to(snapshot.tag);
    document.at("vmm").get_to(snapshot.vmm);
    HARENA_TRY(snapshot.config, MachineConfig::parse(document.at("config").dump()));
    for (const auto& [path, image] : document.at("images").items()) {
      snapshot.images[path] = {image.at("size_bytes").get<std::int64_t>(), image.at("changed_ns").get<std::int64_t>()};
    }
    return snapshot;
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("a machine's snapshot can't be read: ") + e.what());
  }
}

Status MachineSnapshot::write(const std::string& folder) const {
  json document = {{"qemu_snapshot", kVersion}, {"tag", tag}, {"vmm", vmm}, {"config", config.to_json()}, {"images", json::object()}};
  for (const auto& [path, image] : images) {
    document["images"][path] = {{"size_bytes", image.size_bytes}, {"changed_ns", image.changed_ns}};
  }
  HARENA_TRY(UniqueFd at, open_directory(AT_FDCWD, folder));
  const std::string fresh = std::string(kManifest) + ".new";
  HARENA_TRY_STATUS(create_file_at(at.get(), fresh, document.dump(-1, ' ', false, json::error_handler_t::replace), 0600));
  HARENA_TRY_STATUS(sync_file(folder + "/" + fresh));
  if (::renameat(at.get(), fresh.c_str(), at.get(), kManifest) != 0) return errno_error(errno, "renaming a manifest");
  // The second names of the disks as well: a snapshot that is said to be ready is there after a power loss.
  return sync_file(folder);
}

Status MachineSnapshot::check_images() const {
  HARENA_TRY(const auto now, identify_images(config));
  for (const auto& [path, image] : now) {
    const auto then = images.find(path);
    if (then != images.end() && then->second == image) continue;
    return make_error(ErrorCode::failed_precondition, "the image " + path + " isn't what it was when the snapshot '" + tag +
                                                          "' was taken; its size and time must be the same");
  }
  return {};
}

Status MachineSnapshot::check_fits(const MachineConfig& wanted) const {
  const json then = config.to_json(), now = wanted.to_json();
  if (wanted.cpus > config.all_cpus() && wanted.cpus != config.asked_cpus) return differs("cpu", wanted.cpus, config.all_cpus());
  if (wanted.memory_bytes != config.all_memory_bytes() && wanted.memory_bytes != config.asked_memory_bytes) {
    return differs("memory", wanted.memory_bytes, config.all_memory_bytes());
  }
  for (const auto& [key, name] : kParameters) {
    if (then.at(key) == now.at(key)) continue;
    if (std::string_view(key) == "max_cpus" && wanted.max_cpus == wanted.cpus) continue;  // nobody said one
    const bool secret = std::string_view(name) == "cloud_init";
    return secret ? differs(name, "another", "(not shown)") : differs(name, now.at(key), then.at(key));
  }
  if (config.kvm != wanted.kvm) return another_host("the accelerator", config.kvm ? "kvm" : "tcg", wanted.kvm ? "kvm" : "tcg");
  if (config.cpu_model != wanted.cpu_model) return another_host("the CPU model", config.cpu_model, wanted.cpu_model);
  return check_images();
}

}  // namespace harena::qemu
