#include "plugins/statestore-sqlite/layout.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace harena::sqlite {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLockPoll{20};
constexpr int kLockTries = 250;  // 5 s

constexpr const char* kTables = R"(
CREATE TABLE kv(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE history(sequence INTEGER PRIMARY KEY, revision INTEGER NOT NULL, key BLOB NOT NULL, value BLOB);
CREATE INDEX history_revision ON history(revision);
CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES('revision', 0), ('forgotten', 0);
)";

Status make_folder(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  if (fs::is_directory(folder, failed)) return ok_status();
  fs::create_directories(folder.parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "making the folder " + folder.string());
  return ok_status();
}

Error damaged(const std::string& path, const std::string& what) {
  return infrastructure_error(ErrorCode::data_loss, "state-store",
                              "the state database " + path + " is damaged: " + what + "; stop harenad, keep the file for analysis, and restore it from a backup");
}

Status check_file(Connection& db, const Options& options) {
  if (options.check == "none") return ok_status();
  auto verdict = db.text(options.check == "full" ? "PRAGMA integrity_check(3)" : "PRAGMA quick_check(3)");
  if (!verdict.ok()) return verdict.error().code == ErrorCode::data_loss ? damaged(options.path, verdict.error().message) : verdict.error();
  return *verdict == "ok" ? ok_status() : Status(damaged(options.path, *verdict));
}

Status make_tables(Connection& db) {
  HARENA_TRY_STATUS(db.execute("BEGIN IMMEDIATE"));
  HARENA_TRY_STATUS(db.execute(kTables));
  HARENA_TRY_STATUS(db.execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
  HARENA_TRY_STATUS(db.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion)));
  return db.execute("COMMIT");
}

Status check_version(Connection& db, const Options& options) {
  HARENA_TRY(auto tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  HARENA_TRY(auto application, db.integer("PRAGMA application_id"));
  HARENA_TRY(auto version, db.integer("PRAGMA user_version"));
  if (tables == 0) return make_tables(db);
  if (application != kApplicationId) {
    return make_error(ErrorCode::failed_precondition, options.path + " is a database of another program; name another path");
  }
  if (version == kSchemaVersion) return ok_status();
  return make_error(ErrorCode::failed_precondition, options.path + " has the schema version " + std::to_string(version) +
                                                        ", this plugin knows " + std::to_string(kSchemaVersion) + ": install the newer plugin again");
}

Status set_up_writer(Connection& db, const Options& options) {
  HARENA_TRY(std::string mode, db.text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") return make_error(ErrorCode::failed_precondition, "the file system of " + options.path + " can't hold a write-ahead log (journal mode " + mode + ")");
  HARENA_TRY_STATUS(db.execute(options.synchronous_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  // The log file shrinks to this after a checkpoint, instead of keeping its largest size for ever.
  HARENA_TRY_STATUS(db.execute("PRAGMA journal_size_limit = 16777216"));
  if (options.max_bytes == 0) return ok_status();
  HARENA_TRY(auto page_size, db.integer("PRAGMA page_size"));
  return db.execute("PRAGMA max_page_count = " + std::to_string(std::max<std::int64_t>(options.max_bytes / page_size, 1)));
}

}  // namespace

Result<UniqueFd> take_lock(const plugin::Call& call, const std::string& path) {
  HARENA_TRY_STATUS(make_folder(path));
  std::string name = path + ".lock";
  UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return errno_error(errno, "opening " + name);
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK) return errno_error(errno, "locking " + name);
    HARENA_TRY_STATUS(call.check());
    std::this_thread::sleep_for(kLockPoll);  // flock has no wait that a cancellation could end
  }
  return make_error(ErrorCode::failed_precondition, "the state database " + path + " is in use by another process, which holds " + name);
}

Result<std::unique_ptr<Connection>> open_writer(const Options& options) {
  // Born 0600, as SQLite would make it readable for everyone; its log files take the mode over.
  UniqueFd born(::open(options.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!born) return errno_error(errno, "opening " + options.path);
  born.reset();
  HARENA_TRY(auto db, Connection::open(options.path, false));
  HARENA_TRY_STATUS(check_file(*db, options));
  HARENA_TRY_STATUS(set_up_writer(*db, options));
  HARENA_TRY_STATUS(check_version(*db, options));
  return db;
}

Result<std::unique_ptr<Connection>> open_reader(const Options& options) {
  HARENA_TRY(auto db, Connection::open(options.path, true));
  return db;
}

}  // namespace harena::sqlite
