#include "sdk/client/lines.hpp"

namespace harena::client {

Status LineSplitter::feed(std::string_view bytes, const std::function<Status(std::string_view)>& on_line) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    std::string_view line = bytes.substr(0, end);
    if (!rest_.empty()) {
      rest_ += line;
      line = rest_;
    }
    if (!line.empty()) HARENA_TRY_STATUS(on_line(line));
    rest_.clear();
    bytes.remove_prefix(end + 1);
  }
  rest_ += bytes;
  if (rest_.size() <= kMaxLineBytes) return {};
  return make_error(ErrorCode::data_loss, "a line of the answer has over " + std::to_string(kMaxLineBytes) + " bytes");
}

}  // namespace harena::client
