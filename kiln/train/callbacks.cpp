#include "kiln/train/callbacks.hpp"

#include "kiln/train/log/asynchronous.hpp"

namespace kiln::training {

TrainingRun::Listener Callbacks::tolerate_errors(TrainingRun& run, TrainingRun::Listener log, TakeErrors take_errors) {
  const auto lost = std::make_shared<LostEvents>();
  logs_.push_back({lost, std::move(take_errors)});
  return [&run, lost, log = std::move(log)](const Event& event) {
    if (std::holds_alternative<Begin>(event)) {  // nothing is lost yet
      *lost = {};
      return log(event);
    }
    try {
      log(event);
    } catch (const IoError& error) {
      lost->add(error);
      if (lost->events == 1) run.notify(Message{text(lost->why, "; the training goes on without it")});
    }
  };
}

void Callbacks::report_missed(const TrainingRun& run) const {
  std::vector<std::exception_ptr> others;
  for (const Log& log : logs_) {
    if (!log.take_errors) continue;
    for (const std::exception_ptr& error : log.take_errors()) {
      try {
        std::rethrow_exception(error);
      } catch (const IoError& lost) { log.lost->add(lost); } catch (...) {
        others.push_back(error);
      }
    }
  }
  for (const Log& log : logs_)
    if (log.lost->events > 0)
      run.notify(Message{text("a log lacks ", log.lost->events, " of the training's events: ", log.lost->why)});
  if (!others.empty()) throw_counted(others.front(), others.size() - 1);
}

}  // namespace kiln::training
