#include "core/image/reference.hpp"

#include <cctype>

#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::string_view kNameStarts = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kTagCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

bool contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 160)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string tag_fault(std::string_view tag) {
  if (tag.empty()) return "the tag after ':' is empty";
  if (tag.size() > kMaxTagLength) return "the tag has " + std::to_string(tag.size()) + " characters; at most 128 are allowed";
  const auto wrong = tag.find_first_not_of(kTagCharacters);
  if (wrong != std::string_view::npos) {
    return "the tag '" + printable(tag) + "' has '" + printable(tag.substr(wrong, 1)) + "'; allowed are A-Z a-z 0-9 . _ -";
  }
  if (tag.front() == '.' || tag.front() == '-') return "the tag '" + printable(tag) + "' must not begin with '.' or '-'";
  return {};
}

struct Parts {
  std::string_view path;
  std::optional<std::string_view> tag;
  std::optional<std::string_view> digest;
};

/// A ':' before the last '/' belongs to the path (and is then wrong there).
Parts take_apart(std::string_view text) {
  Parts parts{text, {}, {}};
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    parts.digest = text.substr(at + 1);
    parts.path = text.substr(0, at);
  }
  const auto slash = parts.path.rfind('/');
  const auto colon = parts.path.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    parts.tag = parts.path.substr(colon + 1);
    parts.path = parts.path.substr(0, colon);
  }
  return parts;
}

std::string path_fault(std::string_view path) {
  if (path.empty()) return "the project and the name are missing";
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return "the project before '" + printable(path) + "' is missing";
  if (auto name = check_name(path.substr(slash + 1), "name"); !name) return printable(name.error().message);
  const auto project = ProjectPath::parse(path.substr(0, slash));
  return project ? std::string() : printable(project.error().message);
}

std::string fault_of(std::string_view text, const Parts& parts) {
  if (text.size() > kMaxReferenceLength) return "it has " + std::to_string(text.size()) + " bytes; at most 512 are allowed";
  if (text.find("://") != std::string_view::npos) {
    return "it is an address to import from, not the name of an image; import it first (harena images import)";
  }
  if (auto fault = path_fault(parts.path); !fault.empty()) return fault;
  if (parts.tag && parts.digest) return "it has both a tag and a digest; keep the digest alone";
  if (parts.tag) return tag_fault(*parts.tag);
  if (!parts.digest) return "the tag or the digest is missing";
  const auto digest = Digest::parse(*parts.digest);
  return digest ? std::string() : digest.error().message;
}

/// `part` with what isn't allowed replaced or dropped.
std::string mended_name(std::string_view part) {
  std::string out;
  for (const char c : ascii_lower(part)) {
    if (contains(kNameCharacters, c)) out += c;
    else if (c == ' ' || c == ':' || c == '+') out += '-';
  }
  const auto first = out.find_first_of(kNameStarts);
  return first == std::string::npos ? std::string() : out.substr(first, kMaxNameLength);
}

std::string mended_path(std::string_view path) {
  std::string out;
  for (const auto& part : split(path, '/')) {
    const auto mended = mended_name(part);
    if (mended.empty()) continue;
    if (out.empty() && (mended != kRootProject || part.size() == path.size())) out = kRootProject;
    out += (out.empty() ? "" : "/") + mended;
  }
  return out;
}

std::string mended_end(const Parts& parts) {
  if (parts.digest) {
    const auto digest = ascii_lower(*parts.digest);
    return Digest::parse(digest) ? "@" + digest : std::string();
  }
  if (!parts.tag) return ":v1";
  std::string tag;
  for (const char c : *parts.tag) {
    if (contains(kTagCharacters, c)) tag += c;
  }
  const auto first = tag.find_first_not_of(".-");
  return first == std::string::npos ? ":v1" : ":" + tag.substr(first, kMaxTagLength);
}

/// The nearest reference that would be right; empty when guessing would be of no use.
std::string nearest_form(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  if (text.size() > kMaxReferenceLength || text.find("://") != std::string_view::npos) return {};
  const auto parts = take_apart(text);
  const auto path = mended_path(parts.path);
  const auto end = mended_end(parts);
  const auto near = path + end;
  return !end.empty() && fault_of(near, take_apart(near)).empty() ? near : std::string();
}

Error bad_reference(std::string_view text, const std::string& fault) {
  std::string message = "image reference '" + printable(text) + "': " + fault;
  if (const auto near = nearest_form(text); !near.empty()) {
    message += "; did you mean '" + near + "'?";
  } else {
    message += "; it must be 'project/name:tag' or 'project/name@sha256:...', as 'root/base:v1'";
  }
  return make_error(ErrorCode::invalid_argument, std::move(message));
}

}  // namespace

Result<ImageReference> ImageReference::parse(std::string_view text) {
  const auto parts = take_apart(text);
  if (auto fault = fault_of(text, parts); !fault.empty()) return bad_reference(text, fault);
  const auto slash = parts.path.rfind('/');
  HARENA_TRY(auto project, ProjectPath::parse(parts.path.substr(0, slash)));
  ImageReference reference(std::move(project), std::string(parts.path.substr(slash + 1)));
  if (parts.tag) reference.tag_ = std::string(*parts.tag);
  if (parts.digest) reference.digest_ = *Digest::parse(*parts.digest);
  return reference;
}

std::string ImageReference::str() const {
  return project_.str() + "/" + name_ + (tag_ ? ":" + *tag_ : "@" + digest_->str());
}

std::string pinned_reference(const ImageReference& reference, const Digest& digest) {
  return reference.project().str() + "/" + reference.name() + "@" + digest.str();
}

}  // namespace harena::image
