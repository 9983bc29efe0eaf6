#pragma once
// An empty qcow2 overlay (version 3, docs/interop/qcow2.txt of QEMU): nothing allocated, so that every read goes to the parent that
// the VMM is
// told of. The file itself names none: chains are lists of ours, and no path of this host is in a snapshot.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::vmm {

/// Makes `path` (O_EXCL, mode 0600) for a disk of `size_bytes`, a multiple of 512 and at most 8 TiB. invalid_argument otherwise.
/// What fails leaves no file.
Status make_qcow2_overlay(const std::string& path, std::int64_t size_bytes);

}  // namespace harena::vmm
