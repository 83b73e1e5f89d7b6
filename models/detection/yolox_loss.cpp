#include "models/detection/yolox_loss.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/loss.hpp"

namespace kiln::models {
namespace {

void require_boxes(const YoloxOutput& output, std::span<const std::vector<Box>> boxes) {
  require<ShapeError>(std::ssize(boxes) == output.raw.dim(0), "YoloxLoss: boxes of ", boxes.size(), " pictures for ",
                      output.raw.dim(0), " images");
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (const Box& box : boxes[i]) {
      const bool finite =
          std::isfinite(box.left) && std::isfinite(box.top) && std::isfinite(box.width) && std::isfinite(box.height);
      require<DataError>(finite && box.width > 0 && box.height > 0, "YoloxLoss: a box of picture ", i, " at ", box.left,
                         ", ", box.top, " is ", box.width, " x ", box.height, "; boxes must have an area");
      require<DataError>(box.label >= 0 && box.label < output.classes(), "YoloxLoss: a box of picture ", i,
                         " has the label ", box.label, ", the model has ", output.classes(), " classes");
    }
}

/// What the cells are to learn, on the device. Rows are filled up to a power of two with rows of no weight, so that a
/// step's shapes, and with them its plan, are those of earlier steps.
struct Targets {
  Tensor<1, Int> rows;    // [rows]: places in [batch * cells]
  Tensor<1> weights;      // [rows]: 1, or 0 for what fills up
  Tensor<2> places;       // [rows, 2]: columns and rows of the cells
  Tensor<2> strides;      // [rows, 1]
  Tensor<2> boxes;        // [rows, 4] of x1, y1, x2, y2
  Tensor<2> distances;    // [rows, 4]: what the network is to say of the boxes
  Tensor<2> classes;      // [rows, classes]: the overlap at the box's class
  Tensor<1> objectness;   // [batch * cells]: 1 for a cell with a box
  std::int64_t assigned;  // how many there are
};

/// The rows on the host.
class Rows {
 public:
  Rows(std::int64_t assigned, std::int64_t batch_cells, std::int64_t classes)
      : count_(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(assigned, kFewest)))),
        rows_({size()}, DType::I64),
        weights_({size()}, DType::F32),
        places_({size(), 2}, DType::F32),
        strides_({size(), 1}, DType::F32),
        boxes_({size(), 4}, DType::F32),
        distances_({size(), 4}, DType::F32),
        classes_({size(), classes}, DType::F32),
        objectness_({batch_cells}, DType::F32) {
    for (std::size_t i = 0; i < count_; ++i) {
      strides_.as<float>()[i] = 1;
      std::ranges::copy(std::array{0.0f, 0.0f, 1.0f, 1.0f}, &boxes_.as<float>()[4 * i]);
    }
  }

  void add(std::int64_t row, const YoloxCells::Cell& cell, const Box& box, double overlap) {
    const auto f = [](double x) { return static_cast<float>(x); };
    rows_.as<std::int64_t>()[next_] = row;
    objectness_.as<float>()[static_cast<std::size_t>(row)] = 1;
    weights_.as<float>()[next_] = 1;
    strides_.as<float>()[next_] = cell.stride;
    std::ranges::copy(std::array{cell.column, cell.row}, &places_.as<float>()[2 * next_]);
    std::ranges::copy(std::array{f(box.left), f(box.top), f(box.left + box.width), f(box.top + box.height)},
                      &boxes_.as<float>()[4 * next_]);
    std::ranges::copy(std::array{f((box.left + box.width / 2) / cell.stride - cell.column),
                                 f((box.top + box.height / 2) / cell.stride - cell.row),
                                 f(std::log(box.width / cell.stride)), f(std::log(box.height / cell.stride))},
                      &distances_.as<float>()[4 * next_]);
    const auto classes = static_cast<std::size_t>(classes_.shape()[1]);
    classes_.as<float>()[next_ * classes + static_cast<std::size_t>(box.label)] = f(overlap);
    ++next_;
  }

  Targets on(const Device& device) && {
    const auto matrix = [&](TensorData& data) { return Tensor<2>::from_data(std::move(data), device); };
    return {Tensor<1, Int>::from_data(std::move(rows_), device),
            Tensor<1>::from_data(std::move(weights_), device),
            matrix(places_),
            matrix(strides_),
            matrix(boxes_),
            matrix(distances_),
            matrix(classes_),
            Tensor<1>::from_data(std::move(objectness_), device),
            static_cast<std::int64_t>(next_)};
  }

 private:
  static constexpr std::int64_t kFewest = 16;
  std::int64_t size() const { return static_cast<std::int64_t>(count_); }

  std::size_t count_, next_ = 0;
  TensorData rows_, weights_, places_, strides_, boxes_, distances_, classes_, objectness_;
};

Targets targets_of(const SimOta& assignment, const YoloxOutput& output, std::span<const std::vector<Box>> boxes) {
  const std::vector<YoloxCells::Cell> cells = output.cells.list();
  const std::vector<float> raw = output.raw.detach().to_vector<float>();
  const std::size_t each = raw.size() / boxes.size();
  std::vector<std::vector<Assigned>> assigned;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    assigned.push_back(assignment.assign(cells, std::span(raw).subspan(i * each, each), output.classes(), boxes[i]));
    count += std::ssize(assigned.back());
  }
  Rows rows(count, output.raw.dim(0) * output.raw.dim(1), output.classes());
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (const Assigned& a : assigned[i])
      rows.add(static_cast<std::int64_t>(i * cells.size()) + a.cell, cells[static_cast<std::size_t>(a.cell)],
               boxes[i][a.box], a.overlap);
  return std::move(rows).on(output.raw.device().inner());
}

}  // namespace

YoloxLosses YoloxLoss::forward(const YoloxOutput& output, std::span<const std::vector<Box>> boxes) const {
  require_boxes(output, boxes);
  const Targets targets = targets_of(assignment, output, boxes);
  const Tensor<2> all = output.raw.flatten<0, 1>();
  const Tensor<2> chosen = all.select(0, targets.rows).to(DType::F32);
  const Tensor<2> said = chosen.narrow(1, 0, 4);
  const Tensor<2> middle = (said.narrow(1, 0, 2) + targets.places) * targets.strides;
  const Tensor<2> half = said.narrow(1, 2, 2).exp() * targets.strides * 0.5;
  const Tensor<1> apart =
      box_iou_loss<Reduction::None>(cat({middle - half, middle + half}, 1), targets.boxes, BoxOverlap::Iou);

  YoloxLosses result;
  result.assigned = std::max<std::int64_t>(1, targets.assigned);
  const auto share = 1 / static_cast<double>(result.assigned);
  result.boxes = (apart * (2 - apart) * targets.weights).sum() * share;  // 1 - IoU^2 of apart = 1 - IoU
  result.objectness = binary_cross_entropy_with_logits<Reduction::Sum>(all.narrow(1, 4, 1).squeeze(1).to(DType::F32),
                                                                       targets.objectness) *
                      share;
  const Tensor<2> of_classes =
      binary_cross_entropy_with_logits<Reduction::None>(chosen.narrow(1, 5, output.classes()), targets.classes);
  result.classes = (of_classes.sum(1) * targets.weights).sum() * share;
  result.loss = result.boxes * box_weight + result.objectness + result.classes;
  if (distance_weight != 0) {
    result.distances = ((said - targets.distances).abs().sum(1) * targets.weights).sum() * share;
    result.loss = result.loss + result.distances * distance_weight;
  } else {
    result.distances = Tensor<0>::from_data(TensorData({}, DType::F32), output.raw.device().inner());
  }
  return result;
}

}  // namespace kiln::models
