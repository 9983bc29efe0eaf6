#include "sdk/support/own_files.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace harena {
namespace {

std::string folder_of(const void* symbol) {
  Dl_info info{};
  if (::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

std::string find_own_file(const void* symbol, const std::string& name, int mode) {
  const std::string folder = folder_of(symbol);
  for (const auto& candidate : {folder + "/" + name, folder + "/../../bin/" + name, folder + "/../../../../libexec/harena/" + name,
                                "/usr/local/libexec/harena/" + name, "/usr/libexec/harena/" + name}) {
    if (::access(candidate.c_str(), mode) == 0) return candidate;
  }
  return {};
}

}  // namespace harena
