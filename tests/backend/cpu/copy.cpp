// Copies between memory orders, of elements of every size, around the tiles that they go in.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {
namespace {

class Copy : public testing::TestWithParam<DType> {};

TEST_P(Copy, TransposesPlanesOfAnySize) {
  const DType dtype = GetParam();
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  constexpr std::int64_t planes = 2;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 16, 17, 31, 64, 70, 2051})
    for (const std::int64_t columns : {1, 2, 3, 4, 9, 15, 16, 33, 64, 130})
      for (const std::int64_t room : {0, 3}) {  // behind each row
        const std::int64_t row_step = columns + room, plane_step = rows * row_step;
        std::vector<std::byte> source(static_cast<std::size_t>(planes * plane_step * bytes));
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 % 251);
        const std::size_t filled = static_cast<std::size_t>(planes * rows * columns * bytes);
        std::vector<std::byte> target(filled + 64, std::byte{0xEE});

        copy({source.data(), dtype, {planes, columns, rows}, {plane_step, 1, row_step}},
             {target.data(), dtype, {planes, columns, rows}, {rows * columns, rows, 1}});

        for (std::int64_t plane = 0; plane < planes; ++plane)
          for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t column = 0; column < columns; ++column)
              ASSERT_EQ(
                  std::memcmp(&target[static_cast<std::size_t>(((plane * columns + column) * rows + row) * bytes)],
                              &source[static_cast<std::size_t>((plane * plane_step + row * row_step + column) * bytes)],
                              static_cast<std::size_t>(bytes)),
                  0)
                  << rows << " x " << columns << " at " << plane << ", " << row << ", " << column;
        for (std::size_t i = filled; i < target.size(); ++i) ASSERT_EQ(target[i], std::byte{0xEE});
      }
}

// Elements that are repeated side by side.
TEST_P(Copy, RepeatsElements) {
  const DType dtype = GetParam();
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t times : {2, 3, 4, 5, 7, 8, 9, 17})
    for (const std::int64_t count : {1, 3, 16, 37, 300}) {
      std::vector<std::byte> source(static_cast<std::size_t>(count * bytes));
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 % 251);
      std::vector<std::byte> target(static_cast<std::size_t>(count * times * bytes) + 64, std::byte{0xEE});
      copy({source.data(), dtype, {count, times}, {1, 0}}, {target.data(), dtype, {count, times}, {times, 1}});
      for (std::int64_t i = 0; i < count * times; ++i)
        ASSERT_EQ(std::memcmp(&target[static_cast<std::size_t>(i * bytes)],
                              &source[static_cast<std::size_t>(i / times * bytes)], static_cast<std::size_t>(bytes)),
                  0)
            << i << " of " << count << " x " << times;
      for (std::size_t i = target.size() - 64; i < target.size(); ++i) ASSERT_EQ(target[i], std::byte{0xEE});
    }
}

// Those that do not fit into the caches are written past them where lines allow it.
TEST_P(Copy, TransposesLargePlanes) {
  const DType dtype = GetParam();
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t line = 64 / bytes, columns = 521;
  for (const std::int64_t row_lines : {70, 71}) {  // the last rows make no whole tile of lines
    const std::int64_t rows = row_lines * line, planes = (std::int64_t{16} << 20) / (rows * columns * bytes) + 1;
    const auto numel = static_cast<std::size_t>(planes * rows * columns);
    std::vector<std::byte> source(numel * static_cast<std::size_t>(bytes)), room(source.size() + 128);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 37 % 251);
    for (const std::size_t misplaced : {std::size_t{0}, static_cast<std::size_t>(bytes)}) {
      std::byte* target = room.data() + 64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64 + misplaced;
      copy({source.data(), dtype, {planes, columns, rows}, {rows * columns, 1, columns}},
           {target, dtype, {planes, columns, rows}, {rows * columns, rows, 1}});
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < numel; ++i) {
        const auto to = static_cast<std::int64_t>(i), row = to % rows, column = to / rows % columns,
                   plane = to / (rows * columns);
        wrong += std::memcmp(target + to * bytes,
                             &source[static_cast<std::size_t>(((plane * rows + row) * columns + column) * bytes)],
                             static_cast<std::size_t>(bytes)) != 0;
      }
      EXPECT_EQ(wrong, 0u) << rows << " rows, " << misplaced << " bytes behind a line's beginning";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, Copy, testing::Values(DType::U8, DType::F16, DType::F32, DType::I64),
                         [](const auto& info) { return text(info.param); });

}  // namespace
}  // namespace kiln::cpu
