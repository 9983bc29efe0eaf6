#include "core/steps/steps.hpp"

namespace harena {

Status StepList::start() {
  for (; started_ < steps_.size(); ++started_) {
    const Step& step = steps_[started_];
    if (auto status = step.start(); !status.ok()) {
      stop();
      return std::move(status).error().during("starting: " + step.name);
    }
    report_("started " + step.name);
  }
  return ok_status();
}

void StepList::stop() {
  while (started_ > 0) {
    const Step& step = steps_[--started_];
    if (!step.stop) continue;
    step.stop();
    report_("stopped " + step.name);
  }
}

}  // namespace harena
