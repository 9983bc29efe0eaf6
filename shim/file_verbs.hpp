#pragma once
// The file operations themselves, one function each, run in a worker that is already the right user in the right place.
// Each returns the payload of the final ok.

#include <string>

#include "sdk/session/file_messages.hpp"
#include "sdk/session/file_stream_messages.hpp"
#include "shim/file_tree.hpp"
#include "shim/worker_channel.hpp"

namespace harena::shim {

template <class Request>
using FileVerb = Result<std::string> (*)(const FileTree&, WorkerChannel&, const Request&);

Result<std::string> read_file(const FileTree&, WorkerChannel&, const session::FileReadRequest&);
Result<std::string> write_file(const FileTree&, WorkerChannel&, const session::FileWriteRequest&);
Result<std::string> list_files(const FileTree&, WorkerChannel&, const session::FileListRequest&);
Result<std::string> stat_file(const FileTree&, WorkerChannel&, const session::FilePathRequest&);
Result<std::string> read_link_of(const FileTree&, WorkerChannel&, const session::FilePathRequest&);
Result<std::string> make_folder(const FileTree&, WorkerChannel&, const session::FileMkdirRequest&);
Result<std::string> remove_file(const FileTree&, WorkerChannel&, const session::FileRemoveRequest&);
Result<std::string> move_file(const FileTree&, WorkerChannel&, const session::FileMoveRequest&);
Result<std::string> change_mode(const FileTree&, WorkerChannel&, const session::FileChmodRequest&);
Result<std::string> change_owner(const FileTree&, WorkerChannel&, const session::FileChownRequest&);
Result<std::string> make_symlink(const FileTree&, WorkerChannel&, const session::FileSymlinkRequest&);
Result<std::string> truncate_file(const FileTree&, WorkerChannel&, const session::FileTruncateRequest&);
Result<std::string> list_xattrs(const FileTree&, WorkerChannel&, const session::FileXattrListRequest&);
Result<std::string> set_xattr(const FileTree&, WorkerChannel&, const session::FileXattrSetRequest&);
Result<std::string> remove_xattr(const FileTree&, WorkerChannel&, const session::FileXattrRemoveRequest&);
Result<std::string> watch_files(const FileTree&, WorkerChannel&, const session::FileWatchRequest&);
Result<std::string> read_archive(const FileTree&, WorkerChannel&, const session::FileArchiveReadRequest&);
Result<std::string> write_archive(const FileTree&, WorkerChannel&, const session::FileArchiveWriteRequest&);

}  // namespace harena::shim
