// Weights in panels, and how the work of a recurrent layer is cut.
#include <cstring>

#include "kiln/backend/cpu/simd/index/indices.hpp"
#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

template <class T>
void PanelPacker<T>::pack(const std::byte* from, std::byte* to) const {
  const T* const origin = reinterpret_cast<const T*>(from) + first;
  T* target = reinterpret_cast<T*>(to);
  for (int64_t k = 0; k < blocks; ++k)
    for (int64_t start = 0; start < columns; start += panel(), target += panel() * depth) {
      const T* const source = origin + k * block + start * column;
      const int64_t count = std::min(panel(), columns - start);
      if (count < panel()) std::memset(target, 0, static_cast<std::size_t>(panel() * depth) * sizeof(T));
      if (column != 1) product_tiles<T>().turn(source, column, target, panel(), count, depth);
      else
        for (int64_t i = 0; i < depth; ++i) std::copy_n(source + i * row, count, target + i * panel());
    }
}

template <class T>
Panels<T>::Panels(const Value& weight, const PanelPacker<T>& packer) : packer_(packer) {
  Value held;
  read_contiguous(weight, held);
  memory_ = packed(held ? held : weight, packer);
}

template <class T>
void Panels<T>::multiply(const T* left, int64_t left_row, int64_t rows, int64_t block, Interval panels, Interval depths,
                         T* result, int64_t result_row, bool add) const {
  constexpr int64_t kDepth = 256;  // a panel's part lies in the first-level cache while rows go through it
  const ProductTiles<T>& tiles = product_tiles<T>();
  const int64_t size = packer_.depth * tiles.panel, tile = left_row * rows_of_tile(rows, tiles.rows);
  const T* const right = reinterpret_cast<const T*>(memory_->bytes()) + (block * this->panels() + panels.begin) * size;
  if (depths.size() == 0 && !add)
    for (int64_t i = 0; i < rows; ++i) std::fill_n(result + i * result_row, panels.size() * tiles.panel, T{0});
  for (int64_t k = depths.begin; k < depths.end; k += kDepth) {
    const T* const from = left + (k - depths.begin);
    const int64_t depth = std::min(kDepth, depths.end - k);
    const bool adds = add || k > depths.begin;
    if (rows == 1) {
      tiles.multiply_row(from, right + k * tiles.panel, size, panels.size(), result, depth, adds);
      continue;
    }
    for (int64_t p = 0; p < panels.size(); ++p) {
      T* const to = result + p * tiles.panel;
      tiles.multiply({from, left_row, 1, tile}, {right + p * size + k * tiles.panel, tiles.panel, 1},
                     {to, result_row, to, result_row}, rows, tiles.panel, depth, adds, nullptr);
    }
  }
}

template <class T>
Lines<T>::Lines(int64_t rows, int64_t width) {
  constexpr int64_t kLine = 64 / sizeof(T);
  step_ = ((width + product_tiles<T>().panel + kLine - 1) / kLine | 1) * kLine;
  memory_ = make_ref<Memory>(static_cast<std::size_t>(std::max<int64_t>(rows * step_, 1)) * sizeof(T));
  data_ = reinterpret_cast<T*>(memory_->bytes());
}

template struct PanelPacker<float>;
template struct PanelPacker<double>;
template class Panels<float>;
template class Panels<double>;
template class Lines<float>;
template class Lines<double>;

RecurrentShape::RecurrentShape(const RecurrentCell& cell, const Value& weight, const Value& projection,
                               const Value& lengths, int64_t batch, int64_t time)
    : is(cell),
      batch(batch),
      time(time),
      hidden(weight.dim(0) / gates_of(cell.kind)),
      out(weight.dim(1)),
      gates(gates_of(cell.kind)),
      projects(!projection.empty()),
      lengths(static_cast<std::size_t>(batch), time) {
  if (!lengths) return;
  const Indices given(lengths);
  for (int64_t row = 0; row < batch; ++row)
    this->lengths[static_cast<std::size_t>(row)] = std::clamp<int64_t>(given.data()[row], 0, time);
}

bool RecurrentShape::any_active(Interval rows, int64_t t) const {
  return std::any_of(lengths.begin() + rows.begin, lengths.begin() + rows.end,
                     [t](int64_t length) { return t < length; });
}

void each_moment(const RecurrentShape& shape, int64_t weight_bytes, int64_t steps,
                 std::initializer_list<int64_t> panels, Phase phase) {
  if (shape.batch == 0) return;
  const int64_t threads = num_threads();
  constexpr int64_t kCache = 1 << 21, kWorthAThread = 1 << 17;  // bytes of the weight: some 10 us
  const bool shares =
      threads > 1 && weight_bytes > threads * kWorthAThread && (weight_bytes > kCache || shape.batch < threads);
  if (!shares) {
    // So few rows at a time that what belongs to them stays in the cache.
    constexpr int64_t kMostRows = 48;
    const int64_t rows = std::clamp<int64_t>((shape.batch + threads - 1) / threads, 1, kMostRows);
    parallel_for(shape.batch, rows, [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < steps; ++step) {
        int index = 0;
        for (const int64_t count : panels) phase(index++, step, {begin, end}, {0, count});
      }
    });
    return;
  }
  for (int64_t step = 0; step < steps; ++step) {
    int index = 0;
    for (const int64_t count : panels) {
      parallel_for(count, std::max<int64_t>((count + threads - 1) / threads, 1),
                   [&](int64_t begin, int64_t end) { phase(index, step, {0, shape.batch}, {begin, end}); });
      ++index;
    }
  }
}

}  // namespace kiln::cpu::simd
