#include "kiln/backend/cpu/rows.hpp"

#include <cstring>

namespace kiln::cpu {
namespace {

template <class Word>
void copy_words(const Array& from, const Array& to) {
  const Rows<2> rows(from.shape, {to.strides, from.strides});
  const auto [to_step, from_step] = rows.steps();
  const std::int64_t length = rows.length();
  rows.each([&](const auto& offsets) {
    Word* target = to.as<Word>() + offsets[0];
    const Word* source = from.as<Word>() + offsets[1];
    if (to_step == 1 && from_step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(length) * sizeof(Word));
    } else {
      for (std::int64_t i = 0; i < length; ++i) target[i * to_step] = source[i * from_step];
    }
  });
}

}  // namespace

void copy(const Array& from, const Array& to) {
  KILN_CHECK(from.shape == to.shape && from.dtype == to.dtype);
  switch (size_of(from.dtype)) {
    case 1: return copy_words<std::uint8_t>(from, to);
    case 2: return copy_words<std::uint16_t>(from, to);
    case 4: return copy_words<std::uint32_t>(from, to);
    case 8: return copy_words<std::uint64_t>(from, to);
  }
  KILN_CHECK(false);
}

Array broadcast_to(const Array& array, const Shape& shape) {
  Array result{.data = array.data, .dtype = array.dtype, .shape = shape, .strides = Dims::filled(shape.size(), 0)};
  const int added = shape.size() - array.shape.size();
  KILN_CHECK(added >= 0);
  for (int i = 0; i < array.shape.size(); ++i) {
    KILN_CHECK(array.shape[i] == 1 || array.shape[i] == shape[added + i]);
    if (array.shape[i] != 1) result.strides[added + i] = array.strides[i];
  }
  return result;
}

}  // namespace kiln::cpu
