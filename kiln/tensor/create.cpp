#include "kiln/tensor/create.hpp"

#include <algorithm>

#include "kiln/tensor/arithmetic.hpp"

namespace kiln {
namespace {

// Appends the leaves to `elements`; the first path down sets the sizes, which the others must have too.
template <int D, class K>
void collect(const Nested<D, K>& nested, int depth, Shape& shape, std::vector<typename K::Literal>& elements) {
  if constexpr (D == 0) {
    elements.push_back(nested);
  } else {
    const auto size = static_cast<std::int64_t>(nested.size());
    if (depth == shape.size()) shape.push_back(size);
    else
      require<ShapeError>(shape[depth] == size, "of: the rows of dimension ", depth,
                          " differ in length: ", shape[depth], " and ", size);
    for (const auto& part : nested) collect<D - 1, K>(part, depth + 1, shape, elements);
  }
}

}  // namespace

template <int D, class K>
TensorData nested_data(const Nested<D, K>& nested, DType dtype) {
  Shape shape;
  std::vector<typename K::Literal> elements;
  collect<D, K>(nested, 0, shape, elements);
  while (shape.size() < D) shape.push_back(0);  // {} and {{}} give fewer sizes than there are dimensions
  TensorData data(shape, dtype_of<typename K::Literal>);
  std::copy(elements.begin(), elements.end(), data.as<typename K::Literal>().begin());
  return data.to(dtype);
}

#define KILN_NESTED(D)                                                       \
  template TensorData nested_data<D, Float>(const Nested<D, Float>&, DType); \
  template TensorData nested_data<D, Int>(const Nested<D, Int>&, DType);     \
  template TensorData nested_data<D, Bool>(const Nested<D, Bool>&, DType);
KILN_NESTED(0)
KILN_NESTED(1)
KILN_NESTED(2)
KILN_NESTED(3)
KILN_NESTED(4)
KILN_NESTED(5)
#undef KILN_NESTED

}  // namespace kiln
