#include "plugins/microvm/machine/machine_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "sdk/support/files.hpp"

namespace harena::microvm {
namespace {

using nlohmann::json;

Result<std::int64_t> size_of(const std::string& folder, const std::string& name) {
  struct stat status{};
  if (::lstat((folder + "/" + name).c_str(), &status) == 0) return std::int64_t{status.st_size};
  if (errno == ENOENT) return make_error(ErrorCode::data_loss, "the machine image lacks its file " + name);
  return errno_error(errno, "looking at " + name + " of a machine image");
}

json to_json(const MachineImage& image) {
  json disk = json::array();
  for (const auto& file : image.disk) disk.push_back({{"file", file.path}, {"format", file.overlay ? "qcow2" : "raw"}});
  return {{"harena_machine_image", MachineImage::kVersion}, {"ram", image.ram}, {"delta", image.delta}, {"state", image.state}, {"disk", disk},
          {"ram_bytes", image.ram_bytes}, {"disk_bytes", image.disk_bytes}, {"cpus", image.cpus}, {"layers", image.layers},
          {"vmm", image.vmm}, {"kvm", image.kvm}, {"cpu_model", image.cpu_model}, {"readonly_root", image.readonly_root}, {"bytes", image.bytes}};
}

/// A manifest may come from another machine: its names stay inside of the folder.
std::string checked_name(const json& value) {
  auto name = value.get<std::string>();
  const bool good = !name.empty() && name.size() < 64 && name.find('/') == std::string::npos && name.front() != '.';
  if (!good) throw std::runtime_error("'" + name.substr(0, 80) + "' is no name of a file in an image");
  return name;
}

MachineImage image_from(const json& document) {
  MachineImage image;
  image.ram = checked_name(document.at("ram"));
  image.state = checked_name(document.at("state"));
  if (!document.at("delta").get<std::string>().empty()) image.delta = checked_name(document["delta"]);
  for (const auto& file : document.at("disk")) image.disk.push_back({checked_name(file.at("file")), file.at("format") == "qcow2"});
  document.at("ram_bytes").get_to(image.ram_bytes);
  document.at("disk_bytes").get_to(image.disk_bytes);
  document.at("cpus").get_to(image.cpus);
  document.at("layers").get_to(image.layers);
  document.at("vmm").get_to(image.vmm);
  document.at("kvm").get_to(image.kvm);
  document.at("cpu_model").get_to(image.cpu_model);
  document.at("readonly_root").get_to(image.readonly_root);
  document.at("bytes").get_to(image.bytes);
  return image;
}

Status sync_folder(const std::string& folder) {
  HARENA_TRY(UniqueFd at, open_directory(AT_FDCWD, folder));
  return ::fsync(at.get()) == 0 ? Status() : Status(errno_error(errno, "writing the folder of a machine image to the disk"));
}

}  // namespace

Status sync_if_there(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return {};
  if (!file || ::fsync(file.get()) != 0) return errno_error(errno, "writing " + path + " to the disk");
  return {};
}

std::vector<std::string> MachineImage::files() const {
  std::vector<std::string> names = {ram, state};
  if (!delta.empty()) names.push_back(delta);
  for (const auto& file : disk) names.push_back(file.path);
  return names;
}

Result<MachineImage> MachineImage::read(const std::string& folder) {
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, folder + "/" + kManifestFile));
  try {
    const json document = json::parse(text);
    if (document.at("harena_machine_image") != kVersion) {
      return make_error(ErrorCode::failed_precondition, "a machine image of version " + document["harena_machine_image"].dump() +
                                                            "; this release reads " + std::to_string(kVersion));
    }
    return image_from(document);
  } catch (const std::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("a machine image's manifest can't be read: ") + e.what());
  }
}

Status MachineImage::write(const std::string& folder) const { return write(folder, false); }

Status MachineImage::write(const std::string& folder, bool synced) const {
  HARENA_TRY(UniqueFd at, open_directory(AT_FDCWD, folder));
  const std::string fresh = std::string(kManifestFile) + ".new";
  MachineImage whole = *this;
  whole.bytes.clear();
  for (const auto& name : files()) {
    HARENA_TRY(whole.bytes[name], size_of(folder, name));
  }
  Status made = create_file_at(at.get(), fresh, to_json(whole).dump(2), 0600);
  if (made.ok() && synced) made = sync_if_there(folder + "/" + fresh);
  if (!made.ok()) {
    ::unlinkat(at.get(), fresh.c_str(), 0);
    return made;
  }
  if (::renameat(at.get(), fresh.c_str(), at.get(), kManifestFile) != 0) return errno_error(errno, "renaming a manifest");
  return {};
}

Status MachineImage::write_to_disk(const std::string& folder) const {
  HARENA_TRY_STATUS(sync(folder));
  HARENA_TRY_STATUS(write(folder, true));
  return sync_folder(folder);
}

Status MachineImage::sync(const std::string& folder) const {
  for (const auto& name : files()) {
    UniqueFd file(::open((folder + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return errno_error(errno, "opening " + name + " of a machine image");
    if (::fdatasync(file.get()) != 0) return errno_error(errno, "writing " + name + " of a machine image to the disk");
  }
  HARENA_TRY_STATUS(sync_if_there(folder + "/" + kManifestFile));
  return sync_folder(folder);
}

Status MachineImage::check_files(const std::string& folder) const {
  for (const auto& name : files()) {
    HARENA_TRY(const std::int64_t size, size_of(folder, name));
    const auto wanted = bytes.find(name);
    if (wanted == bytes.end()) return make_error(ErrorCode::data_loss, "the machine image's manifest has no size of " + name);
    if (size == wanted->second) continue;
    return make_error(ErrorCode::data_loss, name + " of the machine image has " + std::to_string(size) + " bytes; it had " + std::to_string(wanted->second));
  }
  return {};
}

Status MachineImage::forget(const std::string& folder) {
  if (::unlink((folder + "/" + kManifestFile).c_str()) == 0 || errno == ENOENT) return {};
  return errno_error(errno, "removing a manifest");
}

Result<FileNames> FileNames::in(const std::string& folder) {
  HARENA_TRY(const auto entries, list_directory(AT_FDCWD, folder));
  FileNames names;
  for (const auto& entry : entries) {
    const std::size_t dot = entry.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string digits = entry.substr(dot + 1);
    const bool number = !digits.empty() && digits.size() < 19 && digits.find_first_not_of("0123456789") == std::string::npos;
    if (number) names.last_ = std::max<std::uint64_t>(names.last_, std::stoull(digits));
  }
  return names;
}

Result<MachineImage> adopt_image(const MachineImage& image, const std::string& from, const std::string& to, FileNames& names) {
  MachineImage mine = image;
  std::vector<std::string> taken;
  auto take = [&](std::string& name, const char* kind) -> Status {
    const std::string source = from + "/" + name;
    name = names.next(kind);
    HARENA_TRY_STATUS(link_or_copy(source, to + "/" + name));
    taken.push_back(to + "/" + name);
    return {};
  };
  const Status all = [&]() -> Status {
    HARENA_TRY_STATUS(take(mine.ram, "ram"));
    HARENA_TRY_STATUS(take(mine.state, "state"));
    if (!mine.delta.empty()) HARENA_TRY_STATUS(take(mine.delta, "delta"));
    for (auto& file : mine.disk) HARENA_TRY_STATUS(take(file.path, "disk"));
    return {};
  }();
  if (all.ok()) return mine;
  for (const auto& path : taken) ::unlink(path.c_str());
  return all.error();
}

}  // namespace harena::microvm
