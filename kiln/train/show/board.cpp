#include "kiln/train/show/board.hpp"

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

void Board::on(const training::Step& step) {
  progress.on(step);
  histories.on(step);
  machine.look();
}

void Board::on(const training::Evaluation& evaluation) { histories.on(evaluation); }

void Board::on(const training::Saved& saved) { say(text("saves ", saved.path)); }

void Board::on(const training::RunEnd& ending) {
  ended = ending.reason;
  say(text("ends after step ", ending.at.step, ": ", ending.reason));
}

}  // namespace kiln
