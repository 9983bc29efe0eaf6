#pragma once
// Bytes from one connection into a command's stdin, no faster than the command reads.

#include <functional>
#include <memory>
#include <string>

#include "shim/command.hpp"
#include "shim/connection.hpp"

namespace harena::shim {

class StdinWriter {
 public:
  struct Outcome {
    std::function<void()> ended;
    std::function<void(const Error&)> failed;
  };
  /// Claims the command's input: an earlier writer's operation fails with aborted.
  StdinWriter(Connection& connection, std::shared_ptr<Command> command, Outcome outcome);
  ~StdinWriter();
  StdinWriter(const StdinWriter&) = delete;
  StdinWriter& operator=(const StdinWriter&) = delete;

  /// out_of_range for a gap. Bytes below what was taken are skipped, also when the stdin is closed by now: they were taken.
  Status begin_at(std::uint64_t offset);
  void add(std::string_view bytes);
  /// Close the command's stdin behind what was added.
  void end();

 private:
  void pump();

  Connection& connection_;
  std::shared_ptr<Command> command_;
  Outcome outcome_;
  std::string pending_;
  std::size_t used_ = 0;
  std::uint64_t skip_ = 0;
  bool end_ = false;
  /// Begun on a closed stdin: there is nothing to write, and its end is no news.
  bool repeats_ = false;
  bool failed_ = false;
};

}  // namespace harena::shim
