#include "guest/kernel_modules.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/files.hpp"

namespace harena::guest {
namespace {

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string module_name(const std::string& path) {
  const auto file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

}  // namespace

std::string module_parameters(const std::string& command_line, const std::string& name) {
  std::string parameters;
  for (const auto& word : split(command_line, ' ')) {
    const auto dot = word.find('.');
    if (dot == std::string::npos || with_underscores(word.substr(0, dot)) != with_underscores(name)) continue;
    parameters += (parameters.empty() ? "" : " ") + word.substr(dot + 1);
  }
  return parameters;
}

Status load_modules(const std::string& list) {
  HARENA_TRY(auto text, read_file_at(AT_FDCWD, list));
  HARENA_TRY(auto command_line, read_file_at(AT_FDCWD, "/proc/cmdline"));
  while (!command_line.empty() && command_line.back() == '\n') command_line.pop_back();
  for (const auto& path : split(text, '\n')) {
    if (path.empty()) continue;
    UniqueFd module(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!module) return errno_error(errno, "open module " + path);
    const auto parameters = module_parameters(command_line, module_name(path));
    if (::syscall(SYS_finit_module, module.get(), parameters.c_str(), 0) != 0 && errno != EEXIST) {
      return errno_error(errno, "load module " + path);
    }
  }
  return {};
}

}  // namespace harena::guest
