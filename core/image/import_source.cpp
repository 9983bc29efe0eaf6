#include "core/image/import_source.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

struct Form {
  std::string_view prefix;
  SourceKind kind;
};
constexpr std::array<Form, 6> kForms = {{{"docker://", SourceKind::registry},
                                         {"dir:", SourceKind::folder},
                                         {"tar:", SourceKind::tar},
                                         {"docker-archive:", SourceKind::docker_archive},
                                         {"oci-archive:", SourceKind::oci_archive},
                                         {"oci:", SourceKind::oci_layout}}};
constexpr std::size_t kMaxSourceBytes = 4096;

Error wrong_source(std::string_view text, const std::string& why) {
  return make_error(ErrorCode::invalid_argument, "image source '" + std::string(text.substr(0, 160)) + "': " + why);
}

Error unknown_form(std::string_view text) {
  std::vector<std::string> known;
  for (const auto& form : kForms) known.emplace_back(form.prefix);
  const auto colon = text.find(':');
  auto given = std::string(text.substr(0, colon == std::string_view::npos ? 0 : colon + 1));
  const auto hint = given.empty() ? std::string("; it must begin with docker://, dir:, tar:, docker-archive:, oci-archive: or oci:")
                                  : suggestion(given, known);
  return wrong_source(text, "the kind of source is not known" + hint);
}

/// What a registry's name may have; it keeps options and blanks from skopeo's argument.
Status check_registry(std::string_view text, std::string_view location) {
  const bool right = std::all_of(location.begin(), location.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:@[]").find(c) != std::string_view::npos;
  });
  if (right && !location.empty() && location.front() != '-' && location.front() != '/') return ok_status();
  return wrong_source(text, "after docker:// comes [host[:port]/]name[:tag], as docker://python:3.12");
}

bool takes_tag(SourceKind kind) { return kind == SourceKind::oci_archive || kind == SourceKind::oci_layout; }

}  // namespace

Result<ImportSource> ImportSource::parse(std::string_view text) {
  const auto form = std::find_if(kForms.begin(), kForms.end(), [&](const auto& known) { return text.starts_with(known.prefix); });
  if (form == kForms.end()) return unknown_form(text);
  if (text.size() > kMaxSourceBytes) return wrong_source(text, "it is longer than 4096 bytes");
  if (text.find('\0') != std::string_view::npos) return wrong_source(text, "it has a NUL");
  auto rest = text.substr(form->prefix.size());
  ImportSource source{form->kind, std::string(rest), {}};
  if (source.kind == SourceKind::registry) {
    HARENA_TRY_STATUS(check_registry(text, rest));
    return source;
  }
  const auto colon = rest.rfind(':');
  if (takes_tag(source.kind) && colon != std::string_view::npos && rest.find('/', colon) == std::string_view::npos) {
    source.tag = rest.substr(colon + 1);
    source.location = rest.substr(0, colon);
  }
  if (!source.location.starts_with('/')) return wrong_source(text, "the path must be absolute");
  return source;
}

}  // namespace harena::image
