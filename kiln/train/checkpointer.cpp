#include "kiln/train/checkpointer.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/train/positive.hpp"

namespace kiln {
namespace {

using training::scan;

constexpr std::string_view kVersion = "1", kVersionKey = "kiln.training", kConfigKey = "configuration",
                           kFactsKey = "facts";

constexpr std::string_view kRemedy = "; go on with what it was, or begin anew in another directory";

std::string measured_by(const CheckpointRules& rules) { return text(rules.split, ' ', rules.metric); }

const Json* find(const Json::Object& object, std::string_view key) {
  const auto found = std::find_if(object.begin(), object.end(), [&](const auto& entry) { return entry.first == key; });
  return found == object.end() ? nullptr : &found->second;
}

/// Adds what differs at `path` and below it, "'width' is 3 there and 4 here", to `found`.
void compare(const Json& here, const Json& there, const std::string& path, std::vector<std::string>& found) {
  const auto differ = [&](const auto&... said) { found.push_back(text('\'', path, "' is ", said...)); };
  const auto at = [&](const auto& key) { return path.empty() ? text(key) : text(path, '.', key); };
  const auto *a = std::get_if<Json::Object>(&here.is), *b = std::get_if<Json::Object>(&there.is);
  const auto *list = std::get_if<Json::List>(&here.is), *other = std::get_if<Json::List>(&there.is);
  if (list && other) {
    if (list->size() != other->size())
      return differ("a list of ", other->size(), " there and of ", list->size(), " here");
    for (std::size_t i = 0; i < list->size(); ++i) compare((*list)[i], (*other)[i], at(i), found);
    return;
  }
  if (!a || !b) {
    if (write_json(here) != write_json(there)) differ(describe(there), " there and ", describe(here), " here");
    return;
  }
  for (const auto& [key, value] : *b) {
    if (const Json* const own = find(*a, key)) compare(*own, value, at(key), found);
    else found.push_back(text('\'', at(key), "' is not known here"));
  }
  for (const auto& [key, value] : *a)
    if (!find(*b, key)) found.push_back(text('\'', at(key), "' is not known there"));
}

/// Throws ConfigError with what differs, if anything does.
void require_same(const std::vector<std::string>& found, std::string_view file, std::string_view what,
                  std::string_view advice) {
  constexpr std::size_t kMost = 8;
  if (found.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(found.size(), kMost); ++i) list += text(i ? ", " : "", found[i]);
  if (found.size() > kMost) list += text(" and ", found.size() - kMost, " more");
  fail<ConfigError>(file, " belongs to another ", what, ": ", list, advice);
}

/// Compares facts that are known on both sides.
void require_same_facts(const Json::Object& here, const Json& there, std::string_view file) {
  const auto* const theirs = std::get_if<Json::Object>(&there.is);
  const auto known = [](const Json* fact) { return fact && !std::holds_alternative<std::nullptr_t>(fact->is); };
  std::vector<std::string> found;
  for (const auto& [name, own] : here)
    if (const Json* const other = theirs ? find(*theirs, name) : nullptr; known(&own) && known(other))
      compare(own, *other, name, found);
  require_same(found, file, "training",
               ", so that it would not go on to the same bits; CheckpointRules::exact = false lets it go on otherwise");
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

Checkpointer::Checkpointer(std::filesystem::path directory, CheckpointRules rules, Json configuration) try
    : directory_(std::move(directory)), rules_(std::move(rules)), configuration_(std::move(configuration)) {
  rules_.check();
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  require<IoError>(std::filesystem::is_directory(directory_), "cannot save to ", directory_.string(), ": ",
                   error ? error.message() : "it is no directory");
  remove_abandoned(directory_.string());
  training::CheckpointFolder folder = scan(directory_);
  notes_ = std::move(folder.notes);
  run_ = folder.complete.empty() ? training::RunName::fresh(folder.run.began) : folder.run;
  for (training::FoundCheckpoint& found : folder.complete) {
    if (found.stamp.measured != measured_by(rules_)) found.kept.value.reset();
    written_.emplace_back(found.kept.file, run_);
    kept_.push_back(std::move(found.kept));
  }
  rank_kept();
  for (const auto& [file, run] : folder.unwanted) training::remove_checkpoint(directory_ / file, run);
} catch (...) { rethrow_as_memory_error("checkpoints"); }

Checkpointer::~Checkpointer() { wait(); }

std::optional<std::string> Checkpointer::latest() const {
  for (auto checkpoint = kept_.rbegin(); checkpoint != kept_.rend(); ++checkpoint)
    if (const auto file = directory_ / checkpoint->file; std::filesystem::exists(file)) return file.string();
  return std::nullopt;
}

std::string latest_checkpoint(const std::filesystem::path& directory) try {
  const training::CheckpointFolder folder = scan(directory);
  if (!folder.complete.empty()) return (directory / folder.complete.back().kept.file).string();
  fail<IoError>(directory.string(), " holds no checkpoint", folder.notes.empty() ? "" : ": ",
                folder.notes.empty() ? "" : folder.notes.front());
} catch (...) { rethrow_as_memory_error(directory.native()); }

Json checkpoint_configuration(const std::string& file) try {
  const Metadata metadata = open_tensors(file).metadata;
  const auto said = metadata.find(std::string(kConfigKey));
  if (said == metadata.end()) return {};
  const Json configuration = parse_json(said->second, file);
  const auto* const object = std::get_if<Json::Object>(&configuration.is);
  const Json* const own = object ? find(*object, "own") : nullptr;
  return own ? *own : Json{};
} catch (...) { rethrow_as_memory_error(file); }

void Checkpointer::restore(RecordedObjects& objects, const std::string& file) const try {
  TensorSource record = open_tensors(file);
  const auto version = record.metadata.find(std::string(kVersionKey));
  require<DataError>(version != record.metadata.end(), file, " is not a checkpoint of a training");
  require<DataError>(version->second == kVersion, file, " is a checkpoint of version ", version->second,
                     "; this program reads version ", kVersion,
                     ": take its model alone, by load() with .under = \"model\"");
  std::vector<std::string> found;
  if (const auto said = record.metadata.find(std::string(kConfigKey)); said != record.metadata.end())
    compare(configuration_, parse_json(said->second, file), "", found);
  require_same(found, file, "configuration", kRemedy);
  if (const auto said = record.metadata.find(std::string(kFactsKey)); said != record.metadata.end() && rules_.exact)
    require_same_facts(facts_, parse_json(said->second, file), file);
  try {
    objects.restore(record, file);
  } catch (const LoadError& error) {
    fail<LoadError>(error.message(), "\n  it is a checkpoint of another training", kRemedy,
                    "; load() with .under = \"model\" reads its model alone");
  }
} catch (...) { rethrow_as_memory_error(file); }

void Checkpointer::begin_new_run() {
  wait();
  kept_.clear();
  best_.clear();
  if (!written_.empty()) replaces_.push_back(run_);
  run_ = training::RunName::fresh(run_.began);
}

void Checkpointer::check(const training::Begin& begin) const {
  if (rules_.best > 0) require_measured("checkpoints", begin, rules_.split, rules_.metric);
}

void Checkpointer::observe(const training::Evaluation& evaluation) {
  if (!evaluation.complete || evaluation.split != rules_.split) return;
  const Reading* const reading =
      rules_.best > 0 ? &evaluation.reading("checkpoints", rules_.metric) : evaluation.find(rules_.metric);
  if (reading && std::isfinite(reading->value)) measured_ = {evaluation.at.step, reading->value};
}

void Checkpointer::rank_kept() {
  best_.clear();
  for (const KeptCheckpoint& checkpoint : kept_)
    if (checkpoint.value) best_.push_back(*checkpoint.value);
  std::sort(best_.begin(), best_.end());
  if (rules_.rising) std::reverse(best_.begin(), best_.end());
}

bool Checkpointer::is_among_best(double value) const {
  const auto count = static_cast<std::size_t>(rules_.best);
  if (count == 0 || best_.size() < count) return count > 0;
  return rules_.rising ? value > best_[count - 1] : value < best_[count - 1];
}

bool Checkpointer::due(const training::Position& at, bool epoch_ended) const {
  if (rules_.every_steps && at.step % *rules_.every_steps == 0) return true;
  if (rules_.every_epochs && epoch_ended && at.epoch % *rules_.every_epochs == 0) return true;
  if (measured_ && measured_->first == at.step && is_among_best(measured_->second)) return true;
  const double since = at.seconds - (saved_ ? saved_->seconds : kept_.empty() ? 0 : kept_.back().seconds);
  return rules_.every_minutes && since >= 60 * *rules_.every_minutes;
}

std::string Checkpointer::save(const RecordedObjects& objects, const training::Position& at) try {
  wait();
  KeptCheckpoint checkpoint{text("step-", at.step, ".kiln"), at.step, at.seconds, std::nullopt};
  if (measured_ && measured_->first == at.step) {
    checkpoint.value = measured_->second;
    const auto place = rules_.rising ? std::ranges::upper_bound(best_, *checkpoint.value, std::greater())
                                     : std::ranges::upper_bound(best_, *checkpoint.value);
    best_.insert(place, *checkpoint.value);
    best_.resize(std::min(best_.size(), static_cast<std::size_t>(rules_.best)));
  }
  TensorSource snapshot =
      objects.snapshot({training::metadata_of({run_, replaces_, at.seconds, checkpoint.value, measured_by(rules_)}),
                        {std::string(kVersionKey), std::string(kVersion)},
                        {std::string(kConfigKey), write_json(configuration_)},
                        {std::string(kFactsKey), write_json(Json{facts_})}});
  saved_ = at;
  writing_ = std::async(std::launch::async, [this, snapshot = std::move(snapshot), checkpoint] {
    with_memory_error("a checkpoint", [&] { write(snapshot, checkpoint); });
  });
  return (directory_ / checkpoint.file).string();
} catch (...) { rethrow_as_memory_error("a checkpoint"); }

void Checkpointer::write(const TensorSource& snapshot, const KeptCheckpoint& checkpoint) {
  const bool is_own = std::ranges::any_of(written_, [&](const auto& other) { return other.first == checkpoint.file; });
  if (!is_own) training::rename_foreign(directory_ / checkpoint.file);
  write_file_atomically((directory_ / checkpoint.file).string(), [&](FileReplacement& file) {
    write_record(snapshot, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
  std::erase_if(written_, [&](const auto& other) { return other.first == checkpoint.file; });
  written_.emplace_back(checkpoint.file, run_);
  std::erase_if(kept_, [&](const KeptCheckpoint& other) { return other.step >= checkpoint.step; });
  kept_.push_back(checkpoint);
  keep_by_rules();
  save_config(training::CheckpointIndex{kept_, measured_by(rules_)}, (directory_ / training::kIndexFile).string());
  remove_unkept();
}

void Checkpointer::remove_unkept() {
  std::erase_if(written_, [&](const auto& file) {
    if (std::ranges::find(kept_, file.first, &KeptCheckpoint::file) != kept_.end()) return false;
    training::remove_checkpoint(directory_ / file.first, file.second);
    return true;
  });
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
    failed_ = nullptr;
    return;
  } catch (const Error&) { failed_ = std::current_exception(); } catch (const std::exception& error) {
    failed_ = std::make_exception_ptr(
        IoError(text("cannot write a checkpoint to ", directory_.string(), ": ", error.what())));
  }
  rank_kept();  // the file was not written
}

std::optional<std::string> Checkpointer::take_error() try {
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  return std::nullopt;
} catch (const Error& error) { return std::string(error.message()); }

void Checkpointer::finish() {
  wait();
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

}  // namespace kiln
