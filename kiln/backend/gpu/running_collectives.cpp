#include "kiln/backend/gpu/running_collectives.hpp"

#include <algorithm>

namespace kiln::gpu {
namespace {

// The most collectives that keep their memory alive. When there are more, the first has usually ended.
constexpr std::size_t kMostUnderWay = 8;

std::uint64_t last_of(Inputs values) {
  std::uint64_t last = 0;
  for (const Value& value : values)
    if (value.node()) last = std::max(last, static_cast<const Memory&>(*value.node()->storage).collective());
  return last;
}

/// The first stream has waited for the ranks: whoever waits for what it is given by now waits for them.
void note_use_of_first(Storage& storage) {
  auto& memory = static_cast<Memory&>(storage);
  if (memory.stream() != 0) memory.end_use(0, memory.pool().order().count(0));
}

}  // namespace

void RunningCollectives::begin(Communicator& among, const Collective& collective, const Value& x, const Value& result) {
  const std::uint64_t number = driver_.collectives()->start_collective(among, collective);
  if (number == 0) return;
  static_cast<Memory&>(*result.node()->storage).filled_by(number);
  std::uint64_t too_many = 0;
  {
    const std::lock_guard lock(mutex_);
    // Other threads may have inserted later ones.
    const auto place = std::ranges::upper_bound(under_way_, number, {}, &UnderWay::number);
    under_way_.insert(place, {number, x.node()->storage, result.node()->storage});
    if (under_way_.size() > kMostUnderWay) too_many = under_way_.front().number;
  }
  if (too_many) wait_for_collective(too_many);
}

// It is the first stream that waits for the ranks, and this thread's for the first.
void RunningCollectives::wait_for_collective(Inputs values) {
  const std::uint64_t last = last_of(values);
  if (last == 0) return;
  wait_for_collective(last);
  const std::lock_guard lock(mutex_);
  order_.wait(order_.current(), 0, waited_);
}

std::uint64_t RunningCollectives::awaited_by(Inputs values) {
  const std::uint64_t last = last_of(values);
  if (last == 0) return 0;
  const std::lock_guard lock(mutex_);
  if (!under_way_.empty() && under_way_.front().number <= last) return last;
  order_.wait(order_.current(), 0, waited_);
  return 0;
}

void RunningCollectives::wait_for_collective(std::uint64_t number) {
  std::deque<UnderWay> ended;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (under_way_.empty() || under_way_.front().number > number) return;
  driver_.collectives()->wait_for_collective(number);
  if (order_.any()) waited_ = order_.count(0);
  for (; !under_way_.empty() && under_way_.front().number <= number; under_way_.pop_front()) {
    note_use_of_first(*under_way_.front().x);
    note_use_of_first(*under_way_.front().result);
    ended.push_back(std::move(under_way_.front()));
  }
}

bool RunningCollectives::await_all() {
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    if (under_way_.empty()) return false;
    last = under_way_.back().number;
  }
  wait_for_collective(last);
  return true;
}

}  // namespace kiln::gpu
