// Components beside OpenCV's, and by both ways.
#include "kiln/vision/components.hpp"

#include <algorithm>

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

TEST(Components, AreOpenCvs) {
  const Value masks = stored_value("components.masks");
  for (const auto& [connectivity, number] : {std::pair{Connectivity::Four, "4"}, {Connectivity::Eight, "8"}}) {
    const std::string name = text("components.", number);
    const Components found = connected_components(masks, connectivity);
    expect_same(found.labels, name + ".labels");
    const std::vector<std::int64_t> counts = found.counts.data().to_vector<std::int64_t>();
    const ComponentStatistics statistics = component_statistics(found.labels, *std::ranges::max_element(counts));
    for (std::int64_t i = 0; i < 2; ++i) {
      const TensorData& wanted = stored(text(name, ".statistics.", i));  // left, top, width, height, area
      EXPECT_EQ(counts[static_cast<std::size_t>(i)], wanted.shape()[0] - 1);
      const auto of_picture = [&](const Value& v) { return narrow(at(v, 0, i), 0, 0, wanted.shape()[0]); };
      const Value boxes = of_picture(statistics.boxes);
      const Value begin = narrow(boxes, 1, 0, 2), size = narrow(boxes, 1, 2, 2) - begin;
      const Value all = cat(Values{begin, size, unsqueeze(of_picture(statistics.areas), 1)}, 1);
      EXPECT_EQ(difference(all.data(), wanted), "") << name << ", picture " << i;
      expect_near(of_picture(statistics.centroids) - 0.5, text(name, ".middles.", i), 1e-9);
    }
  }
}

TEST(Components, AreTheSameWhereThereIsNoKernel) {
  // A spiral, which takes the longest way; noise; all and nothing.
  TensorData spiral({1, 1, 15, 15}, DType::U8);
  std::int64_t x = 0, y = 0, dx = 1, dy = 0;
  const auto cell = [&](std::int64_t column, std::int64_t row) -> std::uint8_t* {
    if (column < 0 || row < 0 || column >= 15 || row >= 15) return nullptr;
    return &spiral.as<std::uint8_t>()[static_cast<std::size_t>(row * 15 + column)];
  };
  for (int step = 0; step < 200; ++step) {
    *cell(x, y) = 1;
    const std::uint8_t *next = cell(x + dx, y + dy), *beyond = cell(x + 2 * dx, y + 2 * dy);
    if (!next || (beyond && *beyond)) std::tie(dx, dy) = std::pair(-dy, dx);
    if (const std::uint8_t* turned = cell(x + 2 * dx, y + 2 * dy); turned && *turned) break;
    x += dx;
    y += dy;
  }
  for (const Value& mask : {from_data(spiral, test::cpu), stored_value("components.masks"),
                            ones({1, 1, 5, 4}, test::cpu), zeros({3, 1, 2, 2}, test::cpu)})
    for (const Connectivity connectivity : {Connectivity::Four, Connectivity::Eight})
      EXPECT_EQ(difference(labels_by_ops(ne(mask, 0), connectivity).data(),
                           connected_components(mask, connectivity).labels.data()),
                "");
}

TEST(Components, AreMoreThan65536) {
  // A chessboard with corners that do not count: each white field is a component.
  const Value mask = eq(remainder(unsqueeze(arange(0, 400, 1, test::cpu), 1) + arange(0, 400, 1, test::cpu), 2), 0);
  const Components found = connected_components(reshape(mask, {1, 1, 400, 400}), Connectivity::Four);
  EXPECT_EQ(found.counts.item(), 80'000);
  const ComponentStatistics statistics = component_statistics(found.labels, 80'000);
  EXPECT_EQ(max(narrow(statistics.areas, 1, 1, 80'000)).item(), 1);
  EXPECT_EQ(connected_components(reshape(mask, {1, 1, 400, 400})).counts.item(), 1);
}

TEST(Components, OfMasksWithoutAPixelAreNone) {
  const Components none = connected_components(zeros({2, 1, 3, 3}, test::cpu));
  EXPECT_EQ(none.counts.data().to_vector<int>(), (std::vector{0, 0}));
  EXPECT_EQ(connected_components(zeros({2, 1, 0, 3}, test::cpu)).counts.data().to_vector<int>(), (std::vector{0, 0}));
  EXPECT_EQ(connected_components(bytes(1, 1, {4})).labels.item(), 1);
  const ComponentStatistics statistics = component_statistics(none.labels, 2);
  EXPECT_EQ(statistics.areas.data().to_vector<int>(), (std::vector{9, 0, 0, 9, 0, 0}));
  EXPECT_EQ(narrow(statistics.boxes, 1, 1, 2).data().to_vector<int>(), std::vector(16, 0));
  EXPECT_TRUE(all(is_nan(narrow(statistics.centroids, 1, 1, 2))).item());
}

TEST(Components, SayWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return connected_components(zeros({1, 3, 2, 2}, test::cpu)); }),
            "ShapeError: connected_components: a mask is [batch, 1, height, width], got [1, 3, 2, 2]");
  EXPECT_EQ(
      sentence_of([] { return connected_components(zeros({1, 1, 2, 2}, test::cpu), static_cast<Connectivity>(3)); }),
      "ArgumentError: connected_components: there is no connectivity of number 3");
  const Value labels = full({1, 1, 1, 2}, 5, test::cpu, DType::I64);
  EXPECT_EQ(sentence_of([&] { return component_statistics(labels, 4).areas.data(); }),
            "IndexError: component_statistics: index 5 is out of range for dimension 1 of size 5");
  EXPECT_EQ(sentence_of([&] { return component_statistics(cast(labels, DType::F32), 4); }),
            "DTypeError: component_statistics: indices must be an integer tensor, got float32 [1, 1, 1, 2]");
}

}  // namespace
}  // namespace kiln::vision
