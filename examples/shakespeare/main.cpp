// A small GPT-2 learns to write as Shakespeare did, letter by letter, and goes on from a prompt.
//
//   shakespeare --data tinyshakespeare/input.txt [--steps N] [--prompt TEXT] [--sampling.temperature T] ...; --help lists all
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/kiln.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/sampling.hpp"
#include "models/language/vocabulary.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "input.txt";
  models::Gpt2Config model = {.vocabulary = 0, .context = 128, .width = 160, .heads = 5, .layers = 4, .dropout = 0.05};
  std::int64_t steps = 1200, batch = 32;
  double rate = 0.02;  // of matrices, by Muon; a tenth of it by AdamW for all others
  std::uint64_t seed = 1;
  std::string prompt = "ROMEO:";
  std::int64_t letters = 500;
  models::Sampling sampling = {.temperature = 0.8, .top_k = 0, .top_p = 0.95};
};

/// Windows of a text, and the same one letter later.
struct Windows {
  Tensor<1, Int> text;
  std::int64_t length;

  /// Those that begin at `starts` [batch]: [batch, length].
  std::pair<Tensor<2, Int>, Tensor<2, Int>> at(const Tensor<1, Int>& starts) const {
    const Tensor<2, Int> places = starts.unsqueeze(1) + arange(length, text.device()).unsqueeze(0);
    return {text.select(0, places), text.select(0, places + 1)};
  }
  std::int64_t starts() const { return text.numel() - length; }
};

/// The mean over all windows that follow each other.
double loss_over(const models::CausalLm& model, const Windows& windows) {
  const NoGrad pause;
  const models::CausalLm quiet = valid(model);
  const Tensor<1, Int> all = arange(windows.starts() / windows.length, windows.text.device()) * windows.length;
  double sum = 0;
  for (std::int64_t first = 0; first < all.numel(); first += 64) {
    const std::int64_t count = std::min<std::int64_t>(64, all.numel() - first);
    const auto [ids, targets] = windows.at(all.narrow(0, first, count));
    sum += static_cast<double>(quiet.loss(ids, targets).item()) * static_cast<double>(count);
  }
  return sum / static_cast<double>(all.numel());
}

models::CausalLm trained(const Run& run, const Windows& windows, const Windows& held_out, const Device& device) {
  models::CausalLm model = train(run.model.init(device.autodiff()));
  AnyOptimizer optimizer(MuonConfig{}, model,
                         {.groups = {{.params = Selector::rank(0, 1) || "tokens" || "positions",
                                      .rule = AdamWConfig{.beta2 = 0.99},
                                      .rate = 0.1}},
                          .clip = {.global_norm = 1}});
  const CosineConfig rates{.peak = run.rate, .warmup = run.steps / 20, .steps = run.steps, .floor = run.rate / 20};
  auto schedule = rates.init();
  Generator keys(run.seed);
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 1; step <= run.steps; ++step) {
    const auto [ids, targets] = windows.at(randint({run.batch}, 0, windows.starts(), device, keys));
    auto [loss, grads] = value_and_grad(model, [&](const models::CausalLm& m) { return m.loss(ids, targets); });
    model = optimizer.step(schedule.next(), std::move(model), grads);
    if (step % 100 && step != run.steps) continue;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("step %lld, %.0f s: loss %.3f, validation loss %.4f\n", static_cast<long long>(step), seconds.count(),
                static_cast<double>(loss.item()), loss_over(model, held_out));
    std::fflush(stdout);
  }
  return valid(std::move(model));
}

/// Prints the prompt and what follows. Where the context is full, the model goes on from its second half.
void write(const models::CausalLm& model, const Run& run, const models::Characters& letters, const Device& device) {
  std::printf("\n%s", run.prompt.c_str());
  std::vector<std::int64_t> seen = letters.encode(run.prompt);
  const std::int64_t context = run.model.context;
  for (std::int64_t written = 0; written < run.letters;) {
    const std::int64_t kept = std::min(std::ssize(seen), written == 0 ? context - 1 : (context + 1) / 2);
    const std::vector<std::int64_t> window(seen.end() - kept, seen.end());
    const models::Generation how{
        .tokens = std::min(run.letters - written, context - kept),
        .sampling = run.sampling,
        .seed = run.seed + static_cast<std::uint64_t>(written),
        .on_token = [&](std::int64_t id) { std::fputs(letters.decode({&id, 1}).c_str(), stdout); }};
    const auto said = models::generate(model, Tensor<2, Int>::of(window, {1, kept}, device), how)[0];
    seen.insert(seen.end(), said.begin(), said.end());
    written += how.tokens;
  }
  std::printf("\n");
}

void learn_and_write(Run run) {
  require<IoError>(std::filesystem::exists(run.data), "there is no ", run.data,
                   ": get it by\n  curl -LO "
                   "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt");
  const std::string text = read_text_file(run.data);
  const models::Characters letters(text);
  const auto cut = static_cast<std::ptrdiff_t>(text.size() * 9 / 10);
  const Device device = Device::best();
  device.seed(run.seed);
  const std::vector<std::int64_t> ids = letters.encode(text);
  const auto windows = [&](auto begin, auto end) {
    return Windows{Tensor<1, Int>::of(std::vector<std::int64_t>(begin, end), device), run.model.context};
  };
  run.model.vocabulary = letters.size();
  const auto model =
      trained(run, windows(ids.begin(), ids.begin() + cut), windows(ids.begin() + cut, ids.end()), device);
  write(model, run, letters, device);
}

const Help kHelp{
    R"(A small GPT-2 learns to write as Shakespeare did, letter by letter, and goes on from a prompt.

  shakespeare --data tinyshakespeare/input.txt [--steps N] [--prompt TEXT] [--sampling.temperature T] ...

It needs a text, and Kiln comes without one:
  curl -LO https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt)",
    {{"data", "the text, one file"},
     {"model", "sizes of the network"},
     {"steps", "steps of training"},
     {"batch", "items in a step"},
     {"rate", "the learning rate of matrices, by Muon; all others take a tenth of it, by AdamW"},
     {"seed", "decides initial weights, order and noise"},
     {"prompt", "the text that is continued"},
     {"letters", "letters that are written after training"},
     {"sampling", "how the next token is drawn"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn_and_write, kHelp); }
