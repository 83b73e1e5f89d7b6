#include "kiln/train/checkpoints.hpp"

#include <utility>

namespace kiln::training {

void Checkpoints::keep(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                       Json configuration) {
  checkpointer_ = std::make_unique<Checkpointer>(directory, rules, std::move(configuration));
  resume_ = resume;
}

void Checkpoints::add_state(RecordedObjects& objects, TrainingRun& run, Extras& extras) {
  objects.add("at", run.at);
  if (extras.scaler) objects.add("scaler", *extras.scaler);
  if (extras.average) objects.add("average", *extras.average);
  if (extras.plateau) objects.add("plateau", *extras.plateau);
}

void Checkpoints::open(TrainingRun& run, Extras& extras, MetricList& metrics, const Facts& facts) {
  if (!checkpointer_ || opened_) return;
  RecordedObjects objects = objects_;  // a copy, so that an error leaves it unchanged for another call of fit()
  add_state(objects, run, extras);
  if (extras.stream) {
    objects.add("stream", *extras.stream);
    objects.add_optional("places", extras.places);
  }
  metrics.record(objects, "metrics");
  checkpointer_->know(facts);
  for (const std::string& note : checkpointer_->notes()) run.tell(Note{note});
  const auto file = checkpointer_->latest();
  const bool goes_on = file && resume_;
  if (goes_on) checkpointer_->restore(objects, *file);
  else checkpointer_->begin_anew();
  run.listen([this](const Event& event) {
    if (const auto* const begin = std::get_if<Begin>(&event)) checkpointer_->check(*begin);
    if (const auto* const e = std::get_if<Evaluation>(&event)) checkpointer_->observe(*e);
  });
  objects_ = std::move(objects);
  opened_ = true;
  if (!goes_on) return;
  saved_at_ = run.at.step;
  run.tell(Note{text("going on from ", *file)});
}

bool Checkpoints::due(TrainingRun& run, bool epoch_ended) {
  const bool asked = run.control().take_save();
  return checkpointer_ && (asked || checkpointer_->due(run.at, epoch_ended));
}

void Checkpoints::save(TrainingRun& run) {
  if (!checkpointer_) return;
  run.tell(Saved{run.at, checkpointer_->save(objects_, run.at)});
  if (const auto trouble = checkpointer_->trouble()) run.tell(Note{*trouble});
  saved_at_ = run.at.step;
}

void Checkpoints::finish() {
  if (checkpointer_) checkpointer_->finish();
}

}  // namespace kiln::training
