// The rows that the model is asked about, and the model that tells their kinds apart.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kiln/kiln.hpp>

/// One row of a table. A client sends its fields as JSON: {"length": 5.1, "width": 3.5}.
struct Row {
  double length, width;  // without a default: a request must have both
};
inline const std::array<std::string, 3> kKinds = {"small", "slim", "broad"};

/// [rows, 2]. Throws DataError for a number that float32 cannot hold.
inline kiln::Tensor<2> to_tensor(std::span<const Row> rows, const kiln::Device& device) {
  std::vector<float> numbers;
  for (const Row& row : rows)
    for (const double x : {row.length, row.width}) {
      numbers.push_back(static_cast<float>(x));
      kiln::require<kiln::DataError>(std::isfinite(numbers.back()), "the number ", x, " is too large");
    }
  return kiln::Tensor<2>::of(numbers, {static_cast<std::int64_t>(rows.size()), 2}, device);
}

struct Model {
  kiln::nn::Linear hidden, output;

  /// x [rows, 2] -> scores [rows, kinds]
  kiln::Tensor<2> forward(const kiln::Tensor<2>& x) const { return output.forward(hidden.forward(x).relu()); }
};

struct ModelConfig {
  std::int64_t width = 16;

  Model init(const kiln::Device& device) const {
    return {.hidden = kiln::nn::LinearConfig{.in = 2, .out = width}.init(device),
            .output = kiln::nn::LinearConfig{.in = width, .out = std::ssize(kKinds)}.init(device)};
  }
};

/// Rows, and the kind of each. Replace it by your own table (csv_rows of <kiln/data.hpp>).
struct Known {
  std::vector<Row> rows;
  std::vector<std::int64_t> kinds;
};
inline Known draw_rows(std::int64_t count) {
  constexpr double kMiddles[3][2] = {{1, 1}, {4, 1}, {4, 4}};
  const kiln::Device device = kiln::Device::cpu();
  device.seed(1);
  const std::vector<float> noise = kiln::randn({count, 2}, device).to_vector();
  Known known;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const n = &noise[static_cast<std::size_t>(2 * i)];
    const double* const middle = kMiddles[i % 3];
    known.rows.push_back({.length = middle[0] + 0.4 * n[0], .width = middle[1] + 0.4 * n[1]});
    known.kinds.push_back(i % 3);
  }
  return known;
}

/// A model that has learned `known` by heart.
inline Model learned(const Known& known, int steps, const kiln::Device& device) {
  const kiln::Tensor<2> rows = to_tensor(known.rows, device);
  const auto kinds = kiln::Tensor<1, kiln::Int>::of(known.kinds, device);
  Model model = ModelConfig{}.init(device);
  kiln::Adam adam = kiln::AdamConfig{}.init(model);
  for (int step = 0; step < steps; ++step) {
    auto [loss, gradients] =
        kiln::value_and_grad(model, [&](const Model& m) { return kiln::cross_entropy(m.forward(rows), kinds); });
    model = adam.step(0.02, std::move(model), gradients);
  }
  return model;
}
