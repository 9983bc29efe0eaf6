#pragma once
// A tar stream from a sandbox, laid out below a local folder and nowhere else, whatever is in it.
//
//   HARENA_TRY(auto unpacker, TarUnpacker::start(tree, meter));
//   ... unpacker->write(bytes) as they come ...
//   HARENA_TRY_STATUS(unpacker->finish());
//
// A thread of its own reads the stream, for libarchive asks for bytes and the network hands them over.

#include <memory>
#include <string_view>

#include "core/cli/local_tree.hpp"
#include "core/cli/transfer_meter.hpp"

namespace harena::cli {

class TarUnpacker {
 public:
  /// Borrows both.
  static Result<std::unique_ptr<TarUnpacker>> start(const LocalTree& tree, TransferMeter& meter);
  /// Without finish(): what was laid out stays, a file that was half written goes.
  ~TarUnpacker();

  /// Returns when the bytes were taken: this is the back-pressure. The error of the one who lays them out, if that has ended.
  Status write(std::string_view bytes);
  /// Everything is in its place. Errors: data_loss for an entry that isn't a plain path below the folder, for a FIFO or device, and for
  /// an archive that is none; unavailable (kConnectionLost) for one without its end, which can be asked for again.
  Status finish();

 private:
  struct State;
  explicit TarUnpacker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace harena::cli
