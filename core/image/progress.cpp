#include "core/image/progress.hpp"

namespace harena::image {
namespace {

constexpr std::int64_t kTellEveryNs = 200'000'000;

}  // namespace

Status ImportProgress::check() const {
  if (call_.cancelled()) return make_error(ErrorCode::cancelled, "the import was cancelled");
  if (call_.deadline_ns == 0 || clock_.monotonic_ns() < call_.deadline_ns) return ok_status();
  return make_error(ErrorCode::deadline_exceeded, "the import didn't end before its deadline");
}

void ImportProgress::set_layer(std::size_t layer, std::size_t layers) {
  layer_ = layer;
  layers_ = layers;
}

void ImportProgress::begin(std::string stage, std::int64_t total_bytes) {
  stage_ = std::move(stage);
  total_bytes_ = total_bytes;
  done_bytes_ = 0;
  tell();
}

void ImportProgress::done(std::int64_t bytes) {
  done_bytes_ = bytes;
  if (clock_.monotonic_ns() - told_ns_ >= kTellEveryNs) tell();
}

void ImportProgress::tell() {
  told_ns_ = clock_.monotonic_ns();
  if (!call_.progress) return;
  std::string step = stage_;
  if (layers_ > 1) step += ", layer " + std::to_string(layer_) + " of " + std::to_string(layers_);
  nlohmann::json total;
  if (total_bytes_ > 0) total = total_bytes_;
  call_.progress({{"step", std::move(step)}, {"done", done_bytes_}, {"total", std::move(total)}});
}

}  // namespace harena::image
