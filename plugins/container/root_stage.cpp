#include "plugins/container/root_stage.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "plugins/container/sandbox_folders.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {

std::vector<std::string> StageWish::digests() const {
  std::vector<std::string> list;
  for (const auto& layer : layers) list.push_back(layer.digest);
  return list;
}

std::string stages_beside(const std::string& state_dir) {
  std::string path = state_dir;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(0, path.rfind('/') + 1) + ".container-blanks";
}

Result<std::string> make_stage(const std::string& folder, const std::string& name, std::uint32_t first_id) {
  HARENA_TRY(UniqueFd parent, ensure_directory(AT_FDCWD, folder, 0700));
  spread_folders_in(folder);
  HARENA_TRY(UniqueFd stage, ensure_directory(parent.get(), name, 0700));
  fault_point("stage.begun");
  HARENA_TRY_STATUS(make_upper_and_work(stage.get(), first_id));
  return folder + "/" + name;
}

Status take_stage(const std::string& stage, const std::string& state_dir) {
  for (const char* name : {"u", "w"}) {
    const std::string from = stage + "/" + name, to = state_dir + "/" + name;
    if (::rename(from.c_str(), to.c_str()) != 0) return errno_error(errno, "move " + from + " to " + to);
    fault_point("stage.moved");
  }
  ::rmdir(stage.c_str());
  ::rmdir(std::filesystem::path(stage).parent_path().c_str());  // unless others are there
  return {};
}

Status remove_stage(const std::string& stage) {
  const std::filesystem::path path(stage);
  auto folder = open_directory(AT_FDCWD, path.parent_path().string());
  if (!folder.ok()) return {};
  HARENA_TRY_STATUS(remove_tree_at(folder->get(), path.filename().string()));
  ::rmdir(path.parent_path().c_str());
  return {};
}

Status remove_stages_of_others(const std::string& folder, const std::string& own) {
  auto opened = open_directory(AT_FDCWD, folder);
  if (!opened.ok()) return {};
  HARENA_TRY(const auto names, list_directory(opened->get(), "."));
  for (const auto& name : names) {
    if (!name.starts_with(own)) HARENA_TRY_STATUS(remove_tree_at(opened->get(), name));
  }
  ::rmdir(folder.c_str());
  return {};
}

}  // namespace harena::container
