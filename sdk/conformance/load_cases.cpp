// Level 1: what loading does, before any instance is made.

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <set>

#include "sdk/conformance/case.hpp"
#include "sdk/conformance/process_facts.hpp"
#include "sdk/loader/file_check.hpp"

namespace harena::conformance {
namespace {

void need_file(Context& c) {
  if (c.subject().library.empty()) c.skip("the plugin is linked in: it is loaded already");
}

const harena_plugin_descriptor* descriptor(Context& c) {
  if (c.subject().descriptor != nullptr) return c.subject().descriptor;
  return &c.library().descriptor();
}

void loads(Context& c) { c.library(); }

void manifest_agrees(Context& c) {
  need_file(c);
  auto manifest = c.need(loader::read_manifest(c.subject().folder()), "reading the manifest");
  auto contracts = c.library().contracts();
  std::ranges::sort(contracts), std::ranges::sort(manifest.contracts);
  c.require(manifest.id == c.library().id(), "the manifest says id " + manifest.id + ", the descriptor " + c.library().id());
  c.require(manifest.version == c.library().version(), "the manifest says version " + manifest.version + ", the descriptor " + c.library().version());
  c.require(manifest.contracts == contracts, "the manifest and the descriptor list different contracts");
}

void descriptor_texts(Context& c) {
  const auto* d = descriptor(c);
  c.require(loader::to_view(d->id).find('.') != std::string_view::npos, "its id isn't reverse DNS, such as org.example.name");
  c.require(!loader::to_view(d->licence).empty(), "it names no licence");
  for (const auto& contract : c.library().contracts()) {
    c.require(contract.find('/') != std::string::npos, "contract '" + contract + "' has no major, such as harena.backend/1");
  }
  if (c.library().config_schema().document().value("type", "") != "object") c.fail("its configuration schema isn't of type object");
}

void load_starts_no_thread(Context& c) {
  need_file(c);
  auto before = thread_count();
  c.library();
  auto after = thread_count();
  c.require(before == after, "loading it started " + std::to_string(after - before) + " threads; none may run before create");
}

void load_opens_nothing(Context& c) {
  need_file(c);
  auto before = open_descriptors();
  c.library();
  for (const auto& [fd, what] : open_descriptors()) {
    if (!before.contains(fd)) c.fail("loading it opened descriptor " + std::to_string(fd) + " (" + what + ")");
  }
}

void load_leaves_signals(Context& c) {
  need_file(c);
  constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGSEGV, SIGBUS, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM};
  auto handlers = [&] {
    std::vector<void (*)(int)> all;
    for (int signal : kSignals) {
      struct sigaction action{};
      ::sigaction(signal, nullptr, &action);
      all.push_back(action.sa_handler);
    }
    return all;
  };
  auto before = handlers();
  c.library();
  c.require(before == handlers(), "loading it changed how the host handles signals");
}

}  // namespace

std::vector<Case> load_cases() {
  return {
      {"loads", 1, "", "the library opens with all its symbols, and its descriptor is whole and of this ABI", loads},
      {"manifest_agrees", 1, "", "the descriptor says what the manifest says", manifest_agrees},
      {"descriptor_texts", 1, "", "id, licence, contracts and configuration schema are as they should be", descriptor_texts},
      {"load_starts_no_thread", 1, "", "no thread runs before create", load_starts_no_thread},
      {"load_opens_nothing", 1, "", "no descriptor is opened before create", load_opens_nothing},
      {"load_leaves_signals", 1, "", "the host's signal handlers stay", load_leaves_signals},
  };
}

}  // namespace harena::conformance
