#include "core/cli/transfer_meter.hpp"

#include <unistd.h>

#include <string>

#include "core/cli/print.hpp"

namespace harena::cli {

namespace {

constexpr std::chrono::milliseconds kShowEvery{100};

}  // namespace

TransferMeter::~TransferMeter() {
  if (!line_open_) return;
  show(true);
  const auto ignored = write_all(STDERR_FILENO, "\n");
}

void TransferMeter::expect(std::int64_t files, std::int64_t bytes) {
  files_ += files;
  total_bytes_ += bytes;
}

void TransferMeter::add_bytes(std::int64_t count) {
  done_bytes_ += count;
  show(false);
}

void TransferMeter::add_file() {
  ++done_files_;
  show(false);
}

void TransferMeter::take_back(std::int64_t files, std::int64_t bytes) {
  done_files_ -= files;
  done_bytes_ -= bytes;
}

void TransferMeter::show(bool always) {
  if (!shown_) return;
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!always && now < next_) return;
  next_ = now + kShowEvery;
  line_open_ = true;
  // Of a stream nobody knows the total.
  const bool known = files_ > 0;
  const auto files = std::to_string(done_files_) + (known ? " of " + std::to_string(files_) : "") + " files, ";
  const auto bytes = human_size(done_bytes_) + (known ? " of " + human_size(total_bytes_) : "");
  const auto ignored = write_all(STDERR_FILENO, "\r\033[K" + files + bytes);
}

}  // namespace harena::cli
