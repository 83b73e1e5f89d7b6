// Worlds of fields: a frozen lake, and an empty room.
#include <algorithm>
#include <array>

#include "kiln/core/error/error.hpp"
#include "kiln/rl/environments/environments.hpp"
#include "kiln/rl/sketch.hpp"

namespace kiln::rl {
namespace {

struct Field {
  std::int64_t row, column;
  friend bool operator==(const Field&, const Field&) = default;
};

/// Walks left (0), down (1), right (2) or up (3), but not beyond the edge.
Field beside(Field field, std::int64_t direction, std::int64_t rows, std::int64_t columns) {
  if (direction == 0) field.column = std::max<std::int64_t>(field.column - 1, 0);
  if (direction == 1) field.row = std::min(field.row + 1, rows - 1);
  if (direction == 2) field.column = std::min(field.column + 1, columns - 1);
  if (direction == 3) field.row = std::max<std::int64_t>(field.row - 1, 0);
  return field;
}

/// An agent on rows of fields, whose letters are their kinds.
class Walk : public Environment {
 protected:
  Walk(std::string name, Space observations, std::vector<std::string> map)
      : Environment(std::move(name), std::move(observations), Space::discrete(4)), map_(std::move(map)) {
    for (std::int64_t row = 0; row < rows(); ++row)
      for (std::int64_t column = 0; column < columns(); ++column)
        if (letter({row, column}) == 'S') start_ = {row, column};
    at_ = start_;
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(map_.size()); }
  std::int64_t columns() const { return static_cast<std::int64_t>(map_[0].size()); }
  char letter(Field field) const {
    return map_[static_cast<std::size_t>(field.row)][static_cast<std::size_t>(field.column)];
  }
  void walk(std::int64_t direction) { at_ = beside(at_, direction, rows(), columns()); }

  Field start_{0, 0}, at_{0, 0};

 private:
  virtual void show(std::span<float> observation) const = 0;
  virtual Outcome walked(std::int64_t direction) = 0;

  void begin(std::span<float> observation) final {
    at_ = start_;
    show(observation);
  }
  Outcome advance(std::span<const float> action, std::span<float> observation) final {
    const Outcome outcome = walked(static_cast<std::int64_t>(action[0]));
    show(observation);
    return outcome;
  }
  Picture picture() const final {
    Sketch sketch(static_cast<double>(columns()), static_cast<double>(rows()), 32, kIce);
    for (std::int64_t row = 0; row < rows(); ++row)
      for (std::int64_t column = 0; column < columns(); ++column) {
        const auto x = static_cast<double>(column), y = static_cast<double>(rows() - 1 - row);
        sketch.line({x, y}, {x + 1, y}, 0.03, kGrey);
        sketch.line({x, y}, {x, y + 1}, 0.03, kGrey);
        if (letter({row, column}) == 'H') sketch.disc({x + 0.5, y + 0.5}, 0.4, kBlue);
        if (letter({row, column}) == 'G') sketch.disc({x + 0.5, y + 0.5}, 0.3, kGold);
        if (at_ == Field{row, column}) sketch.disc({x + 0.5, y + 0.5}, 0.2, kRed);
      }
    return std::move(sketch).picture();
  }
  std::vector<double> numbers() const final { return {static_cast<double>(at_.row), static_cast<double>(at_.column)}; }
  bool take(std::span<const double> numbers) final {
    if (numbers.size() != 2) return false;
    const auto is = [](double number, std::int64_t limit) {
      return number >= 0 && number < static_cast<double>(limit) &&
             static_cast<double>(static_cast<std::int64_t>(number)) == number;
    };
    if (!is(numbers[0], rows()) || !is(numbers[1], columns())) return false;
    at_ = {static_cast<std::int64_t>(numbers[0]), static_cast<std::int64_t>(numbers[1])};
    return true;
  }

  std::vector<std::string> map_;
};

class FrozenLake final : public Walk {
 public:
  FrozenLake(const std::vector<std::string>& map, bool slippery)
      : Walk("FrozenLake", Space::discrete(static_cast<std::int64_t>(map.size() * map[0].size())), map),
        slippery_(slippery) {}

 private:
  void show(std::span<float> observation) const override {
    observation[0] = static_cast<float>(at_.row * columns() + at_.column);
  }
  Outcome walked(std::int64_t direction) override {
    walk(slippery_ ? (direction + random().below(3) + 3) % 4 : direction);
    const char here = letter(at_);
    return {.reward = here == 'G' ? 1.0 : 0.0, .terminated = here == 'G' || here == 'H'};
  }

  bool slippery_;
};

class GridWorld final : public Walk {
 public:
  explicit GridWorld(std::int64_t side) : Walk("GridWorld", Space::box({2}, 0, 1), room(side)) {}

 private:
  static std::vector<std::string> room(std::int64_t side) {
    const auto size = static_cast<std::size_t>(side);
    std::vector<std::string> map(size, std::string(size, 'F'));
    map.front().front() = 'S';
    map.back().back() = 'G';
    return map;
  }
  void show(std::span<float> observation) const override {
    observation[0] = static_cast<float>(at_.row) / static_cast<float>(rows() - 1);
    observation[1] = static_cast<float>(at_.column) / static_cast<float>(columns() - 1);
  }
  Outcome walked(std::int64_t direction) override {
    walk(direction);
    const bool there = letter(at_) == 'G';
    return {.reward = there ? 1.0 : -1.0 / static_cast<double>(rows() * columns()), .terminated = there};
  }
};

}  // namespace

EnvironmentPtr frozen_lake(const std::vector<std::string>& map, bool slippery) {
  std::array<std::size_t, 2> found{};  // starts, goals
  for (const std::string& row : map) {
    require<ArgumentError>(!row.empty() && row.size() == map[0].size(),
                           "frozen_lake: the map's rows must be of one length");
    require<ArgumentError>(row.find_first_not_of("SFHG") == std::string::npos, "frozen_lake: the row \"", row,
                           "\" of the map has letters other than S, F, H and G");
    found[0] += static_cast<std::size_t>(std::count(row.begin(), row.end(), 'S'));
    found[1] += static_cast<std::size_t>(std::count(row.begin(), row.end(), 'G'));
  }
  require<ArgumentError>(found[0] == 1 && found[1] > 0, "frozen_lake: the map has ", found[0], " starts and ", found[1],
                         " goals; it must have one start and a goal");
  return std::make_unique<FrozenLake>(map, slippery);
}

EnvironmentPtr grid_world(std::int64_t side) {
  require<ArgumentError>(2 <= side && side <= 4096, "grid_world: side = ", side, " must be 2 to 4096");
  return std::make_unique<GridWorld>(side);
}

}  // namespace kiln::rl
