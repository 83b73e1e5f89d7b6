// Attention over tensors whose dimensions have names: which dimension is which is checked by the compiler, and the
// order in which they are stored matters to nobody.
//
//   named_tensor
#include <kiln/kiln.hpp>

#include "kiln/core/config/arguments.hpp"
#include <cmath>

using namespace kiln;

namespace {

using Tokens = Named<Tensor<3>, "batch", "time", "feature">;
using Projection = Named<Tensor<3>, "feature", "head", "key">;

/// The sum of what each token takes from the others: x [batch, time, feature] -> [batch, head, time, feature].
auto attend(const Tokens& x, const Projection& query, const Projection& key) {
  const auto q = contract<"feature">(x, query);                                    // batch, time, head, key
  const auto k = contract<"feature">(x, key).rename<"time", "source">();           // batch, source, head, key
  const auto scores = contract<"key">(q, k) / std::sqrt(double(q.size<"key">()));  // batch, head, time, source
  const auto shares = scores.softmax<"source">();
  // x.sum<"head">() would not compile: tokens have no dimension of that name.
  return contract<"source">(shares, x.rename<"time", "source">());
}

constexpr std::string_view kHelp =
    R"(Attention over tensors whose dimensions have names: which dimension is which is checked by the compiler, and the
order in which they are stored matters to nobody.

  named_tensor)";

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = kiln::answered(argc, argv, kHelp, 0)) return *status;
  const Device device = Device::best();
  const Tokens x(randn({2, 5, 8}, device, Key{1}));
  const Projection query(randn({8, 4, 3}, device, Key{2})), key(randn({8, 4, 3}, device, Key{3}));
  const auto y = attend(x, query, key);
  print("tokens  {}\nresult  {}\n", text(x), text(y));

  // Operands meet by name: a weight for each head, a bias for each feature.
  const Named<Tensor<1>, "head"> weight(linspace(0.1, 0.4, 4, device));
  const Named<Tensor<1>, "feature"> bias(zeros({8}, device));
  const auto sum = (y * weight + bias).sum<"head">();
  print("heads   {}\nmeans   {:.3}\n", text(sum), sum.mean<"batch", "feature">().tensor());

  // Tokens that are stored in another order give the same.
  const auto turned = contract<"feature">(x.transpose<"time", "feature", "batch">(), query);
  const double apart = (contract<"feature">(x, query) - turned).tensor().abs().max().item();
  print("in another order: {} apart\n", apart);
}
