#pragma once
// Plays the attacks of harena-attack (tests/incidents) in a sandbox and judges what came of them: rows of the incidents that a container
// has to hold, on this host, for real.

#include <string>
#include <vector>

#include "sdk/client/client.hpp"

namespace harena::cli {

struct IncidentFinding {
  int row = 0;
  std::string rule;
  std::string verdict;  // "held", "broken", or "absent": this host hasn't got what the rule protects
  std::string detail;
};

class IncidentPlay {
 public:
  /// `program`: path of harena-attack on this machine. The sandbox is the attacker's from here on: stop it afterwards.
  IncidentPlay(client::Client& client, std::string sandbox, std::string program)
      : client_(client), sandbox_(std::move(sandbox)), program_(std::move(program)) {}

  /// All rows, in an order in which the later ones can do with what the earlier ones broke.
  /// `has_disk`: it was made with a small limit of its disk and inodes; without, it could fill up the machine, and isn't asked to.
  Result<std::vector<IncidentFinding>> run(bool has_disk);

 private:
  using json = nlohmann::json;
  Status upload();
  Result<json> command(json body);
  Result<json> attack(std::vector<std::string> words, json body = json::object());
  Status rows_inside();
  Status output_flood();
  Status bombs();
  Status fillers(bool has_disk);
  Status file_traps();
  Status replaced_tools();
  Status attacked_servers();
  void judge(int row, std::string rule, bool good, std::string detail);

  client::Client& client_;
  const std::string sandbox_;
  const std::string program_;
  std::vector<IncidentFinding> findings_;
};

/// What a row is about, for people; empty for one that isn't played.
std::string incident_title(int row);

}  // namespace harena::cli
