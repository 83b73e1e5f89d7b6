#include "kiln/train/checkpoints.hpp"

#include <utility>

namespace kiln::training {

void Checkpoints::keep(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                       Json configuration) {
  checkpointer_ = std::make_unique<Checkpointer>(directory, rules, std::move(configuration));
  resume_ = resume;
}

void Checkpoints::add_state(RecordedObjects& objects, TrainingRun& run, OptionalState& optional_state) {
  objects.add("at", run.at);
  if (optional_state.scaler) objects.add("scaler", *optional_state.scaler);
  if (optional_state.average) objects.add("average", *optional_state.average);
  if (optional_state.plateau) objects.add("plateau", *optional_state.plateau);
}

void Checkpoints::open(TrainingRun& run, OptionalState& optional_state, MetricList& metrics, const RunFacts& facts) {
  if (!checkpointer_ || opened_) return;
  RecordedObjects objects = objects_;  // a copy, so that an error leaves it unchanged for another call of fit()
  add_state(objects, run, optional_state);
  if (optional_state.stream) {
    objects.add("stream", *optional_state.stream);
    objects.add_optional("places", optional_state.places);
  }
  metrics.record(objects, "metrics");
  checkpointer_->set_fact(facts);
  for (const std::string& note : checkpointer_->notes()) run.notify(Message{note});
  const auto file = checkpointer_->latest();
  const bool goes_on = file && resume_;
  if (goes_on) checkpointer_->restore(objects, *file);
  else checkpointer_->begin_new_run();
  run.listen([this](const Event& event) {
    if (const auto* const begin = std::get_if<Begin>(&event)) checkpointer_->check(*begin);
    if (const auto* const e = std::get_if<Evaluation>(&event)) checkpointer_->observe(*e);
  });
  objects_ = std::move(objects);
  opened_ = true;
  if (!goes_on) return;
  saved_at_ = run.at.step;
  run.notify(Message{text("going on from ", *file)});
}

bool Checkpoints::due(TrainingRun& run, bool epoch_ended) {
  const bool asked = run.control().take_save();
  return checkpointer_ && (asked || checkpointer_->due(run.at, epoch_ended));
}

void Checkpoints::save(TrainingRun& run) {
  if (!checkpointer_) return;
  run.notify(Saved{run.at, checkpointer_->save(objects_, run.at)});
  if (const auto take_error = checkpointer_->take_error()) run.notify(Message{*take_error});
  saved_at_ = run.at.step;
}

void Checkpoints::finish() {
  if (checkpointer_) checkpointer_->finish();
}

}  // namespace kiln::training
