#include "kiln/train/checkpointer.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/train/positive.hpp"

namespace kiln {
namespace {

constexpr std::string_view kVersion = "1", kVersionKey = "kiln.training", kConfigKey = "configuration";

struct Index {
  std::vector<KeptCheckpoint> checkpoints{};
};

std::vector<KeptCheckpoint> read_index(const std::filesystem::path& directory) {
  const std::string index = (directory / "index.json").string();
  return std::filesystem::exists(index) ? load_config<Index>(index).checkpoints : std::vector<KeptCheckpoint>();
}

std::optional<std::string> newest(const std::filesystem::path& directory, const std::vector<KeptCheckpoint>& kept) {
  for (auto checkpoint = kept.rbegin(); checkpoint != kept.rend(); ++checkpoint)
    if (const auto file = directory / checkpoint->file; std::filesystem::exists(file)) return file.string();
  return std::nullopt;
}

const Json* find(const Json::Object& object, std::string_view key) {
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& entry) { return entry.first == key; });
  return found == object.end() ? nullptr : &found->second;
}

/// Throws ConfigError with the first place where two configurations differ.
void require_same(const Json& here, const Json& there, const std::string& path, std::string_view file) {
  const auto *a = std::get_if<Json::Object>(&here.is), *b = std::get_if<Json::Object>(&there.is);
  if (!a || !b) {
    require<ConfigError>(write_json(here) == write_json(there), file, " belongs to another configuration: '", path,
                         "' is ", describe(there), " there and ", describe(here), " here");
    return;
  }
  const auto at = [&](const std::string& key) { return path.empty() ? key : text(path, '.', key); };
  for (const auto& [key, value] : *b)
    if (const Json* const mine = find(*a, key)) require_same(*mine, value, at(key), file);
    else fail<ConfigError>(file, " belongs to another configuration: '", at(key), "' is not known here");
  for (const auto& [key, value] : *a)
    require<ConfigError>(find(*b, key), file, " belongs to another configuration: '", at(key), "' is not known there");
}

}  // namespace

void CheckpointRules::check() const {
  const auto positive = [](std::string_view name, const auto& value) {
    training::require_positive("checkpoints", name, value);
  };
  positive("every_steps", every_steps);
  positive("every_epochs", every_epochs);
  positive("every_minutes", every_minutes);
  positive("every_hours", every_hours);
  require<ArgumentError>(last >= 1, "checkpoints: last is ", last, ", it must be at least 1");
  require<ArgumentError>(best >= 0, "checkpoints: best is ", best, ", it must not be negative");
}

Checkpointer::Checkpointer(std::filesystem::path directory, CheckpointRules rules, Json configuration)
    : directory_(std::move(directory)), rules_(std::move(rules)), configuration_(std::move(configuration)) {
  rules_.check();
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  require<IoError>(std::filesystem::is_directory(directory_), "cannot save to ", directory_.string(), ": ",
                   error ? error.message() : "it is no directory");
  remove_abandoned(directory_.string());
  kept_ = read_index(directory_);
  if (!kept_.empty()) remove_unkept();  // what a process that was killed had no time for
}

Checkpointer::~Checkpointer() { wait(); }

std::optional<std::string> Checkpointer::latest() const { return newest(directory_, kept_); }

std::string latest_checkpoint(const std::filesystem::path& directory) {
  const auto file = newest(directory, read_index(directory));
  require<IoError>(file.has_value(), directory.string(), " holds no checkpoint");
  return *file;
}

Json checkpoint_configuration(const std::string& file) {
  const Metadata metadata = open_tensors(file).metadata;
  const auto said = metadata.find(std::string(kConfigKey));
  if (said == metadata.end()) return {};
  const Json configuration = parse_json(said->second, file);
  const auto* const object = std::get_if<Json::Object>(&configuration.is);
  const Json* const own = object ? find(*object, "own") : nullptr;
  return own ? *own : Json{};
}

void Checkpointer::restore(RecordedObjects& objects, const std::string& file) const {
  TensorSource record = open_tensors(file);
  const auto version = record.metadata.find(std::string(kVersionKey));
  require<DataError>(version != record.metadata.end(), file, " is no checkpoint of a training");
  require<DataError>(version->second == kVersion, file, " is a checkpoint of version ", version->second,
                     "; this program reads version ", kVersion,
                     ": take its model alone, by load() with .under = \"model\"");
  if (const auto said = record.metadata.find(std::string(kConfigKey)); said != record.metadata.end())
    require_same(configuration_, parse_json(said->second, file), "", file);
  objects.restore(record, file);
}

void Checkpointer::begin_anew() {
  wait();
  kept_.clear();
}

void Checkpointer::observe(const training::Evaluation& evaluation) {
  if (!evaluation.complete || evaluation.split != rules_.split) return;
  const Reading* const reading = evaluation.find(rules_.metric);
  if (reading && std::isfinite(reading->value)) measured_ = {evaluation.at.step, reading->value};
}

bool Checkpointer::due(const training::Position& at, bool epoch_ended) const {
  if (rules_.every_steps && at.step % *rules_.every_steps == 0) return true;
  if (rules_.every_epochs && epoch_ended && at.epoch % *rules_.every_epochs == 0) return true;
  const double since = at.seconds - (saved_ ? saved_->seconds : kept_.empty() ? 0 : kept_.back().seconds);
  return rules_.every_minutes && since >= 60 * *rules_.every_minutes;
}

std::string Checkpointer::save(const RecordedObjects& objects, const training::Position& at) {
  wait();
  KeptCheckpoint checkpoint{text("step-", at.step, ".kiln"), at.step, at.seconds, std::nullopt};
  if (measured_ && measured_->first == at.step) checkpoint.value = measured_->second;
  TensorSource snapshot = objects.snapshot(
      {{std::string(kVersionKey), std::string(kVersion)}, {std::string(kConfigKey), write_json(configuration_)}});
  saved_ = at;
  writing_ = std::async(std::launch::async,
                        [this, snapshot = std::move(snapshot), checkpoint] { write(snapshot, checkpoint); });
  return (directory_ / checkpoint.file).string();
}

void Checkpointer::write(const TensorSource& snapshot, const KeptCheckpoint& checkpoint) {
  write_file_atomically((directory_ / checkpoint.file).string(), [&](FileReplacement& file) {
    write_record(snapshot, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
  std::erase_if(kept_, [&](const KeptCheckpoint& other) { return other.step >= checkpoint.step; });
  kept_.push_back(checkpoint);
  keep_by_rules();
  save_config(Index{kept_}, (directory_ / "index.json").string());
  remove_unkept();
}

void Checkpointer::remove_unkept() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool keeps = std::any_of(kept_.begin(), kept_.end(), [&](const KeptCheckpoint& k) { return k.file == name; });
    if (name.starts_with("step-") && name.ends_with(".kiln") && !keeps) std::filesystem::remove(entry.path(), ignored);
  }
}

void Checkpointer::keep_by_rules() {
  std::vector<bool> keep(kept_.size());
  for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = keep.size() - i <= static_cast<std::size_t>(rules_.last);
  std::vector<std::size_t> measured;
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (kept_[i].value) measured.push_back(i);
  std::stable_sort(measured.begin(), measured.end(), [&](std::size_t a, std::size_t b) {
    return rules_.rising ? *kept_[a].value > *kept_[b].value : *kept_[a].value < *kept_[b].value;
  });
  for (std::size_t i = 0; i < measured.size() && i < static_cast<std::size_t>(rules_.best); ++i)
    keep[measured[i]] = true;
  if (rules_.every_hours) {
    double hours = -1;
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (const double now = std::floor(kept_[i].seconds / 3600 / *rules_.every_hours); now > hours) {
        hours = now;
        keep[i] = true;
      }
  }
  std::vector<KeptCheckpoint> kept;
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) kept.push_back(kept_[i]);
  kept_ = std::move(kept);
}

const std::vector<KeptCheckpoint>& Checkpointer::kept() {
  wait();
  return kept_;
}

void Checkpointer::wait() {
  if (!writing_.valid()) return;
  try {
    writing_.get();
    failed_.clear();
  } catch (const Error& error) { failed_ = error.message(); }
}

std::optional<std::string> Checkpointer::trouble() {
  return failed_.empty() ? std::nullopt : std::optional(std::exchange(failed_, ""));
}

void Checkpointer::finish() {
  wait();
  if (const auto sentence = trouble()) fail<IoError>(*sentence);
}

}  // namespace kiln
