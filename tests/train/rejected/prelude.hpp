#include <kiln/data.hpp>
#include <kiln/kiln.hpp>
#include <kiln/train.hpp>

using namespace kiln;

struct Model {
  nn::Linear linear;
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(x); }
};
struct Batch {
  Tensor<2> inputs, targets;
};
struct Row {
  float x, y;
};
