#include "models/detection/sim_ota.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kiln::models {
namespace {

/// The addition of a box to the cost of a cell that is near another box alone.
constexpr double kFar = 1e6;
constexpr double kLeastOverlap = 1e-8;
/// Logarithms of probabilities are no less, as in PyTorch's binary cross entropy.
constexpr double kLeastLog = -100;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double log_of(double p) { return std::max(std::log(p), kLeastLog); }

/// A cell near some box, and what it predicts.
struct Candidate {
  std::int64_t cell = 0;
  double x = 0, y = 0, stride = 0;        // its middle
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // the box that it predicts
  double none = 0;                        // the cross entropy if no class were right
  std::vector<double> of_class{};         // what a right class adds
};

Candidate candidate_of(std::int64_t at, const YoloxCells::Cell& cell, std::span<const float> row) {
  const double stride = cell.stride;
  Candidate result{.cell = at, .x = (cell.column + 0.5) * stride, .y = (cell.row + 0.5) * stride, .stride = stride};
  const double x = (cell.column + row[0]) * stride, y = (cell.row + row[1]) * stride;
  const double width = std::exp(double{row[2]}) * stride, height = std::exp(double{row[3]}) * stride;
  result.x1 = x - width / 2, result.x2 = x + width / 2;
  result.y1 = y - height / 2, result.y2 = y + height / 2;
  const double object = sigmoid(row[4]);
  for (const float logit : row.subspan(5)) {
    const double p = std::sqrt(sigmoid(logit) * object);
    result.none -= log_of(1 - p);
    result.of_class.push_back(log_of(1 - p) - log_of(p));
  }
  return result;
}

bool is_near(const Candidate& cell, const Box& box, double radius) {
  const double reach = radius * cell.stride;
  return std::abs(cell.x - box.left - box.width / 2) < reach && std::abs(cell.y - box.top - box.height / 2) < reach;
}

double overlap_of(const Candidate& found, const Box& box) {
  const double width = std::min(found.x2, box.left + box.width) - std::max(found.x1, box.left);
  const double height = std::min(found.y2, box.top + box.height) - std::max(found.y1, box.top);
  if (!(width > 0 && height > 0)) return 0;
  const double both = width * height;
  return both / ((found.x2 - found.x1) * (found.y2 - found.y1) + box.width * box.height - both);
}

/// The cells that are near at least one box.
std::vector<Candidate> candidates(std::span<const YoloxCells::Cell> cells, std::span<const float> raw,
                                  std::int64_t classes, std::span<const Box> boxes, double radius) {
  std::vector<Candidate> result;
  const auto width = static_cast<std::size_t>(5 + classes);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double stride = cells[i].stride;
    const Candidate place{.x = (cells[i].column + 0.5) * stride, .y = (cells[i].row + 0.5) * stride, .stride = stride};
    if (std::ranges::any_of(boxes, [&](const Box& box) { return is_near(place, box, radius); }))
      result.push_back(candidate_of(static_cast<std::int64_t>(i), cells[i], raw.subspan(i * width, width)));
  }
  return result;
}

/// The first `count` places in the order of `before`; of equal ones the first.
template <class Before>
std::vector<std::size_t> first_of(std::size_t all, std::size_t count, Before before) {
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            [&](std::size_t a, std::size_t b) { return before(a, b) || (!before(b, a) && a < b); });
  order.resize(count);
  return order;
}

}  // namespace

std::vector<Assigned> SimOta::assign(std::span<const YoloxCells::Cell> cells, std::span<const float> raw,
                                     std::int64_t classes, std::span<const Box> boxes) const {
  const std::vector<Candidate> near = candidates(cells, raw, classes, boxes, radius);
  struct Choice {
    std::size_t box = 0, count = 0;  // count: by how many boxes the cell was chosen
  };
  std::vector<Choice> choices(near.size());
  std::vector<std::vector<double>> overlaps, costs;  // [boxes, near]
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    auto &overlap = overlaps.emplace_back(), &cost = costs.emplace_back();
    for (const Candidate& cell : near) {
      overlap.push_back(overlap_of(cell, boxes[b]));
      const double sum = cell.none + cell.of_class[static_cast<std::size_t>(boxes[b].label)] -
                         overlap_weight * std::log(overlap.back() + kLeastOverlap) +
                         (is_near(cell, boxes[b], radius) ? 0 : kFar);
      cost.push_back(std::isnan(sum) ? HUGE_VAL : sum);
    }
    const auto best = first_of(near.size(), std::min(near.size(), static_cast<std::size_t>(most)),
                               [&](std::size_t i, std::size_t j) { return overlap[i] > overlap[j]; });
    const double sum = std::accumulate(best.begin(), best.end(), 0.0, [&](double s, auto i) { return s + overlap[i]; });
    const auto count = std::min(near.size(), std::max<std::size_t>(1, static_cast<std::size_t>(sum)));
    for (const std::size_t i : first_of(near.size(), count, [&](auto i, auto j) { return cost[i] < cost[j]; }))
      choices[i] = {b, choices[i].count + 1};
  }
  std::vector<Assigned> result;
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (choices[i].count == 0) continue;
    std::size_t box = choices[i].box;
    // Several boxes have chosen the cell: it learns the one that costs it least.
    if (choices[i].count > 1)
      for (std::size_t b = box = 0; b < boxes.size(); ++b)
        if (costs[b][i] < costs[box][i]) box = b;
    result.push_back({near[i].cell, box, overlaps[box][i]});
  }
  return result;
}

}  // namespace kiln::models
