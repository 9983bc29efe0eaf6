#pragma once
// One rule of incidents.md a function, played from inside a sandbox, as root there. An attack tries the thing for real and says what
// the kernel answered: a rule is *held* only if the attempt was made and failed in the way that it should; *broken* when it succeeded or
// failed for a reason that isn't ours; *absent* when this host hasn't got what the rule protects.

#include <functional>
#include <string>
#include <vector>

namespace harena::incidents {

enum class Verdict { held, broken, absent };

struct Finding {
  int row;
  std::string rule;
  Verdict verdict;
  std::string detail;
};

class Report {
 public:
  explicit Report(int row) : row_(row) {}
  void held(std::string rule, std::string detail) { add(std::move(rule), Verdict::held, std::move(detail)); }
  void broken(std::string rule, std::string detail) { add(std::move(rule), Verdict::broken, std::move(detail)); }
  void absent(std::string rule, std::string detail) { add(std::move(rule), Verdict::absent, std::move(detail)); }
  /// `answer` is what a system call returned, errno what it left; held when it failed with one of `right`.
  void refused(const std::string& rule, long answer, std::initializer_list<int> right);
  void check(const std::string& rule, bool good, const std::string& detail) { good ? held(rule, detail) : broken(rule, detail); }
  const std::vector<Finding>& findings() const { return findings_; }

 private:
  void add(std::string rule, Verdict verdict, std::string detail);
  int row_;
  std::vector<Finding> findings_;
};

void row_1(Report& report);
void row_2(Report& report);
void row_3(Report& report);
void row_4(Report& report);
void row_5(Report& report);
void row_9(Report& report);
void row_14(Report& report);
void row_16(Report& report);

/// Attacks that need somebody outside who looks on; `arguments` are theirs. They return the exit status.
int trace_process(const std::vector<std::string>& arguments);     // PID: of a process that must not be traceable
int replace_tools(const std::vector<std::string>& arguments);     // bash, sh, the loader and its preload list
int flood(const std::vector<std::string>& arguments);             // BYTES: to both streams
int swap_for_ever(const std::vector<std::string>& arguments);     // A B: exchanges the two names until it is killed
int lay_traps(const std::vector<std::string>& arguments);         // in /tmp/traps: what the file API must not follow or open
int bomb(const std::vector<std::string>& arguments);              // fork | threads | memory | tmpfs | disk | inodes | files
int clean_up(const std::vector<std::string>& arguments);          // what the bombs disk and inodes left
int attack_servers(const std::vector<std::string>& arguments);    // kills, stops and starves all that it can, then ends

// Helpers.
std::string errno_name(int number);
/// At most 1 MiB of a file; empty when it can't be read (errno says why).
std::string read_file(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);
std::vector<int> process_ids();

}  // namespace harena::incidents
