#pragma once
// The handlers behind session_routes(); internal to core/api/session.

#include "core/api/session/session_routes.hpp"

namespace harena {

http::Task<Status> start_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> list_commands(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> get_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> forget_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> command_output(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> write_stdin(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> signal_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> resize_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> attach_command(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> read_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> write_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> remove_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> stat_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> list_files(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> make_folder(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> move_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> change_mode(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> change_owner(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> make_symlink(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> truncate_file(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> list_xattrs(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> set_xattr(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> remove_xattr(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> watch_files(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> read_archive(http::Request&, http::ResponseWriter&, SessionConnector&);
http::Task<Status> write_archive(http::Request&, http::ResponseWriter&, SessionConnector&);

}  // namespace harena
