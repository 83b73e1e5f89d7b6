#include "kiln/train/show/board.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {

void Board::say(std::string_view sentence) {
  said.push_back(text(time_stamp(), ' ', sentence));
  ++sentences;
  if (said.size() > kSaid) said.pop_front();
}

void Board::on(const training::Begin& begin) {
  progress.on(begin);
  machine = Gauge(begin.devices);
  ended.clear();
  say(text("begins: ", begin.parameters, " parameters, ", begin.batches, " batches an epoch"));
}

bool Board::on(const training::Step& step) {
  progress.on(step);
  histories.on(step);
  if (!machine.look()) return false;
  for (const auto& [name, value] : machine.values()) {
    auto found = std::ranges::find(system, name, &Series::metric);
    if (found == system.end()) found = system.insert(found, Series{"system", name});
    found->add(static_cast<double>(step.at.step), value);
  }
  return !system.empty();
}

void Board::on(const training::Evaluation& evaluation) { histories.on(evaluation); }

void Board::on(const training::Saved& saved) { say(text("saves ", saved.path)); }

void Board::on(const training::RunEnd& ending) {
  ended = ending.reason;
  say(text("ends after step ", ending.at.step, ": ", ending.reason));
}

}  // namespace kiln
