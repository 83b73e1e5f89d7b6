// language_outputs gpt2|llama|bert MODEL INPUTS OUTPUTS: what a model makes of tokens, from file to file, for
// exchange_language.py.
#include <cstdio>
#include <exception>
#include <string_view>

#include "kiln/ops/view/assemble.hpp"
#include "kiln/store/save.hpp"
#include "models/language/bert.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/llama.hpp"

namespace {

using namespace kiln;
using namespace kiln::models;

/// The logits of all tokens at once, and of three at first and then one by one.
void run_decoder(const CausalLm& given, const TensorFile& inputs, TensorFile& outputs) {
  const CausalLm model = valid(given);
  const Tensor<2, Int> ids(from_data(inputs.tensors.at("ids"), Device::cpu()));
  const std::int64_t batch = ids.dim(0), time = ids.dim(1);
  nn::TransformerCache cache = model.cache(batch, time);
  Values parts;
  for (std::int64_t at = 0, count = 3; at < time; at += count, count = 1)
    parts.push_back(model.forward(ids.narrow(1, at, count), cache).value());
  outputs.tensors.emplace("logits", model.forward(ids).data());
  outputs.tensors.emplace("cached", cat(parts, 1).data());
}

void run_bert(const Bert& given, const TensorFile& inputs, TensorFile& outputs) {
  const Bert model = valid(given);
  const auto input = [&](const char* name) { return from_data(inputs.tensors.at(name), Device::cpu()); };
  const Tensor<3> hidden = model.forward(Tensor<2, Int>(input("ids")), {.segments = Tensor<2, Int>(input("segments")),
                                                                        .padding = Tensor<2, Bool>(input("there"))});
  outputs.tensors.emplace("hidden", hidden.data());
  outputs.tensors.emplace("pooled", model.pooled(hidden).data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "language_outputs gpt2|llama|bert MODEL INPUTS OUTPUTS\n");
    return 2;
  }
  try {
    const std::string_view kind = argv[1];
    const TensorFile inputs = load_tensors(argv[3]);
    TensorFile outputs;
    if (kind == "bert") run_bert(load_bert(argv[2], Device::cpu()), inputs, outputs);
    else
      run_decoder(kind == "llama" ? load_llama(argv[2], Device::cpu()) : load_gpt2(argv[2], Device::cpu()), inputs,
                  outputs);
    save_tensors(outputs, argv[4]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
