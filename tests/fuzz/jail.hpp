#pragma once
// A small tree on a file system of its own, which becomes this process's root: what a resolver finds is inside if, and only if, it is on
// that file system.

#include <sys/types.h>

#include "sdk/base/unique_fd.hpp"

namespace harena::fuzz {

struct Jail {
  UniqueFd proc;      ///< the host's /proc
  dev_t device = 0;   ///< of everything inside
};

/// Mount namespace, tmpfs, tree, chroot. Exits with 77 and a sentence where that needs rights that this process lacks.
Jail enter_jail();

}  // namespace harena::fuzz
