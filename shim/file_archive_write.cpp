// A tar stream into a folder.

#include <sys/stat.h>

#include "shim/file_verbs.hpp"
#include "shim/tar_extractor.hpp"

namespace harena::shim {
namespace {

/// The client's data frames.
class ChannelSource : public TarSource {
 public:
  explicit ChannelSource(WorkerChannel& channel) : channel_(channel) {}

  Result<std::string_view> next() override {
    while (!ended_) {
      HARENA_TRY_STATUS(channel_.receive_into(frame_));
      if (frame_.header.type == session::FrameType::data_end) ended_ = true;
      if (!ended_ && frame_.header.type != session::FrameType::data) {
        auto type = session::to_string(frame_.header.type);
        return make_error(ErrorCode::invalid_argument, "session protocol: frame '" + type + "' in an archive");
      }
      if (!ended_ && !frame_.payload.empty()) return std::string_view(frame_.payload);
    }
    return std::string_view();
  }

 private:
  WorkerChannel& channel_;
  WorkerChannel::Frame frame_;
  bool ended_ = false;
};

}  // namespace

Result<std::string> write_archive(const FileTree& tree, WorkerChannel& channel, const session::FileArchiveWriteRequest& request) {
  HARENA_TRY(auto found, tree.find(request.path, Links::follow));
  HARENA_TRY(auto stat, stat_of(found.get(), request.path));
  if (stat.type != session::FileType::directory) return not_a_folder(request.path);
  if (!channel.send(session::FrameType::ready, {})) return make_error(ErrorCode::unavailable, "the client has left");
  ChannelSource source(channel);
  TarExtractor extractor(tree, channel.leftovers(), found.get());
  auto status = read_tar(source, extractor);
  // Also of what was extracted before a refusal.
  auto finished = extractor.finish();
  HARENA_TRY_STATUS(std::move(status));
  HARENA_TRY_STATUS(std::move(finished));
  return session::encode(extractor.totals());
}

}  // namespace harena::shim
