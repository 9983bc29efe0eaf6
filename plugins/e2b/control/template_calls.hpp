#pragma once
// Templates: those of the configuration, read only; builds are refused. And what isn't there: volumes, secrets.

#include "plugins/e2b/control/sandbox_calls.hpp"

namespace harena::e2b {

AnswerTask list_templates(ControlCall& call);
AnswerTask template_info(ControlCall& call);
AnswerTask template_alias(ControlCall& call);
AnswerTask template_tags(ControlCall& call);
AnswerTask delete_template(ControlCall& call);
AnswerTask refuse_template_build(ControlCall& call);
AnswerTask list_teams(ControlCall& call);
AnswerTask empty_list(ControlCall& call);
AnswerTask refuse_volumes(ControlCall& call);
AnswerTask refuse_secrets(ControlCall& call);
AnswerTask no_such_volume(ControlCall& call);
AnswerTask no_such_secret(ControlCall& call);

/// The same UUID for the same text: what E2B has as ids of builds and teams.
std::string uuid_of(std::string_view text);

}  // namespace harena::e2b
