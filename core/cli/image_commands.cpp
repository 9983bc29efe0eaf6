// images (or image), images import|build|tag|rm|inspect

#include <unistd.h>

#include "core/cli/image_build.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/client/images.hpp"

namespace harena::cli {

using client::Images;
using client::text_or;
using nlohmann::json;

namespace {

Result<int> list(Program& program, const std::string& prefix) {
  HARENA_TRY(const auto client, program.connect());
  json found = json::array();
  HARENA_TRY_STATUS(Images(*client).list(prefix, [&](const json& image) -> Status {
    found.push_back(image);
    return {};
  }));
  if (program.options.json) {
    HARENA_TRY_STATUS(print_json(found));
    return kExitOk;
  }
  Table table({"REFERENCE", "KIND", "SIZE", "AGE", "DIGEST"});
  const auto now_ms = SystemClock().wall_ms();
  for (const auto& image : found) {
    table.add({text_or(image, "reference"), text_or(image, "kind"), human_size(image.value("size", 0LL)),
               age(image.value("created_ms", now_ms), now_ms), text_or(image, "digest").substr(0, 19)});
  }
  HARENA_TRY_STATUS(table.print());
  return kExitOk;
}

/// Steps as lines; on a terminal the bytes of a step are counted in place.
class StepPrinter {
 public:
  explicit StepPrinter(bool as_json) : as_json_(as_json), terminal_(::isatty(STDERR_FILENO) != 0) {}
  ~StepPrinter() { finish_line(); }

  void show(const client::ImportStep& step) {
    if (as_json_) {
      const json line = {{"step", step.step}, {"done", step.done}, {"total", step.total > 0 ? json(step.total) : json()}};
      put(json({{"progress", line}}).dump() + "\n");
      return;
    }
    const bool new_step = step.step != current_;
    if (new_step) finish_line();
    current_ = step.step;
    if (!terminal_ && new_step) put(step.step + "\n");
    if (!terminal_) return;
    put("\r\033[K" + step.step + "  " + human_size(step.done) + (step.total > 0 ? " of " + human_size(step.total) : ""));
    open_line_ = true;
  }

  void finish_line() {
    if (open_line_) put("\n");
    open_line_ = false;
  }

 private:
  // Progress that can't be shown is no reason to end the import.
  static void put(const std::string& text) { const auto ignored = write_all(STDERR_FILENO, text); }
  bool as_json_;
  bool terminal_;
  bool open_line_ = false;
  std::string current_;
};

/// The one source that was given.
Result<std::pair<std::string, std::string>> import_source(const ImportOptions& options) {
  std::vector<std::pair<std::string, std::string>> given = {
      {"docker", options.docker}, {"folder", options.folder}, {"archive", options.archive}, {"upload", options.upload}};
  std::erase_if(given, [](const auto& source) { return source.second.empty(); });
  if (given.size() == 1) return given.front();
  return make_error(ErrorCode::invalid_argument, "an import has one source: --docker, --folder, --archive or --upload; " +
                                                     std::to_string(given.size()) + " were given");
}

Result<json> import_image(client::Client& client, const ImportOptions& options, StepPrinter& steps) {
  const auto on_step = [&](const client::ImportStep& step) { steps.show(step); };
  HARENA_TRY(const auto source, import_source(options));
  const auto& [kind, value] = source;
  if (kind == "upload") return Images(client).import_upload(options.reference, options.kind, value, on_step);
  return Images(client).import_from(options.reference, options.kind, {{kind, value}}, on_step);
}

Result<int> import(Program& program, const ImportOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  StepPrinter steps(program.options.json);
  auto image = import_image(*client, options, steps);
  steps.finish_line();
  if (!image.ok()) return std::move(image).error();
  HARENA_TRY_STATUS(program.options.json ? print_json(*image)
                                         : print_line(text_or(*image, "reference") + " " + text_or(*image, "digest")));
  return kExitOk;
}

void add_import(Program& program, CLI::App& images) {
  auto options = std::make_shared<ImportOptions>();
  auto* sub = program.command(images, "import", "Make an image from outside, with progress on stderr",
                              [&program, options] { return import(program, *options); });
  sub->add_option("reference", options->reference, "project/name:tag that it gets")->required();
  sub->add_option("--kind", options->kind, "base, workspace or toolkit")->capture_default_str();
  sub->add_option("--docker", options->docker, "Registry: docker://python:3.12");
  sub->add_option("--folder", options->folder, "Folder of the server's machine");
  sub->add_option("--archive", options->archive, "tar, docker or OCI archive of the server's machine");
  sub->add_option("--upload", options->upload, "tar archive of this machine");
}

Result<int> build(Program& program, const BuildOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto made, build_image(*client, options));
  return import(program, made);
}

void add_build(Program& program, CLI::App& images) {
  auto options = std::make_shared<BuildOptions>();
  auto* sub = program.command(images, "build", "Make an image on this machine and import it: harena image build code-interpreter",
                              [&program, options] { return build(program, *options); });
  sub->add_option("name", options->name, "base or code-interpreter")->required();
  sub->add_option("--reference", options->reference, "project/name:tag that it gets; by default root/NAME:v1");
  sub->add_option("--languages", options->languages, "Of code-interpreter: python,bash,javascript,r (all of them by default)");
  sub->add_flag("--small", options->small, "Of code-interpreter: without plotting, tables and compilers");
  sub->add_option("--folder", options->folder, "Where it is made and kept for the next build")->capture_default_str();
}

}  // namespace

void add_images(Program& program) {
  auto prefix = std::make_shared<std::string>();
  auto* images = program.command("images", "List images, or work on one", [&program, prefix] { return list(program, *prefix); });
  images->alias("image");
  images->require_subcommand(0, 1);
  images->add_option("--prefix", *prefix, "Only references that begin so: root/");
  add_import(program, *images);
  add_build(program, *images);

  auto tag = std::make_shared<std::pair<std::string, std::string>>();
  auto* tag_app = program.command(*images, "tag", "Give an image another name", [&program, tag]() -> Result<int> {
    HARENA_TRY(const auto client, program.connect());
    HARENA_TRY_STATUS(Images(*client).tag(tag->first, tag->second));
    return kExitOk;
  });
  tag_app->add_option("reference", tag->first, "project/name:tag")->required();
  tag_app->add_option("target", tag->second, "The further name that it gets")->required();

  auto gone = std::make_shared<std::string>();
  auto* remove = program.command(*images, "rm", "Remove an image's name", [&program, gone]() -> Result<int> {
    HARENA_TRY(const auto client, program.connect());
    HARENA_TRY_STATUS(Images(*client).remove(*gone));
    return kExitOk;
  });
  remove->add_option("reference", *gone, "project/name:tag")->required();

  auto shown = std::make_shared<std::string>();
  auto* inspect = program.command(*images, "inspect", "Show an image's manifest", [&program, shown]() -> Result<int> {
    HARENA_TRY(const auto client, program.connect());
    HARENA_TRY(const auto manifest, Images(*client).manifest(*shown));
    HARENA_TRY_STATUS(print_json(manifest));
    return kExitOk;
  });
  inspect->add_option("reference", *shown, "project/name:tag or project/name@sha256:...")->required();
}

}  // namespace harena::cli
