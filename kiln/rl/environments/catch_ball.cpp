#include <algorithm>
#include <array>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/rl/environments/environments.hpp"

namespace kiln::rl {
namespace {

class CatchBall final : public Environment {
 public:
  explicit CatchBall(std::int64_t side)
      : Environment("CatchBall", Space::box({1, side, side}, 0, 1), Space::discrete(3)), side_(side) {}

 private:
  static constexpr std::int64_t kBalls = 5;

  void drop() {
    row_ = 0;
    column_ = random().below(side_);
    drift_ = random().below(3) - 1;
  }
  void show(std::span<float> observation) const {
    std::fill(observation.begin(), observation.end(), 0.0f);
    observation[static_cast<std::size_t>(row_ * side_ + column_)] = 1;
    for (std::int64_t i = -1; i <= 1; ++i) observation[static_cast<std::size_t>((side_ - 1) * side_ + paddle_ + i)] = 1;
  }
  void begin(std::span<float> observation) override {
    balls_ = 0;
    paddle_ = side_ / 2;
    drop();
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) override {
    paddle_ = std::clamp<std::int64_t>(paddle_ + static_cast<std::int64_t>(action[0]) - 1, 1, side_ - 2);
    ++row_;
    column_ += drift_;
    if (column_ < 0 || column_ >= side_) {  // a wall throws it back
      drift_ = -drift_;
      column_ += 2 * drift_;
    }
    Outcome outcome;
    if (row_ == side_ - 1) {
      outcome.reward = std::abs(column_ - paddle_) <= 1 ? 1 : -1;
      outcome.terminated = ++balls_ == kBalls;
    }
    show(observation);
    if (row_ == side_ - 1 && !outcome.terminated) drop();
    return outcome;
  }
  Picture picture() const override {
    constexpr std::int64_t kScale = 16;
    std::vector<float> seen(static_cast<std::size_t>(side_ * side_));
    show(seen);
    Picture picture = blank(side_ * kScale, side_ * kScale, 1);
    for (std::int64_t y = 0; y < picture.height; ++y)
      for (std::int64_t x = 0; x < picture.width; ++x)
        *picture.at(y, x) = seen[static_cast<std::size_t>(y / kScale * side_ + x / kScale)] > 0 ? 255 : 0;
    return picture;
  }
  std::vector<double> numbers() const override {
    std::vector<double> numbers;
    for (const std::int64_t number : {balls_, paddle_, row_, column_, drift_})
      numbers.push_back(static_cast<double>(number));
    return numbers;
  }
  bool take(std::span<const double> numbers) override {
    if (numbers.size() != 5) return false;
    const auto last = static_cast<double>(side_ - 1);
    const std::array<double, 5> least = {0, 1, 0, 0, -1}, most = {kBalls, last - 1, last, last, 1};
    for (std::size_t i = 0; i < 5; ++i)
      if (!(least[i] <= numbers[i] && numbers[i] <= most[i]) || std::trunc(numbers[i]) != numbers[i]) return false;
    const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(numbers[i]); };
    balls_ = number(0), paddle_ = number(1), row_ = number(2), column_ = number(3), drift_ = number(4);
    return true;
  }

  std::int64_t side_, balls_ = 0, paddle_ = 1, row_ = 0, column_ = 0, drift_ = 0;
};

}  // namespace

EnvironmentPtr catch_ball(std::int64_t side) {
  require<ArgumentError>(5 <= side && side <= 1024, "catch_ball: side = ", side, " must be 5 to 1024");
  return std::make_unique<CatchBall>(side);
}

}  // namespace kiln::rl
