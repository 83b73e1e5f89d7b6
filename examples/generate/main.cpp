// A GPT-2 or a Llama goes on from a prompt, token by token with a cache, and says how many tokens that are a second.
//
//   generate --weights FOLDER [--prompt TEXT] [--tokens N] [--sampling.top_k K] ...   with config.json, weights, tokenizer.json
//   generate --weights model.gguf --tokenizer tokenizer.json
//   generate --family llama --llama.width 512 ...      weights that are drawn: nonsense, at the speed of sense
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/kiln.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/llama.hpp"
#include "models/language/sampling.hpp"

namespace {

using namespace kiln;
namespace fs = std::filesystem;

enum class Family { gpt2, llama };

struct Run {
  Family family = Family::gpt2;
  std::optional<std::string> weights = {};  // a folder, or a GGUF of a Llama; none: drawn at random, of these sizes
  std::optional<std::string> tokenizer =
      {};  // none: what lies in the folder; without any, bytes go in and numbers come out
  models::Gpt2Config gpt2 = {};
  models::LlamaConfig llama = {
      .vocabulary = 32000, .width = 1024, .heads = 16, .kv_heads = 4, .layers = 8, .hidden = 2816};
  bool bf16 = false;  // weights of half the size
  std::string prompt = "It was a dark and stormy night;";
  std::int64_t tokens = 64;
  models::Sampling sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.95};
  std::uint64_t seed = 1;
};

models::CausalLm model_of(const Run& run, const Device& device) {
  if (run.weights && (run.family == Family::llama || run.weights->ends_with(".gguf")))
    return models::load_llama(*run.weights, device);
  if (run.weights) return models::load_gpt2(*run.weights, device);
  return run.family == Family::llama ? run.llama.init(device) : run.gpt2.init(device);
}

std::optional<Tokenizer> tokenizer_of(const Run& run) {
  if (run.tokenizer) return Tokenizer::load(*run.tokenizer).without_padding();
  const fs::path folder = run.weights.value_or("");
  if (fs::exists(folder / "tokenizer.json")) return Tokenizer::load(folder / "tokenizer.json").without_padding();
  if (fs::exists(folder / "merges.txt")) return Tokenizer::gpt2(folder / "vocab.json", folder / "merges.txt");
  return {};
}

/// Prints what each further token adds to the text: some are a part of a letter, or a word whose space depends on its place.
class Voice {
 public:
  explicit Voice(std::optional<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  void say(std::int64_t id) {
    said_.push_back(id);
    if (!tokenizer_) return print(" {}", id);
    const std::string text = tokenizer_->decode(said_);
    if (text.size() > shown_) std::fputs(text.c_str() + shown_, stdout);
    shown_ = std::max(shown_, text.size());
    std::fflush(stdout);
  }

 private:
  std::optional<Tokenizer> tokenizer_;
  std::vector<std::int64_t> said_;
  std::size_t shown_ = 0;
};

void write(const Run& run) {
  using Clock = std::chrono::steady_clock;
  const Device device = Device::best();
  device.seed(run.seed);
  models::CausalLm model = valid(model_of(run, device));
  if (run.bf16)
    model = map_params(std::move(model), [](const std::string&, const Value& v) { return cast(v, DType::BF16); });
  const std::optional<Tokenizer> tokenizer = tokenizer_of(run);
  const std::vector<std::int64_t> ids = tokenizer.value_or(Tokenizer::bytes()).encode(run.prompt);
  require<ArgumentError>(!ids.empty(), "the prompt is empty, and there is nothing to go on from");
  print("{:.1f} million parameters\n\n{}", static_cast<double>(num_params(model)) / 1e6, run.prompt);

  Voice voice(tokenizer);
  std::optional<Clock::time_point> first;  // what reads the prompt and plans both kinds of step is not counted
  std::int64_t counted = -1;
  models::generate(model, Tensor<2, Int>::of(ids, {1, std::ssize(ids)}, device),
                   {.tokens = run.tokens, .sampling = run.sampling, .seed = run.seed, .on_token = [&](std::int64_t id) {
                      voice.say(id);
                      if (++counted == 1) first = Clock::now();
                    }});
  if (counted < 2) return print("\n");
  const std::chrono::duration<double> seconds = Clock::now() - *first;
  print("\n\n{:.1f} tokens a second\n", static_cast<double>(counted - 1) / seconds.count());
}

const Help kHelp{
    R"(A GPT-2 or a Llama goes on from a prompt, token by token with a cache, and says how many tokens that are a second.

  generate --weights FOLDER [--prompt TEXT] [--tokens N] [--sampling.top_k K] ...   with config.json, weights, tokenizer.json
  generate --weights model.gguf --tokenizer tokenizer.json
  generate --family llama --llama.width 512 ...      weights that are drawn: nonsense, at the speed of sense)",
    {{"family", "the architecture of weights that are drawn at random"},
     {"weights", "a folder with config.json and weights, or a GGUF of a Llama; none: drawn at random"},
     {"tokenizer", "the file tokenizer.json; none: that of the folder; without any, bytes go in and numbers come out"},
     {"gpt2", "sizes of a GPT-2 that is drawn at random"},
     {"llama", "sizes of a Llama that is drawn at random"},
     {"bf16", "hold the weights as bfloat16, in half the memory"},
     {"prompt", "the text that is continued"},
     {"tokens", "tokens that are written"},
     {"sampling", "how the next token is drawn"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, write, kHelp); }
