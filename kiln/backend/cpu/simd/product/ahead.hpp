// What is fetched from memory while a product is made, for whoever uses it next.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace kiln::cpu::simd {

/// Some blocks of as many rows of as many bytes, of which each tile fetches a few lines into the second-level cache: as many
/// as a core waits for at a time, while it multiplies.
class Ahead {
 public:
  Ahead(std::int64_t rows, std::int64_t bytes) : rows_(rows), lines_((bytes + kLine - 1) / kLine) {}

  /// A block whose rows lie `step` bytes apart; up to twelve of them, those after that are not fetched.
  template <class T>
  void add(const T* data, std::int64_t step) {
    if (count_ < blocks_.size())
      blocks_[count_++] = {reinterpret_cast<const char*>(data), step * static_cast<std::int64_t>(sizeof(T))};
  }
  /// So many tiles there will be, if any.
  void spread(std::int64_t tiles) {
    at_once_ = tiles > 0 ? (static_cast<std::int64_t>(count_) * rows_ * lines_ + tiles - 1) / tiles : 0;
  }

  void fetch() {
    for (std::int64_t left = at_once_; left > 0 && block_ < count_; --left) {
#if defined(__GNUC__)
      __builtin_prefetch(blocks_[block_].data + row_ * blocks_[block_].step + line_ * kLine, 0, 2);
#endif
      if (++line_ < lines_) continue;
      line_ = 0;
      if (++row_ < rows_) continue;
      row_ = 0, ++block_;
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  struct Block {
    const char* data;
    std::int64_t step;
  };
  std::array<Block, 12> blocks_{};
  std::size_t count_ = 0, block_ = 0;
  std::int64_t rows_, lines_, at_once_ = 0, row_ = 0, line_ = 0;
};

}  // namespace kiln::cpu::simd
