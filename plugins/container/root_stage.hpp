#pragma once
// Where roots are mounted before anybody asks for them. Most creates ask for the layers of the one before, and mounting an overlay and making
// names in it is a third of filling a blank. So a blank gets a root on the layers that were asked for last, whose upper and work folder
// are in a *stage*, FOLDER/NAME/{u,w}. A request for just this gets both by rename(2), which a mounted overlay doesn't notice; any other leaves
// them behind. From then on nothing tells such a sandbox from another.
//
// FOLDER is beside the sandboxes' state folders (.container-blanks). The blank's v2 group carries the stage's path as its note, so whoever removes that
// group, a life later too, removes the stage before. After a reboot there are no groups: remove_stages_of_others.

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/container/launcher_client.hpp"

namespace harena::container {

/// The root that a request wants, as far as it can be made without it: nothing but the image's layers, an upper without a limit.
struct StageWish {
  std::string folder;
  std::vector<LayerImage> layers;  // lowest first
  std::vector<std::string> digests() const;
};

/// FOLDER for a sandbox with this state folder.
std::string stages_beside(const std::string& state_dir);
/// The stage NAME, owned by the range's root; its path.
Result<std::string> make_stage(const std::string& folder, const std::string& name, std::uint32_t first_id);
/// Moves what is in the stage into the state folder, and removes it.
Status take_stage(const std::string& stage, const std::string& state_dir);
/// With what is in it, and FOLDER when nothing else is there. No process may use it any more. Idempotent.
Status remove_stage(const std::string& stage);
/// Removes those whose name doesn't begin with `own`. Nothing of an earlier life may run.
Status remove_stages_of_others(const std::string& folder, const std::string& own);

}  // namespace harena::container
