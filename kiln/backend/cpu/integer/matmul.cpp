// op::MatmulInteger: its matrices as they are in strided memory.
#include <algorithm>

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/integer/integer.hpp"
#include "kiln/backend/cpu/integer/product.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/product.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu::integer {
namespace {

using std::int64_t;

class MatrixRows final : public LeftRows {
 public:
  MatrixRows(const Matrices& a, const Shape& batch, int64_t k, bool is_signed)
      : a_(a), batch_(batch), k_(k), turn_(is_signed ? 0x80 : 0), lies_(!is_signed && a.by_rows()) {}
  const std::uint8_t* in_place(int64_t index, int64_t row) const override { return lies_ ? at(index, row) : nullptr; }
  int64_t step() const override { return a_.row; }
  void copy(int64_t index, int64_t row, int64_t count, std::uint8_t* to, int64_t step) const override {
    for (int64_t i = 0; i < count; ++i) {
      const std::uint8_t* const from = at(index, row + i);
      std::uint8_t* const line = to + i * step;
      if (a_.by_rows())
        for (int64_t j = 0; j < k_; ++j) line[j] = from[j] ^ turn_;
      else
        for (int64_t j = 0; j < k_; ++j) line[j] = from[j * a_.column] ^ turn_;
    }
  }

 private:
  const std::uint8_t* at(int64_t index, int64_t row) const {
    return reinterpret_cast<const std::uint8_t*>(a_.data) + a_.offset(batch_, index) + row * a_.row;
  }

  const Matrices& a_;
  const Shape& batch_;
  const int64_t k_;
  const std::uint8_t turn_;
  const bool lies_;
};

Value zero_of(Call call, std::size_t slot) { return call.in.size() > slot ? call.in[slot] : Value(); }

/// Whether a zero point is one number, or one for each element of the last dimension.
bool is_by_column(const Value& zero, int64_t n) {
  return zero.empty() || zero.numel() == 1 || (zero.numel() == n && zero.dim(-1) == n);
}

bool multiply_matrices(Call call, const Epilogue* epilogue) {
  using Slot = op::MatmulInteger::Slot;
  const Value &a = call.in[Slot::a], &b = call.in[Slot::b];
  const Value a_zero = zero_of(call, Slot::a_zero), b_zero = zero_of(call, Slot::b_zero);
  if ((a_zero && a_zero.numel() != 1) || !is_by_column(b_zero, b.dim(-1))) return false;
  Value copies[2];
  const cpu::Product p = product_of(call, copies, !epilogue);
  if (p.empty()) return !epilogue;

  const bool is_signed = a.dtype() == DType::I8, is_unsigned = b.dtype() == DType::U8;
  const MatrixRows left(p.a, p.batch, p.k, is_signed);
  const PackPanels packer{.n = p.n,
                          .taps = 1,
                          .inner = p.k,
                          .column_step = p.b.column,
                          .tap_step = 0,
                          .inner_step = p.b.row,
                          .is_unsigned = is_unsigned,
                          .batch = p.b.distinct(p.batch),
                          .steps = p.b.batch};
  const Ref<Memory> right = packed(copies[1].node() ? copies[1] : b, packer);
  Product product{.matrices = numel(p.batch),
                  .m = p.m,
                  .n = p.n,
                  .k = p.k,
                  .matrix_step = p.m * p.n,
                  .row_step = p.n,
                  .left = &left,
                  .a_zero = number_of(a_zero) + (is_signed ? 128 : 0),
                  .packer = &packer,
                  .right = right->bytes(),
                  .rights = {},
                  .b_zeros = zeros_of(b_zero, is_unsigned ? 128 : 0, p.n)};
  const Dims matrices = strided::broadcast_strides(packer.batch, contiguous_strides(packer.batch), p.batch);
  if (packer.batch != p.batch)
    for (int64_t index = 0; index < product.matrices; ++index)
      product.rights.push_back(offset_of(p.batch, matrices, index));
  multiply(product, tiles_for(p.m), epilogue, reinterpret_cast<std::int32_t*>(p.c.data));
  return true;
}

}  // namespace

bool run(const op::MatmulInteger&, Call call) { return multiply_matrices(call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  if (std::holds_alternative<op::MatmulInteger>(op.product)) return multiply_matrices(call, &epilogue);
  const auto* conv = std::get_if<op::ConvInteger>(&op.product);
  return conv && convolve(*conv, call, &epilogue);
}

}  // namespace kiln::cpu::integer

namespace kiln::cpu {

FastKernels integer_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(integer::run(op, call)) { return integer::run(op, call); });
  kernels.multiply = integer::multiply;
  return kernels;
}

}  // namespace kiln::cpu
