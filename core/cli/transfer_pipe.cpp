// stdin and stdout as the local side of `cp`.
#include <unistd.h>

#include <cerrno>

#include "core/cli/print.hpp"
#include "core/cli/transfer.hpp"

namespace harena::cli {

using client::Files;
using client::FileStat;

namespace {

constexpr unsigned kModeOfStdin = 0644;

Result<std::size_t> read_stdin(char* buffer, std::size_t size, TransferMeter& meter) {
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, buffer, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno_error(errno, "stdin");
  meter.add_bytes(count);
  return static_cast<std::size_t>(count);
}

}  // namespace

Status upload_stdin(const TransferPlan& plan, const std::string& target) {
  HARENA_TRY_STATUS(Files(plan.client, plan.sandbox).write(target, kModeOfStdin, [&]() -> Result<Files::Source> {
    if (plan.meter.bytes() > 0) return make_error(ErrorCode::aborted, "the connection broke, and stdin can't be read twice");
    return Files::Source([&plan](char* buffer, std::size_t size) { return read_stdin(buffer, size, plan.meter); });
  }));
  plan.meter.add_file();
  return {};
}

Status download_to_stdout(const TransferPlan& plan, const FileStat& source) {
  const auto sink = [&](std::string_view bytes) {
    plan.meter.add_bytes(static_cast<std::int64_t>(bytes.size()));
    return write_all(STDOUT_FILENO, bytes);
  };
  Files files(plan.client, plan.sandbox);
  HARENA_TRY_STATUS(source.type == "dir" ? files.read_archive(source.path, sink) : files.read(source.path, sink));
  plan.meter.add_file();
  return {};
}

}  // namespace harena::cli
