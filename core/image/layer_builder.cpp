#include "core/image/layer_builder.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/image/erofs.hpp"

namespace harena::image {
namespace {

/// Disk full while unpacking is the work folder's, and says so.
Error in_work_folder(Error error, const WorkFolder& work) {
  if (error.code != ErrorCode::resource_exhausted || error.cause != Cause::none) return error;
  auto explained = infrastructure_error(error.code, "image-work", error.message + "; the import unpacks into '" + work.root().string() + "'");
  explained.context = std::move(error.context);
  return explained;
}

void note(std::vector<std::string>& notes, std::int64_t count, const std::string& what) {
  if (count > 0) notes.push_back(std::to_string(count) + " " + what);
}

}  // namespace

Result<LayerReport> LayerBuilder::unpack(EntryReader& entries, const std::filesystem::path& to, const Checkpoint& checkpoint) {
  if (::mkdir(to.c_str(), 0700) != 0) return errno_error(errno, "mkdir '" + to.string() + "'");
  HARENA_TRY(auto writer, LayerWriter::create(to, tree_, style_, bytes_left_));
  FileEntry entry;
  for (;;) {
    HARENA_TRY(const bool more, entries.next(entry));
    if (!more) return writer.finish();
    HARENA_TRY_STATUS(writer.add(entry, entries, checkpoint));
  }
}

Status LayerBuilder::add(EntryReader& entries, const Checkpoint& checkpoint) {
  HARENA_TRY(const auto temporary, work_.make());
  const auto root = temporary.path() / "root";
  const auto file = temporary.path() / "layer.erofs";
  auto unpacked = unpack(entries, root, checkpoint);
  if (!unpacked) return in_work_folder(std::move(unpacked).error(), work_);
  bytes_left_ -= unpacked->bytes;
  total_.devices_left_out += unpacked->devices_left_out;
  total_.sockets_left_out += unpacked->sockets_left_out;
  total_.xattrs_left_out += unpacked->xattrs_left_out;
  if (unpacked->entries == 0) return ok_status();
  progress_.begin("convert", unpacked->bytes);
  HARENA_TRY_STATUS(make_erofs(spawner_, root, file, [&] { return progress_.check(); }));
  return store(file);
}

Status LayerBuilder::store(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open '" + file.string() + "'");
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, "stat '" + file.string() + "'");
  progress_.begin("store", status.st_size);
  HARENA_TRY(const auto stored, store_.put(call_, "", fd.get()));
  HARENA_TRY(auto digest, Digest::parse(stored.digest));
  // Of equal layers the highest stays (stack.hpp, rule 2).
  std::erase_if(layers_, [&](const auto& layer) { return layer.digest == digest; });
  layers_.push_back({std::move(digest), stored.size});
  return ok_status();
}

std::vector<std::string> LayerBuilder::notes() const {
  std::vector<std::string> notes;
  note(notes, total_.devices_left_out, "device nodes were left out: a sandbox has a /dev of its own");
  note(notes, total_.sockets_left_out, "sockets were left out: nothing listens on them");
  note(notes, total_.xattrs_left_out, "extended attributes were left out: they are neither user.*, file capabilities nor ACLs");
  return notes;
}

}  // namespace harena::image
