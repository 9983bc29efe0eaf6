#pragma once
// A local folder as a tar stream (pax), pulled piece by piece: memory stays small however large it is.
//
//   HARENA_TRY(auto packer, TarPacker::open(entries, meter));
//   HARENA_TRY(const auto count, packer->read(buffer, size));   // 0 at the end

#include <functional>
#include <memory>
#include <vector>

#include "core/cli/local_tree.hpp"
#include "core/cli/transfer_meter.hpp"

namespace harena::cli {

/// Kept are modes, times, symlinks, hard links among the entries and `user.*` attributes; owners are root, as with any copy into a
/// sandbox.
class TarPacker {
 public:
  /// Borrows both.
  static Result<std::unique_ptr<TarPacker>> open(const std::vector<LocalEntry>& entries, TransferMeter& meter);
  ~TarPacker();

  /// At least one byte, or 0 at the end. Errors: those of reading the files; aborted for one that gets shorter meanwhile.
  Result<std::size_t> read(char* buffer, std::size_t size);

 private:
  struct State;
  explicit TarPacker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace harena::cli
