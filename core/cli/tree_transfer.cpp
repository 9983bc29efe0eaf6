// A folder as one tar stream.
#include "core/cli/local_tree.hpp"
#include "core/cli/tar_pack.hpp"
#include "core/cli/tar_unpack.hpp"
#include "core/cli/transfer.hpp"

namespace harena::cli {

using client::Files;

namespace {

/// What a try had counted before it has to begin again isn't counted twice.
class Recount {
 public:
  explicit Recount(TransferMeter& meter) : meter_(meter), files_(meter.files()), bytes_(meter.bytes()) {}
  void begin_again() const { meter_.take_back(meter_.files() - files_, meter_.bytes() - bytes_); }

 private:
  TransferMeter& meter_;
  std::int64_t files_;
  std::int64_t bytes_;
};

Status download_once(const TransferPlan& plan, const LocalTree& tree, const std::string& source) {
  HARENA_TRY(const auto unpacker, TarUnpacker::start(tree, plan.meter));
  HARENA_TRY_STATUS(Files(plan.client, plan.sandbox).read_archive(source, [&](std::string_view bytes) { return unpacker->write(bytes); }));
  return unpacker->finish();
}

}  // namespace

Status upload_tree(const TransferPlan& plan, const std::string& source, const std::string& target) {
  HARENA_TRY(const auto entries, walk(source));
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  for (const auto& entry : entries) {
    files += entry.kind == LocalEntry::Kind::file ? 1 : 0;
    bytes += entry.size;
  }
  plan.meter.expect(files, bytes);
  Files remote(plan.client, plan.sandbox);
  HARENA_TRY_STATUS(remote.mkdir(target, std::nullopt));
  const Recount recount(plan.meter);
  return remote.write_archive(target, [&]() -> Result<Files::Source> {
    recount.begin_again();
    HARENA_TRY(auto opened, TarPacker::open(entries, plan.meter));
    std::shared_ptr<TarPacker> packer = std::move(opened);
    return Files::Source([packer](char* buffer, std::size_t size) { return packer->read(buffer, size); });
  });
}

Status download_tree(const TransferPlan& plan, const std::string& source, const std::string& target) {
  HARENA_TRY(const auto tree, LocalTree::open(target));
  auto tries = plan.client.stream_attempts();
  const Recount recount(plan.meter);
  while (true) {
    auto status = download_once(plan, tree, source);
    if (status.ok() || !tries.again(status.error(), true)) return status;
    recount.begin_again();
  }
}

}  // namespace harena::cli
