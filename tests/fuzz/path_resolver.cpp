// The shim's path resolver, over a real tree: whatever the path, what is found is inside, is what was asked for, and nothing blocks.
#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <string>

#include "shim/file_tree.hpp"
#include "shim/paths.hpp"
#include "tests/fuzz/jail.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::shim {
namespace {

struct World {
  fuzz::Jail jail = fuzz::enter_jail();
  Result<FileTree> tree = FileTree::open(jail.proc.get());
};

World& world() {
  static World one;  // libFuzzer's interface has no other place for it
  return one;
}

struct stat inside(int fd) {
  struct stat info{};
  fuzz::expect(::fstat(fd, &info) == 0, "a descriptor that was found is open");
  fuzz::expect(info.st_dev == world().jail.device, "what was found is inside the tree");
  return info;
}

void check_place(const Result<Place>& place) {
  if (!place) return;
  fuzz::expect(S_ISDIR(inside(place->folder.get()).st_mode), "a place is in a folder");
  const auto& name = place->name;
  fuzz::expect(!name.empty() && name.find('/') == std::string::npos && name != "." && name != "..", "a place's name is one name");
}

}  // namespace
}  // namespace harena::shim

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  harena::fuzz::expect(harena::shim::world().tree.ok(), "the tree can be opened");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::shim;
  const std::string path(reinterpret_cast<const char*>(data), size);
  const bool valid = check_path(path).ok();
  const auto& tree = *world().tree;
  for (const auto links : {Links::follow, Links::dont_follow}) {
    const auto found = tree.find(path, links);
    harena::fuzz::expect(!found.ok() || valid, "a path that is refused finds nothing");
    if (found) inside(found->get());
  }
  check_place(tree.place(path));
  check_place(tree.final_place(path));
  const auto file = tree.open_file(path, O_RDONLY);
  if (file) harena::fuzz::expect(S_ISREG(inside(file->get()).st_mode), "only regular files are opened");
  return 0;
}
