#pragma once
// Looks at a stack as a sandbox would: EROFS files under an overlay, in a mount namespace of a child, which takes the
// mounts with it.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace harena::image {

/// "skip: ..." when this host can't mount; else what `look` returns about the merged folder ("" is all right).
inline std::string look_at_stack(const std::vector<std::string>& layers, const std::string& scratch,
                                 const std::function<std::string(const std::filesystem::path&)>& look) {
  int ends[2];
  if (::pipe(ends) != 0) return "pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto answer = [&](const std::string& text) {
      (void)!::write(ends[1], text.data(), text.size());
      ::_exit(0);
    };
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) answer("skip: no private mount namespace");
    std::string lowers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto at = scratch + "/l" + std::to_string(i);
      std::filesystem::create_directory(at);
      // mount(8) takes a loop device where the kernel can't mount the file itself (before 6.12).
      if (std::system(("mount -t erofs -o ro '" + layers[i] + "' '" + at + "' 2>/dev/null").c_str()) != 0) answer("skip: no EROFS mounts on this host");
      lowers = at + (lowers.empty() ? "" : ":" + lowers);
    }
    auto merged = scratch + "/l0";
    if (layers.size() > 1) {
      merged = scratch + "/merged";
      std::filesystem::create_directory(merged);
      if (::mount("overlay", merged.c_str(), "overlay", MS_RDONLY, ("lowerdir=" + lowers).c_str()) != 0) answer("skip: no overlayfs on this host");
    }
    answer(look(merged));
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "the child ended with " + std::to_string(status);
}

}  // namespace harena::image
