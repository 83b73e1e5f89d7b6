// Packs weights into panels and multiplies by them.
#include <cstring>

#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

template <class T>
void PanelPacker<T>::pack(const std::byte* from, std::byte* to) const {
  const T* const origin = reinterpret_cast<const T*>(from) + first;
  constexpr int64_t kMinOpsPerThread = 1 << 15;  // in numbers: about 10 us
  const int64_t size = panel() * depth;
  parallel_for(blocks * panels(), std::max<int64_t>(kMinOpsPerThread / std::max<int64_t>(size, 1), 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t start = i % panels() * panel(), count = std::min(panel(), columns - start);
                   const T* const source = origin + i / panels() * block + start * column;
                   T* const target = reinterpret_cast<T*>(to) + i * size;
                   if (count < panel()) std::memset(target, 0, static_cast<std::size_t>(size) * sizeof(T));
                   if (column != 1) product_tiles<T>().transpose(source, column, target, panel(), count, depth);
                   else
                     for (int64_t j = 0; j < depth; ++j) std::copy_n(source + j * row, count, target + j * panel());
                 }
               });
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
  constexpr int64_t kDepth = 128;  // the rows of panels that stay in the first-level cache while all `rows` read them
  const int64_t panel = product_tiles<T>().panel, size = packer_.depth * panel;
  const PanelRows<T> multiply_rows = panel_rows<T>();
  const T* const right = reinterpret_cast<const T*>(memory_->bytes()) + (block * this->panels() + panels.begin) * size;
  if (depths.size() == 0 && !add)
    for (int64_t i = 0; i < rows; ++i) std::fill_n(result + i * result_row, panels.size() * panel, T{0});
  for (int64_t k = depths.begin; k < depths.end; k += kDepth)
    multiply_rows(left + (k - depths.begin), left_row, rows, right + k * panel, size, panels.size(), result, result_row,
                  std::min(kDepth, depths.end - k), add || k > depths.begin);
}

template <class T>
StateRows<T>::StateRows(int64_t rows, int64_t width) {
  constexpr int64_t kLine = 64 / sizeof(T);
  step_ = ((width + product_tiles<T>().panel + kLine - 1) / kLine | 1) * kLine;
  memory_ = make_ref<Memory>(static_cast<std::size_t>(std::max<int64_t>(rows * step_, 1)) * sizeof(T));
  data_ = reinterpret_cast<T*>(memory_->bytes());
}

template struct PanelPacker<float>;
template struct PanelPacker<double>;
template class Panels<float>;
template class Panels<double>;
template class StateRows<float>;
template class StateRows<double>;

}  // namespace kiln::cpu::simd
