#include "plugins/statestore-sqlite/connection.hpp"

#include <cerrno>
#include <utility>

namespace harena::sqlite {
namespace {

// One process has the file (lock.hpp), so only a checkpoint or a recovery of the log can be in the way.
constexpr int kBusyTimeoutMs = 10'000;

ErrorCode code_of(int primary, int system_errno) {
  switch (primary) {
    case SQLITE_FULL: case SQLITE_NOMEM: return ErrorCode::resource_exhausted;
    case SQLITE_CORRUPT: case SQLITE_NOTADB: return ErrorCode::data_loss;
    case SQLITE_READONLY: case SQLITE_PERM: case SQLITE_AUTH: return ErrorCode::permission_denied;
    case SQLITE_IOERR: case SQLITE_CANTOPEN:
      if (system_errno == ENOSPC || system_errno == EDQUOT) return ErrorCode::resource_exhausted;
      return system_errno == EACCES ? ErrorCode::permission_denied : ErrorCode::unavailable;
    case SQLITE_BUSY: case SQLITE_LOCKED: return ErrorCode::unavailable;
    case SQLITE_TOOBIG: return ErrorCode::invalid_argument;
    default: return ErrorCode::internal;
  }
}

}  // namespace

Error error_of(sqlite3* connection, std::string_view what) {
  int primary = ::sqlite3_errcode(connection) & 0xff;
  Error error = infrastructure_error(code_of(primary, ::sqlite3_system_errno(connection)), "state-store",
                                     std::string(what) + ": " + ::sqlite3_errmsg(connection));
  error.retry = error.code == ErrorCode::unavailable ? Retry::same_node : Retry::never;
  return error;
}

Statement& Statement::bind(int index, std::int64_t value) { return ::sqlite3_bind_int64(raw_, index, value), *this; }

Statement& Statement::bind(int index, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();  // a null pointer would bind NULL
  return ::sqlite3_bind_blob64(raw_, index, data, bytes.size(), SQLITE_STATIC), *this;
}

Statement& Statement::bind_null(int index) { return ::sqlite3_bind_null(raw_, index), *this; }

Result<bool> Statement::step() {
  int code = ::sqlite3_step(raw_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(::sqlite3_db_handle(raw_), "state store");
}

Status Statement::run() {
  HARENA_TRY([[maybe_unused]] bool row, step());
  return ok_status();
}

std::string_view Statement::bytes(int column) const {
  const void* data = ::sqlite3_column_blob(raw_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(::sqlite3_column_bytes(raw_, column))};
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, bool read_only) {
  sqlite3* raw = nullptr;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  int code = ::sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(raw));
  if (code != SQLITE_OK) return error_of(raw, "opening " + path);
  ::sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  return connection;
}

Connection::~Connection() {
  for (auto& [sql, statement] : statements_) ::sqlite3_finalize(statement);
  ::sqlite3_close(raw_);
}

Result<Statement> Connection::prepare(std::string_view sql) {
  auto& statement = statements_[sql];
  if (statement == nullptr) {
    int code = ::sqlite3_prepare_v3(raw_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return error_of(raw_, "preparing '" + std::string(sql) + "'");
  }
  return Statement(statement);
}

Status Connection::execute(const std::string& sql) {
  if (::sqlite3_exec(raw_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return ok_status();
  return error_of(raw_, "state store");
}

Result<std::int64_t> Connection::integer(std::string_view sql) {
  HARENA_TRY(Statement statement, prepare(sql));
  HARENA_TRY(bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

Result<std::string> Connection::text(std::string_view sql) {
  HARENA_TRY(Statement statement, prepare(sql));
  HARENA_TRY(bool row, statement.step());
  return row ? std::string(statement.bytes(0)) : std::string();
}

}  // namespace harena::sqlite
