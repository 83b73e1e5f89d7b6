#include <cmath>
#include <numbers>

#include "kiln/ops/loss/boxes.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// Boxes [n, 4] around centres [n, 2] with sizes [n, 2].
Value boxes(const Value& centres, const Value& sizes) {
  return cat(Values{centres - sizes * 0.5, centres + sizes * 0.5}, 1);
}

/// The overlap of box i of the first two operands and box j of the last two.
double overlap(const std::vector<Array>& in, std::int64_t i, std::int64_t j, BoxOverlap kind) {
  double shared = 1, around = 1, area_a = 1, area_b = 1, apart = 0, diagonal = 0;
  for (std::int64_t k = 0; k < 2; ++k) {
    const double a = in[0]({i, k}), b = in[2]({j, k}), p = in[1]({i, k}), q = in[3]({j, k});
    const double hull = std::max(a + p / 2, b + q / 2) - std::min(a - p / 2, b - q / 2);
    shared *= std::max(0.0, std::min(a + p / 2, b + q / 2) - std::max(a - p / 2, b - q / 2));
    around *= hull, area_a *= p, area_b *= q;
    apart += (a - b) * (a - b), diagonal += hull * hull;
  }
  const double either = area_a + area_b - shared, iou = shared / either;
  if (kind == BoxOverlap::Iou) return iou;
  if (kind == BoxOverlap::Giou) return iou - (around - either) / around;
  if (kind == BoxOverlap::Diou) return iou - apart / diagonal;
  const double turn = std::atan(in[1]({i, 0}) / in[1]({i, 1})) - std::atan(in[3]({j, 0}) / in[3]({j, 1}));
  const double v = 4 / (std::numbers::pi * std::numbers::pi) * turn * turn;
  return iou - apart / diagonal - v * v / (1 - iou + v);
}

std::vector<OpCase> box_rows() {
  std::vector<OpCase> rows;
  const std::pair<const char*, BoxOverlap> kinds[] = {
      {"", BoxOverlap::Iou}, {"_giou", BoxOverlap::Giou}, {"_diou", BoxOverlap::Diou}, {"_ciou", BoxOverlap::Ciou}};
  for (const auto& [suffix, kind] : kinds) {
    const auto operands = [](std::int64_t n, std::int64_t m) {
      return std::vector<OperandSpec>{{{n, 2}, 0, 3}, {{n, 2}, 1, 4}, {{m, 2}, 0, 3}, {{m, 2}, 1, 4}};
    };
    const bool smooth = kind != BoxOverlap::Ciou;  // whose weight is held fixed: tests/nn/box_losses_test.cpp
    rows.push_back(
        {.name = text("box_iou", suffix),
         .operands = operands(2, 3),
         .function = [kind = kind](
                         const Values& in) { return Values{box_iou(boxes(in[0], in[1]), boxes(in[2], in[3]), kind)}; },
         .meaning =
             [kind = kind](const std::vector<Array>& in) {
               Array result({2, 3});
               each_index({2, 3}, [&](const Dims& i) { result(i) = overlap(in, i[0], i[1], kind); });
               return std::vector<Array>{result};
             },
         .tolerance = 4,
         .gradient = smooth});
    rows.push_back({.name = text("box_iou_loss", suffix),
                    .operands = operands(4, 4),
                    .function =
                        [kind = kind](const Values& in) {
                          return Values{box_iou_loss(boxes(in[0], in[1]), boxes(in[2], in[3]), kind)};
                        },
                    .meaning =
                        [kind = kind](const std::vector<Array>& in) {
                          double sum = 0;
                          for (std::int64_t i = 0; i < 4; ++i) sum += 1 - overlap(in, i, i, kind);
                          return std::vector<Array>{Array({}, sum / 4)};
                        },
                    .tolerance = 4,
                    .gradient = smooth});
  }
  return rows;
}

const Family kBoxesFamily(&box_rows);

}  // namespace
}  // namespace kiln::test
