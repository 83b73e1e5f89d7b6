#include "kiln/train/callbacks.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::training {

TrainingRun::Listener Callbacks::tolerate_errors(TrainingRun& run, TrainingRun::Listener log) {
  const auto missed = missed_.emplace_back(std::make_shared<LostEvents>());
  return [&run, missed, log = std::move(log)](const Event& event) {
    if (std::holds_alternative<Begin>(event)) {  // nothing is lost yet
      *missed = {};
      return log(event);
    }
    try {
      log(event);
    } catch (const IoError& error) {
      if (missed->events++ > 0) return;
      missed->why = error.message();
      run.notify(Message{text(missed->why, "; the training goes on without it")});
    }
  };
}

void Callbacks::report_missed(const TrainingRun& run) const {
  for (const auto& missed : missed_)
    if (missed->events > 0)
      run.notify(Message{text("a log lacks ", missed->events, " of the training's events: ", missed->why)});
}

}  // namespace kiln::training
