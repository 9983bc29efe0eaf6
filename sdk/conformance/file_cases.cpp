// Level 0: the file, unloaded. None of the plugin's code runs.

#include <sys/stat.h>

#include "sdk/conformance/case.hpp"
#include "sdk/conformance/elf_file.hpp"
#include "sdk/loader/file_check.hpp"

namespace harena::conformance {
namespace {

using loader::OwnerPolicy;

const Subject& file_subject(Context& c) {
  if (c.subject().library.empty()) c.skip("the plugin is linked in, there is no file");
  return c.subject();
}

loader::Manifest manifest(Context& c) { return c.need(loader::read_manifest(file_subject(c).folder()), "reading the manifest"); }

ElfFacts elf(Context& c) { return c.need(read_elf(file_subject(c).library), c.subject().library.string()); }

void file_owner(Context& c) {
  const Subject& s = file_subject(c);
  for (const auto& path : {s.folder(), s.folder() / loader::kManifestFile, s.library}) {
    c.need_ok(loader::check_owner(path, OwnerPolicy::root_or_self), "owner and mode");
    if (!loader::check_owner(path, OwnerPolicy::root_only).ok()) c.warn(path.string() + " doesn't belong to root: harenad will refuse it where it is");
  }
}

void manifest_document(Context& c) {
  auto m = manifest(c);
  c.require(m.library == c.subject().library.filename(), "the manifest names the library '" + m.library + "', the file is '" +
                                                               c.subject().library.filename().string() + "'");
}

void manifest_abi_version(Context& c) { c.need_ok(loader::check_abi(manifest(c).name, manifest(c).abi), "the manifest's ABI"); }

void manifest_hash(Context& c) { c.need_ok(loader::check_hash(file_subject(c).library, manifest(c).sha256), "the manifest's hash"); }

void exports(Context& c) { c.need_ok(loader::check_exports(file_subject(c).library), "exported symbols"); }

void relro(Context& c) {
  auto facts = elf(c);
  c.require(facts.relro, "has no RELRO segment: link with -Wl,-z,relro");
  c.require(facts.bind_now, "binds lazily, so that its relocations stay writable: link with -Wl,-z,now");
}

void no_executable_stack(Context& c) { c.require(!elf(c).executable_stack, "wants an executable stack: link with -Wl,-z,noexecstack"); }

void no_text_relocations(Context& c) { c.require(!elf(c).text_relocations, "has relocations in its code: compile with -fPIC"); }

void no_run_path(Context& c) {
  auto facts = elf(c);
  if (facts.run_path.empty()) return;
  if (facts.run_path.starts_with("/usr/") || facts.run_path.starts_with("$ORIGIN")) return c.warn("has the run path " + facts.run_path);
  c.fail("has the run path " + facts.run_path + ": who may write there decides which libraries harenad loads");
}

}  // namespace

std::vector<Case> file_cases() {
  return {
      {"file_owner", 0, "", "folder, manifest and library belong to root and only the owner may write them", file_owner},
      {"manifest_document", 0, "", "plugin.json lies beside the library, is whole, and names it", manifest_document},
      {"manifest_abi_version", 0, "", "the manifest's ABI is this host's", manifest_abi_version},
      {"manifest_hash", 0, "", "the library has the manifest's sha256", manifest_hash},
      {"exports", 0, "", "harena_plugin_entry is exported, and nothing else", exports},
      {"relro", 0, "", "relocations are read-only once the library is loaded", relro},
      {"no_executable_stack", 0, "", "loading it doesn't make stacks executable", no_executable_stack},
      {"no_text_relocations", 0, "", "its code is never written to", no_text_relocations},
      {"no_run_path", 0, "", "it doesn't say where to look for libraries", no_run_path},
  };
}

}  // namespace harena::conformance
