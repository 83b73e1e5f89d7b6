#include "kiln/backend/cpu/simd/elementwise/operand.hpp"

#include <algorithm>

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kLongRow = 256;  // from here on finding a row costs little beside working on it
constexpr std::int64_t kWorthCopying = 4096;

// The number of elements after which an operand's pattern starts again: its outermost dimensions are repeats.
std::int64_t period_of(const Rows<2>& rows) {
  std::int64_t period = rows.length() * numel(rows.outer());
  for (int i = 0; i < rows.outer().size() && rows.strides(1)[i] == 0; ++i) period /= rows.outer()[i];
  return period;
}

/// Rows are too short for calls of memset and memcpy: sixteen bytes at a time, of which the last may be written twice.
template <class Word>
void fill_row(Word* to, std::int64_t count, Word word) {
  constexpr std::int64_t kSome = 16 / sizeof(Word);
  if (count < kSome) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = word;
    return;
  }
  Word some[kSome];
  for (Word& each : some) each = word;
  for (std::int64_t i = 0; i < count - kSome; i += kSome) std::memcpy(to + i, some, sizeof(some));
  std::memcpy(to + count - kSome, some, sizeof(some));
}
template <class Word>
void copy_row(const Word* from, Word* to, std::int64_t count) {
  constexpr std::int64_t kSome = 16 / sizeof(Word);
  if (count < kSome) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (std::int64_t i = 0; i < count - kSome; i += kSome) std::memcpy(to + i, from + i, 16);
  std::memcpy(to + count - kSome, from + count - kSome, 16);
}

template <class Word>
void gather_words(const Array& array, const Rows<2>& rows, std::int64_t begin, std::int64_t count, void* to) {
  const std::int64_t length = rows.length(), step = rows.steps()[1], end = begin + count;
  std::int64_t at = begin;
  auto* out = static_cast<Word*>(to);
  rows.each(begin / length, (end + length - 1) / length, [&](const auto& offsets) {
    const std::int64_t first = at % length, n = std::min(length - first, end - at);
    const Word* in = array.as<Word>() + offsets[1] + first * step;
    if (step == 1) copy_row(in, out, n);
    else if (step == 0) fill_row(out, n, *in);
    else
      for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * step];
    out += n;
    at += n;
  });
}

}  // namespace

void store(const Scalar& scalar, DType as, void* to) {
  visit_dtype(as, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) value = T(scalar.to<double>());
    else value = scalar.to<T>();
    std::memcpy(to, &value, sizeof(T));
  });
}

Operand::Operand(const Value& value, const Array& result, DType as) : as_(as) {
  if (value.is_scalar()) {
    array_.dtype = as;
    store(value.scalar(), as, constant_);
    return;
  }
  array_ = read(value);
  if (array_.shape == result.shape && array_.strides == result.strides && !converts()) {
    access_ = Access::Dense;
    return;
  }
  array_ = broadcast_to(array_, result.shape);
  rows_.emplace(result.shape, std::array{result.strides, array_.strides});
  const std::int64_t count = rows_->count(), length = rows_->length(), step = rows_->steps()[1];
  period_ = period_of(*rows_);
  if (count == 1 && (step == 0 || length == 1)) {
    access_ = Access::Constant;
    gather(0, 1, constant_);
  } else if (count == 1 && step == 1 && !converts()) {
    access_ = Access::Dense;
  } else if (length >= kLongRow && (step == 0 || step == 1) && !converts()) {
    access_ = Access::Rows;
  } else if (period_ <= Feed<double>::kPeriod && period_ < length * count) {
    access_ = Access::Periodic;
  } else if (period_ == length * count && period_ >= kWorthCopying && step != 0 && step != 1) {
    // A transposed operand: a copy in blocks touches each cache line once.
    held_ = Value(make_ref<Node>(Desc{result.shape, array_.dtype}, value.device()));
    const Array copied = allocate(held_, result.strides, MemoryUse::Scratch);
    copy(array_, copied);
    array_ = copied;
    rows_.emplace(result.shape, std::array{result.strides, result.strides});
    access_ = converts() ? Access::Gathered : Access::Dense;
  } else {
    access_ = Access::Gathered;
  }
}

std::int64_t Operand::offset(std::int64_t row) const {
  const Shape& outer = rows_->outer();
  std::int64_t offset = 0;
  for (int i = outer.size() - 1; i > 0; --i) {
    offset += row % outer[i] * rows_->strides(1)[i];
    row /= outer[i];
  }
  return outer.empty() ? 0 : offset + row * rows_->strides(1)[0];
}

void Operand::gather(std::int64_t begin, std::int64_t count, void* to) const {
  const auto size = static_cast<std::int64_t>(size_of(array_.dtype));
  if (rows_->count() == 1 && rows_->steps()[1] == 1)
    return convert(array_.dtype, array_.data + begin * size, as_, to, count);
  alignas(8) std::byte raw[kBlock * 8];
  void* target = converts() ? raw : to;
  switch (size) {
    case 1: gather_words<std::uint8_t>(array_, *rows_, begin, count, target); break;
    case 2: gather_words<std::uint16_t>(array_, *rows_, begin, count, target); break;
    case 4: gather_words<std::uint32_t>(array_, *rows_, begin, count, target); break;
    case 8: gather_words<std::uint64_t>(array_, *rows_, begin, count, target); break;
  }
  if (converts()) convert(array_.dtype, raw, as_, to, count);
}

}  // namespace kiln::cpu::simd
