#include "models/language/sampling.hpp"

#include <algorithm>
#include <limits>

namespace kiln::models {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Keeps the logits that are at least `least` [batch, 1]; the others become -inf.
Tensor<2> keep_from(const Tensor<2>& logits, const Value& least) {
  return Typed{where(ge(logits.value(), least), logits.value(), kNever)};
}

}  // namespace

void Sampling::check() const {
  require<ArgumentError>(temperature >= 0, "Sampling: the temperature must be 0 or more, got ", temperature);
  require<ArgumentError>(top_k >= 0, "Sampling: top_k must be 0 or more, got ", top_k);
  require<ArgumentError>(top_p > 0 && top_p <= 1, "Sampling: top_p must be above 0 and at most 1, got ", top_p);
}

void Generation::check() const {
  sampling.check();
  require<ArgumentError>(tokens >= 0 && tokens <= std::numeric_limits<std::int32_t>::max(), "Generation: ", tokens,
                         " tokens cannot be generated");
}

Tensor<2> keep_top_k(const Tensor<2>& logits, std::int64_t k) {
  require<ArgumentError>(k > 0, "keep_top_k: k must be positive, got ", k);
  if (k >= logits.dim(1)) return logits;
  return keep_from(logits, narrow(topk(logits.value(), k, -1).values, -1, k - 1, 1));
}

Tensor<2> keep_top_p(const Tensor<2>& logits, double p) {
  require<ArgumentError>(p > 0 && p <= 1, "keep_top_p: p must be above 0 and at most 1, got ", p);
  const Value sorted = sort(logits.value(), -1, true).values;
  const Value shares = softmax(sorted, -1);
  const Value before = cumsum(shares, -1) - shares;  // the sum over more likely tokens
  const Value kept = where(lt(before, p), sorted, -kNever);
  return keep_from(logits, min(kept, {-1}, true));
}

Tensor<1, Int> sample(const Tensor<2>& logits, const Sampling& sampling, RandomKey key) {
  sampling.check();
  if (sampling.temperature == 0) return logits.argmax(-1);
  Tensor<2> left(cast(logits.value(), DType::F32) / sampling.temperature);
  if (sampling.top_k > 0) left = keep_top_k(left, sampling.top_k);
  if (sampling.top_p < 1) left = keep_top_p(left, sampling.top_p);
  return categorical(Tensor<2>(softmax(left.value(), -1)), key);
}

std::vector<std::vector<std::int64_t>> detail::generate(const Tensor<2, Int>& prompt, const Generation& how,
                                                        FunctionRef<Tensor<2>(const Tensor<2, Int>&)> next) {
  require<ArgumentError>(prompt.dim(0) > 0 && prompt.dim(1) > 0, "generate: a prompt of shape ", prompt.shape(),
                         " has no tokens to continue");
  Generator keys(how.seed);
  std::vector<std::vector<std::int64_t>> texts(static_cast<std::size_t>(prompt.dim(0)));
  std::vector<bool> ended(texts.size(), false);
  Tensor<2, Int> tokens = prompt;
  for (std::int64_t i = 0; i < how.tokens; ++i) {
    const Tensor<1, Int> drawn = sample(next(tokens), how.sampling, keys.next());
    const std::vector<std::int64_t> said = drawn.to_vector();
    for (std::size_t row = 0; row < texts.size(); ++row) {
      ended[row] = ended[row] || (how.stop && said[row] == *how.stop);
      if (ended[row]) continue;
      texts[row].push_back(said[row]);
      if (row == 0 && how.on_token) how.on_token(said[row]);
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool is) { return is; })) break;
    tokens = drawn.unsqueeze(1);
  }
  return texts;
}

}  // namespace kiln::models
