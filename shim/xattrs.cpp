#include "shim/xattrs.hpp"

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/session/file_stream_messages.hpp"
#include "shim/file_verbs.hpp"

namespace harena::shim {
namespace {

/// The calls on paths don't take a folder, and those on descriptors no O_PATH: the link of the descriptor, from inside of /proc.
Result<std::string> link_from_here(const FileTree& tree, int fd) {
  if (::fchdir(tree.proc()) != 0) return file_error(errno, "entering /proc");
  return FileTree::link_of(fd);
}

Error xattr_error(int number, const std::string& name, const std::string& shown) {
  if (number == ENODATA) return make_error(ErrorCode::not_found, "'" + shown + "' has no attribute '" + name + "'");
  if (number == ERANGE || number == E2BIG) {
    return make_error(ErrorCode::invalid_argument, "attribute '" + name + "' of '" + shown + "' is too large");
  }
  if (number == EOPNOTSUPP) {
    return make_error(ErrorCode::unimplemented,
                      "'" + shown + "': its file system has no attribute of the kind '" + name + "'; 'user.NAME' may be right");
  }
  return file_error(number, "attribute '" + name + "' of '" + shown + "'");
}

Status check_name(const std::string& name) {
  if (name.empty() || name.size() > session::kMaxXattrNameBytes || name.find('\0') != std::string::npos) {
    return make_error(ErrorCode::invalid_argument, "an attribute's name has 1 to 255 bytes and no NUL, such as 'user.origin'");
  }
  return {};
}

/// The names, or a value, whose length may change between the two calls.
template <class Get>
std::pair<ssize_t, std::string> get_all(Get get) {
  std::string buffer;
  for (;;) {
    ssize_t size = get(nullptr, 0);
    if (size <= 0) return {size, {}};
    buffer.resize(static_cast<std::size_t>(size));
    size = get(buffer.data(), buffer.size());
    if (size < 0 && errno == ERANGE) continue;
    buffer.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return {size, std::move(buffer)};
  }
}

}  // namespace

Result<Xattrs> xattrs_of(const FileTree& tree, int fd, const std::string& shown) {
  HARENA_TRY(auto link, link_from_here(tree, fd));
  auto [size, names] = get_all([&](char* to, std::size_t room) { return ::listxattr(link.c_str(), to, room); });
  if (size < 0 && errno == EOPNOTSUPP) return Xattrs();
  if (size < 0) return file_error(errno, "attributes of '" + shown + "'");
  Xattrs found;
  for (const auto& name : split(names, '\0')) {
    if (name.empty()) continue;
    auto [length, value] = get_all([&](char* to, std::size_t room) { return ::getxattr(link.c_str(), name.c_str(), to, room); });
    // Removed meanwhile, or listed to those who may not read it.
    if (length < 0 && (errno == ENODATA || errno == EPERM || errno == EACCES)) continue;
    if (length < 0) return xattr_error(errno, name, shown);
    found.emplace_back(name, std::move(value));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Status put_xattr(const FileTree& tree, int fd, const std::string& shown, const std::string& name, const std::string& value) {
  HARENA_TRY_STATUS(check_name(name));
  HARENA_TRY(auto link, link_from_here(tree, fd));
  if (::setxattr(link.c_str(), name.c_str(), value.data(), value.size(), 0) != 0) return xattr_error(errno, name, shown);
  return {};
}

Result<std::string> list_xattrs(const FileTree& tree, WorkerChannel&, const session::FileXattrListRequest& request) {
  HARENA_TRY(auto found, tree.find(request.path, request.follow ? Links::follow : Links::dont_follow));
  session::FileXattrs answer;
  HARENA_TRY(answer.xattrs, xattrs_of(tree, found.get(), request.path));
  return session::encode(answer);
}

Result<std::string> set_xattr(const FileTree& tree, WorkerChannel&, const session::FileXattrSetRequest& request) {
  if (request.value.size() > session::kMaxXattrValueBytes) {
    return make_error(ErrorCode::invalid_argument, "an attribute's value has at most 64 KiB");
  }
  HARENA_TRY(auto found, tree.find(request.path, request.follow ? Links::follow : Links::dont_follow));
  HARENA_TRY_STATUS(put_xattr(tree, found.get(), request.path, request.name, request.value));
  return std::string();
}

Result<std::string> remove_xattr(const FileTree& tree, WorkerChannel&, const session::FileXattrRemoveRequest& request) {
  HARENA_TRY_STATUS(check_name(request.name));
  HARENA_TRY(auto found, tree.find(request.path, request.follow ? Links::follow : Links::dont_follow));
  HARENA_TRY(auto link, link_from_here(tree, found.get()));
  if (::removexattr(link.c_str(), request.name.c_str()) != 0) return xattr_error(errno, request.name, request.path);
  return std::string();
}

}  // namespace harena::shim
