#include "kiln/ops/move.hpp"

#include "kiln/ops/read.hpp"

namespace kiln {
namespace {

class Moved final : public PendingMove {
 public:
  explicit Moved(Value there) : there_(std::move(there)) {}
  bool ready() const override { return true; }
  Value take() override { return std::move(there_); }

 private:
  Value there_;
};

class ThroughHost final : public PendingMove {
 public:
  ThroughHost(Ref<PendingRead> reading, Device to) : reading_(std::move(reading)), to_(std::move(to)) {}
  bool ready() const override { return reading_->ready(); }
  Value take() override { return Value(to_.backend().upload(std::move(reading_->wait()[0]), to_)); }

 private:
  const Ref<PendingRead> reading_;
  const Device to_;
};

std::vector<StartMove>& movers() {
  static std::vector<StartMove> all;
  return all;
}

}  // namespace

void register_mover(StartMove start) { movers().push_back(start); }

Ref<PendingMove> moved(Value there) { return make_ref<Moved>(std::move(there)); }

Ref<PendingMove> start_move(const Value& value, const Device& to) {
  if (value.node())
    for (const StartMove start : movers())
      if (Ref<PendingMove> move = start(value, to)) return move;
  return make_ref<ThroughHost>(start_read({&value, 1}), to);
}

}  // namespace kiln
