#include "core/cli/tar_unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sdk/base/utf8_scope.hpp"
#include "sdk/client/retry.hpp"

namespace harena::cli {

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
/// An archive ends with two of these blocks of zeros.
constexpr std::size_t kTarBlock = 512;

struct FreeReader {
  void operator()(archive* one) const { ::archive_read_free(one); }
};

/// "./a/b/" as {"a", "b"}; none for the folder itself.
Result<PathParts> parts_of(const char* name) {
  std::string text = name == nullptr ? "" : name;
  while (text.starts_with("./")) text.erase(0, 2);
  while (text.ends_with('/')) text.pop_back();
  if (text.empty() || text == ".") return PathParts();
  return parts_below("/", "/" + text);
}

/// Lays out one archive; lives in its thread.
class Layout {
 public:
  Layout(const LocalTree& tree, TransferMeter& meter, int fd) : tree_(tree), meter_(meter) {
    ::archive_read_support_format_tar(reader_.get());
    opened_ = ::archive_read_open_fd(reader_.get(), fd, kBlockBytes) == ARCHIVE_OK;
  }

  Status run() {
    if (!opened_) return failure("the archive");
    archive_entry* entry = nullptr;
    int status = 0;
    while ((status = ::archive_read_next_header(reader_.get(), &entry)) == ARCHIVE_OK || status == ARCHIVE_WARN) {
      HARENA_TRY(const auto parts, parts_of(::archive_entry_pathname(entry)));
      if (!parts.empty()) HARENA_TRY_STATUS(lay_out(entry, parts));
    }
    if (status != ARCHIVE_EOF) return failure("the archive");
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
      HARENA_TRY_STATUS(tree_.chmod(folder->first, folder->second));
    }
    return {};
  }

 private:
  Error failure(const std::string& what) const {
    const char* text = ::archive_error_string(reader_.get());
    return make_error(ErrorCode::data_loss, what + ": " + (text == nullptr ? "it can't be read" : text));
  }

  Status lay_out(archive_entry* entry, const PathParts& parts) {
    if (const char* target = ::archive_entry_hardlink(entry)) {
      HARENA_TRY(const auto existing, parts_of(target));
      HARENA_TRY_STATUS(tree_.link(existing, parts));
      meter_.add_file();
      return {};
    }
    const auto mode = static_cast<unsigned>(::archive_entry_perm(entry));
    const auto type = ::archive_entry_filetype(entry);
    if (type == AE_IFDIR) {
      folders_.emplace_back(parts, mode);
      return tree_.mkdir(parts, mode);
    }
    if (type == AE_IFLNK) return tree_.symlink(parts, ::archive_entry_symlink(entry));
    if (type == AE_IFREG) return write_file(entry, parts, mode);
    return make_error(ErrorCode::data_loss, "'" + parts.back() + "' in the sandbox is a FIFO or a device; it can't be copied");
  }

  Status write_file(archive_entry* entry, const PathParts& parts, unsigned mode) {
    HARENA_TRY(const auto pending, tree_.create(parts, mode));
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    int status = 0;
    while ((status = ::archive_read_data_block(reader_.get(), &bytes, &size, &offset)) == ARCHIVE_OK) {
      // At its place: what lies between is a hole, and stays one.
      HARENA_TRY_STATUS(pending->write_at(offset, {static_cast<const char*>(bytes), size}));
      meter_.add_bytes(static_cast<std::int64_t>(size));
    }
    if (status != ARCHIVE_EOF) return failure(parts.back());
    HARENA_TRY_STATUS(pending->set_size(::archive_entry_size(entry)));
    set_attributes(entry, *pending);
    HARENA_TRY_STATUS(pending->commit());
    meter_.add_file();
    return {};
  }

  static void set_attributes(archive_entry* entry, const PendingFile& pending) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    ::archive_entry_xattr_reset(entry);
    while (::archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
      if (std::string_view(name).starts_with("user.")) pending.set_attribute(name, {static_cast<const char*>(value), size});
    }
  }

  const LocalTree& tree_;
  TransferMeter& meter_;
  std::unique_ptr<archive, FreeReader> reader_{::archive_read_new()};
  bool opened_ = false;
  std::vector<std::pair<PathParts, unsigned>> folders_;
};

void drain(int fd) {
  std::string rest(kBlockBytes, '\0');
  while (::read(fd, rest.data(), rest.size()) > 0) {
  }
}

}  // namespace

struct TarUnpacker::State {
  UniqueFd to_thread;
  std::thread thread;
  Status outcome;
  std::size_t zeros = 0;  ///< at the end of what has come, up to two blocks

  void join() {
    to_thread.reset();
    if (thread.joinable()) thread.join();
  }
  void count_zeros(std::string_view bytes) {
    const auto last = bytes.find_last_not_of('\0');
    zeros = last == std::string_view::npos ? zeros + bytes.size() : bytes.size() - last - 1;
  }
};

TarUnpacker::TarUnpacker(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarUnpacker::~TarUnpacker() { state_->join(); }

Result<std::unique_ptr<TarUnpacker>> TarUnpacker::start(const LocalTree& tree, TransferMeter& meter) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe2");
  auto from = std::make_shared<UniqueFd>(ends[0]);
  auto state = std::make_unique<State>();
  state->to_thread = UniqueFd(ends[1]);
  state->thread = std::thread([raw = state.get(), &tree, &meter, from] {
    const Utf8Scope utf8;
    raw->outcome = Layout(tree, meter, from->get()).run();
    if (raw->outcome.ok()) drain(from->get());
    from->reset();
  });
  return std::unique_ptr<TarUnpacker>(new TarUnpacker(std::move(state)));
}

Status TarUnpacker::write(std::string_view bytes) {
  state_->count_zeros(bytes);
  while (!bytes.empty()) {
    const auto count = ::write(state_->to_thread.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int why = errno;
      state_->join();
      if (!state_->outcome.ok()) return state_->outcome;
      return errno_error(why, "handing the archive over");
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status TarUnpacker::finish() {
  state_->join();
  // libarchive takes an archive that ends between two entries for a whole one.
  const bool whole = state_->zeros >= 2 * kTarBlock;
  if (state_->outcome.ok() && whole) return {};
  if (whole) return state_->outcome;
  return infrastructure_error(ErrorCode::unavailable, client::kConnectionLost, "the archive was cut off before its end");
}

}  // namespace harena::cli
