#include "plugins/microvm/template_key.hpp"

#include <sys/stat.h>

#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::microvm {
namespace {

constexpr std::size_t kKeyDigits = 32;

json stamp_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return path;
  return {path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

std::string template_key(const MachineConfig& config, const StartSpec& start) {
  json document = config.to_json();
  // (tsc_khz is measured: the same host never says quite the same.)
  for (const char* own : {"sandbox", "run_dir", "vm_dir", "from", "tied", "standby", "paused", "groups", "uid", "hostname", "machine_id", "start_timeout_ms", "layers", "tsc_khz"}) {
    document.erase(own);
  }
  document["version"] = MachineImage::kVersion;
  for (const auto& layer : config.layers) document["digests"].push_back(layer.digest);
  document["files"] = {stamp_of(config.program), stamp_of(config.kernel), stamp_of(config.initramfs)};
  if (!start.command.empty()) document["start"] = {start.command, start.ready, start.user, start.folder};
  return sha256_hex(document.dump(-1, ' ', false, json::error_handler_t::replace)).substr(0, kKeyDigits);
}

}  // namespace harena::microvm
