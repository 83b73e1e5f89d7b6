// Decoding with GPT-2, token by token with a cache. A sample is 32 tokens; each is read before the next one begins.
#include <memory>

#include "bench/suite/workload.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/tensor/random.hpp"
#include "models/language/gpt2.hpp"

namespace bench {
namespace {

constexpr std::int64_t kPrompt = 32, kTokens = 32;

struct Decoding {
  kiln::models::CausalLm model;
  nn::TransformerCache cache;
  Tensor<2, Int> last = {};  // the token after the prompt
};

Sample decoding(DType dtype) {
  const kiln::models::Gpt2Config config{};
  auto model =
      map_params(valid(config.init(device())), [&](const std::string&, const Value& v) { return cast(v, dtype); });
  const auto state = std::make_shared<Decoding>(Decoding{model, model.cache(1, kPrompt + kTokens)});
  const Tensor<2, Int> prompt = randint({1, kPrompt}, 0, config.vocabulary, device());
  state->last = state->model.next(prompt, state->cache).argmax(1).unsqueeze(1);
  return timed([state] {
    Tensor<2, Int> token = state->last;
    for (std::int64_t i = 0; i < kTokens; ++i) {
      token = state->model.next(token, state->cache).argmax(1).unsqueeze(1);
      token.to_vector();
    }
    state->cache.truncate(kPrompt);
  });
}

}  // namespace

// Each token reads all weights but the table of positions.
std::vector<Workload> decode_workloads() {
  constexpr double kWeights = 124e6 - 1024 * 768;
  const auto work = [](double bytes) {
    return Work{.read = kTokens * kWeights * bytes, .flops = kTokens * 2 * kWeights};
  };
  return {{.name = "gpt2_124M_decode", .work = work(4), .make = [] { return decoding(DType::F32); }},
          {.name = "gpt2_124M_decode_bf16", .work = work(2), .make = [] { return decoding(DType::BF16); }}};
}

}  // namespace bench
