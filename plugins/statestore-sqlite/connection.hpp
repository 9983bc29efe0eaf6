#pragma once
// A connection to SQLite: RAII, prepared statements made once, SQLite's codes as Harena's errors.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sdk/base/result.hpp"

namespace harena::sqlite {

/// A prepared statement in use: reset when it goes. Errors of step(): see Connection::error.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* raw) : raw_(raw) {}
  Statement(Statement&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() {
    if (raw_ == nullptr) return;
    ::sqlite3_reset(raw_);
    ::sqlite3_clear_bindings(raw_);
  }

  Statement& bind(int index, std::int64_t value);
  /// Borrowed until the statement is reset; an empty one is an empty blob, not NULL.
  Statement& bind(int index, std::string_view bytes);
  Statement& bind_null(int index);
  /// True: there is a row.
  Result<bool> step();
  /// For statements without rows.
  Status run();

  std::int64_t integer(int column) const { return ::sqlite3_column_int64(raw_, column); }
  /// Valid until the next step.
  std::string_view bytes(int column) const;
  bool is_null(int column) const { return ::sqlite3_column_type(raw_, column) == SQLITE_NULL; }

 private:
  sqlite3_stmt* raw_;
};

/// One thread at a time.
class Connection {
 public:
  /// `read_only` opens a database that must exist.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, bool read_only);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Prepared once a connection; `sql` must outlive it (a literal).
  Result<Statement> prepare(std::string_view sql);
  /// Statements without parameters and without rows that matter.
  Status execute(const std::string& sql);
  /// The first column of the first row.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);
  /// False once SQLite has ended the transaction by itself (disk full, I/O error).
  bool in_transaction() const { return ::sqlite3_get_autocommit(raw_) == 0; }

 private:
  explicit Connection(sqlite3* raw) : raw_(raw) {}
  sqlite3* raw_;
  std::unordered_map<std::string_view, sqlite3_stmt*> statements_;
};

/// resource_exhausted for a full disk, data_loss for a damaged file, unavailable when busy or on an I/O error,
/// permission_denied for a read-only one; all of cause infrastructure.
Error error_of(sqlite3* connection, std::string_view what);

}  // namespace harena::sqlite
