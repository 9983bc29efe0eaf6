#include "plugins/e2b/envd/http/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace harena::e2b {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip with its largest window
constexpr int kFast = 1;              // a file on its way through: the network is not slower than a higher level
constexpr int kMemory = 8;
using Block = std::array<char, 32 * 1024>;

void give(z_stream& stream, std::string_view input) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(input.size(), 1u << 30));
}

void room(z_stream& stream, Block& block, std::size_t most) {
  stream.next_out = reinterpret_cast<Bytef*>(block.data());
  stream.avail_out = static_cast<uInt>(std::min(block.size(), most));
}

Error broken(const z_stream& stream) {
  const char* why = stream.msg != nullptr ? stream.msg : "it ends in the middle";
  return make_error(ErrorCode::invalid_argument, std::string("the body isn't gzip: ") + why);
}

}  // namespace

struct GzipReader::State {
  z_stream stream{};
  Block block;
};

GzipReader::GzipReader() : state_(std::make_unique<State>()) {
  if (inflateInit2(&state_->stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
}
GzipReader::~GzipReader() { inflateEnd(&state_->stream); }

Status GzipReader::step(std::string_view& input, std::string& out, std::size_t max_out) {
  auto& stream = state_->stream;
  std::size_t left = max_out;
  while (left > 0) {
    if (finished_ && input.empty()) return {};
    if (finished_ && inflateReset(&stream) != Z_OK) return broken(stream);
    finished_ = false;
    give(stream, input);
    room(stream, state_->block, left);
    const auto offered = stream.avail_in;
    const auto space = stream.avail_out;
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) return broken(stream);
    input.remove_prefix(offered - stream.avail_in);
    const std::size_t made = space - stream.avail_out;
    out.append(state_->block.data(), made);
    left -= made;
    finished_ = outcome == Z_STREAM_END;
    if (!finished_ && made == 0 && offered == stream.avail_in) return {};  // needs more input
  }
  return {};
}

struct GzipWriter::State {
  z_stream stream{};
  Block block;
};

GzipWriter::GzipWriter() : state_(std::make_unique<State>()) {
  if (deflateInit2(&state_->stream, kFast, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
}
GzipWriter::~GzipWriter() { deflateEnd(&state_->stream); }

Status GzipWriter::step(std::string_view input, std::string& out, bool last) {
  auto& stream = state_->stream;
  for (;;) {
    give(stream, input);
    room(stream, state_->block, state_->block.size());
    const auto offered = stream.avail_in;
    const auto space = stream.avail_out;
    const int outcome = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    if (outcome == Z_STREAM_ERROR) return make_error(ErrorCode::internal, "zlib refused to compress");
    input.remove_prefix(offered - stream.avail_in);
    out.append(state_->block.data(), space - stream.avail_out);
    if (outcome == Z_STREAM_END) return {};
    if (!last && input.empty() && stream.avail_out > 0) return {};
  }
}

Result<std::string> gzip(std::string_view bytes) {
  GzipWriter writer;
  std::string out;
  HARENA_TRY_STATUS(writer.step(bytes, out, true));
  return out;
}

Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes) {
  GzipReader reader;
  std::string out;
  HARENA_TRY_STATUS(reader.step(bytes, out, max_bytes + 1));
  if (out.size() > max_bytes) {
    return make_error(ErrorCode::resource_exhausted, "uncompressed it has over " + std::to_string(max_bytes) + " bytes");
  }
  if (!reader.finished()) return make_error(ErrorCode::invalid_argument, "the body isn't gzip: it ends in the middle");
  return out;
}

}  // namespace harena::e2b
