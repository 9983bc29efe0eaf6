#pragma once
// A reader of a command's output, from any offset, at its own pace; also its stdin, resizes and signals when it sends them.

#include <memory>
#include <optional>

#include "sdk/session/command_messages.hpp"
#include "shim/command_table.hpp"
#include "shim/connection.hpp"
#include "shim/stdin_writer.hpp"

namespace harena::shim {

class AttachOperation : public Operation, public CommandListener {
 public:
  AttachOperation(Connection& connection, CommandTable& table, std::shared_ptr<Command> command,
                  session::AttachRequest request, bool kill_on_disconnect);
  ~AttachOperation() override;

  /// out_of_range for an offset past what was written.
  Status check() const;
  void pump();
  /// `started` goes out before the first frame of this operation.
  void announce_late(session::Started started) { late_started_ = std::move(started); }

  void on_command() override { pump(); }
  void on_writable() override { pump(); }
  void on_frame(const session::FrameHeader& header, std::string_view payload) override;

 private:
  struct Reader {
    session::Stream stream;
    session::FrameType frame;
    std::uint64_t offset;
    bool marked = false;
  };
  std::uint64_t end_of(const Reader& reader) const;
  bool pump_stream(Reader& reader);
  void mark_truncated(Reader& reader);
  bool at_end(const Reader& reader) const { return reader.offset >= end_of(reader); }
  void announce();
  void finish_if_done();
  StdinWriter& writer();

  CommandTable& table_;
  std::shared_ptr<Command> command_;
  session::AttachRequest request_;
  Reader out_;
  Reader err_;
  std::unique_ptr<StdinWriter> writer_;
  bool kill_on_disconnect_;
  bool finished_ = false;
  std::optional<session::Started> late_started_;
};

}  // namespace harena::shim
