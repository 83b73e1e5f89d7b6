// The rows of the table, and the model that learns from them.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <kiln/kiln.hpp>

/// One row of the table. The fields are the columns of the CSV file; other columns are ignored.
struct Row {
  double size = 0, age = 0, distance = 0;
  double price = 0;
};

struct Table {
  kiln::Tensor<2> inputs;   // [rows, 3]
  kiln::Tensor<1> targets;  // [rows]
};

inline Table to_tensors(std::span<const Row> rows, const kiln::Device& device) {
  std::vector<float> inputs, targets;
  for (const Row& row : rows) {
    for (const double x : {row.size, row.age, row.distance}) inputs.push_back(static_cast<float>(x));
    targets.push_back(static_cast<float>(row.price));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {kiln::Tensor<2>::of(inputs, {count, 3}, device), kiln::Tensor<1>::of(targets, device)};
}

struct Model {
  kiln::nn::Scaler inputs, targets;  // measured on what was learned from, saved with the model
  kiln::nn::Linear hidden, output;

  /// x [rows, 3] -> [rows, 1], as `targets` scales them: networks learn best from numbers of this size
  kiln::Tensor<2> scaled(const kiln::Tensor<2>& x) const {
    return output.forward(hidden.forward(inputs.forward(x)).relu());
  }
  /// x [rows, 3] -> [rows], in the targets' own unit
  kiln::Tensor<1> forward(const kiln::Tensor<2>& x) const { return targets.inverse(scaled(x)).squeeze(1); }
};

inline kiln::Tensor<0> loss_of(const Model& model, const Table& table) {
  return kiln::mse_loss(model.scaled(table.inputs), model.targets.forward(table.targets.unsqueeze(1)));
}

struct ModelConfig {
  std::int64_t width = 32;

  /// The known rows give the scales.
  Model init(const Table& known, const kiln::Device& device) const {
    return {.inputs = kiln::nn::ScalerConfig{}.fit(known.inputs),
            .targets = kiln::nn::ScalerConfig{}.fit(known.targets.unsqueeze(1)),
            .hidden = kiln::nn::LinearConfig{.in = 3, .out = width}.init(device),
            .output = kiln::nn::LinearConfig{.in = width, .out = 1}.init(device)};
  }
};

/// Rows of a rule with noise, for a start without a file: price = 3 size - age / 10 - distance.
inline std::vector<Row> draw_rows(std::int64_t count) {
  const kiln::Device device = kiln::Device::cpu();
  device.seed(1);
  const std::vector<float> numbers = kiln::rand({count, 4}, device).to_vector();
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const n = &numbers[static_cast<std::size_t>(4 * i)];
    Row row{.size = 1 + n[0], .age = 10 * n[1], .distance = n[2]};
    row.price = 3 * row.size - row.age / 10 - row.distance + 0.1 * (n[3] - 0.5);
    rows.push_back(row);
  }
  return rows;
}
