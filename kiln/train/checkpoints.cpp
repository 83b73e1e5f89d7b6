#include "kiln/train/checkpoints.hpp"

#include <utility>

namespace kiln::training {

void Checkpoints::keep(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                       Json configuration) {
  checkpointer_ = std::make_unique<Checkpointer>(directory, rules, std::move(configuration));
  resume_ = resume;
}

void Checkpoints::open(TrainingRun& run, Extras& extras, MetricList& metrics) {
  if (!checkpointer_ || std::exchange(opened_, true)) return;
  objects_.add("at", run.at);
  if (extras.scaler) objects_.add("scaler", *extras.scaler);
  if (extras.average) objects_.add("average", *extras.average);
  if (extras.plateau) objects_.add("plateau", *extras.plateau);
  if (extras.stream) objects_.add("stream", *extras.stream);
  metrics.record(objects_, "metrics");
  run.listen([this](const Event& event) {
    if (const auto* const e = std::get_if<Evaluation>(&event)) checkpointer_->observe(*e);
  });
  const auto file = checkpointer_->latest();
  if (file && resume_) {
    checkpointer_->restore(objects_, *file);
    saved_at_ = run.at.step;
    run.tell(Note{text("going on from ", *file)});
  } else {
    checkpointer_->begin_anew();
  }
}

void Checkpoints::step_ended(TrainingRun& run, bool epoch_ended) {
  const bool asked = run.control().take_save();
  if (checkpointer_ && (asked || checkpointer_->due(run.at, epoch_ended))) save(run);
}

void Checkpoints::finish(TrainingRun& run) {
  if (!checkpointer_) return;
  if (saved_at_ != run.at.step) save(run);
  checkpointer_->finish();
}

void Checkpoints::save(TrainingRun& run) {
  if (gather_) gather_();
  run.tell(Saved{run.at, checkpointer_->save(objects_, run.at)});
  if (const auto trouble = checkpointer_->trouble()) run.tell(Note{*trouble});
  saved_at_ = run.at.step;
}

}  // namespace kiln::training
