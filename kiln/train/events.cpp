#include "kiln/train/events.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::training {
namespace {

/// "; it has 'loss', 'accuracy' (did you mean 'accuracy'?)"
std::string instead(std::string_view wrong, const std::vector<std::string_view>& names) {
  std::string sentence;
  for (const std::string_view name : names) sentence += text(sentence.empty() ? "; it has '" : ", '", name, '\'');
  return sentence + did_you_mean(wrong, names);
}

}  // namespace

std::string rate_name(std::size_t group) { return group == 0 ? "rate" : text("rate of group ", group); }

const Reading* Evaluation::find(std::string_view name) const {
  const auto found = std::ranges::find(readings, name, &Reading::name);
  return found == readings.end() ? nullptr : &*found;
}

const Reading& Evaluation::reading(std::string_view who, std::string_view name) const {
  if (const Reading* const found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const Reading& each : readings) names.push_back(each.name);
  fail<ArgumentError>(who, ": the evaluation '", split, "' has no metric '", name, '\'', instead(name, names));
}

namespace {

void require_number(bool is_number, std::string_view who, std::string_view metric) {
  require<ArgumentError>(is_number, who, ": the values of the metric '", metric, "' are words, and a number is needed");
}

}  // namespace

double Evaluation::number(std::string_view who, std::string_view name) const {
  const Reading& found = reading(who, name);
  require_number(!found.words, who, name);
  return found.value;
}

void require_measured(std::string_view who, const Begin& begin, std::string_view split, std::string_view metric) {
  if (begin.measured.empty()) return;
  std::vector<std::string_view> splits;
  for (const Measured& each : begin.measured) splits.push_back(each.split);
  const auto found = std::ranges::find(begin.measured, split, &Measured::split);
  require<ArgumentError>(found != begin.measured.end(), who, ": the training has no evaluation '", split, '\'',
                         instead(split, splits));
  const std::vector<std::string_view> names(found->metrics.begin(), found->metrics.end());
  require<ArgumentError>(std::ranges::find(names, metric) != names.end(), who, ": the evaluation '", split,
                         "' has no metric '", metric, '\'', instead(metric, names));
  require_number(std::ranges::find(found->texts, metric) == found->texts.end(), who, metric);
}

}  // namespace kiln::training
