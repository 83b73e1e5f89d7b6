// BERT reads sentences: how near each two of them are to each other, by the mean of what it makes of their words.
//
//   sentences --weights FOLDER [--lines FILE]      with config.json, weights, and tokenizer.json or vocab.txt
//   sentences [--lines FILE] [--bert.layers N]     weights that are drawn at random
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>

#include "kiln/core/config/arguments.hpp"
#include "kiln/core/file.hpp"
#include "kiln/data/text/tokenizer.hpp"
#include "kiln/kiln.hpp"
#include "models/language/bert.hpp"

namespace {

using namespace kiln;
namespace fs = std::filesystem;

/// Sizes of BERT; the rest of its config is as published.
struct Sizes {
  std::int64_t vocabulary = 30522, context = 512, width = 768, heads = 12, layers = 12, hidden = 3072;
};

struct Run {
  std::optional<std::string> weights = {};  // a folder; none: drawn at random, of these sizes
  Sizes bert = {};
  std::optional<std::string> lines =
      {};  // a file with a sentence on each line; none: a few about the weather and a cat
  std::uint64_t seed = 1;
};

std::vector<std::string> sentences_of(const Run& run) {
  std::istringstream text(!run.lines ? "It rains all day.\nThe weather is wet today.\nThe cat sleeps on the sofa.\n"
                                     : read_text_file(*run.lines));
  std::vector<std::string> sentences;
  for (std::string line; std::getline(text, line);)
    if (!line.empty()) sentences.push_back(line);
  require<ArgumentError>(!sentences.empty(), *run.lines, ": holds no sentence");
  return sentences;
}

models::Bert model_of(const Run& run, const Device& device) {
  if (run.weights) return models::load_bert(*run.weights, device);
  const Sizes& s = run.bert;
  return models::BertConfig{.vocabulary = s.vocabulary,
                            .context = s.context,
                            .width = s.width,
                            .heads = s.heads,
                            .layers = s.layers,
                            .hidden = s.hidden}
      .init(device);
}

Tokenizer tokenizer_of(const Run& run) {
  if (!run.weights) return Tokenizer::bytes();
  const fs::path folder = *run.weights;
  if (fs::exists(folder / "tokenizer.json")) return Tokenizer::load(folder / "tokenizer.json").without_padding();
  return Tokenizer::bert(folder / "vocab.txt");
}

/// Sentences of one length, the shorter ones filled up with a token that the model does not look at.
struct Batch {
  Tensor<2, Int> ids;
  Tensor<2, Bool> there;  // false: filled up
};

Batch batch_of(const std::vector<std::string>& sentences, const Tokenizer& tokenizer, std::int64_t context,
               const Device& device) {
  std::vector<std::vector<std::int64_t>> rows;
  std::size_t length = 1;
  for (const std::string& sentence : sentences) {
    rows.push_back(tokenizer.encode(sentence));
    rows.back().resize(std::min(rows.back().size(), static_cast<std::size_t>(context)));
    length = std::max(length, rows.back().size());
  }
  std::vector<std::int64_t> ids, counts;
  for (auto& row : rows) {
    counts.push_back(std::ssize(row));
    row.resize(length);
    ids.insert(ids.end(), row.begin(), row.end());
  }
  const auto count = std::ssize(rows), width = static_cast<std::int64_t>(length);
  const Tensor<2, Int> places = arange(width, device).unsqueeze(0);
  return {Tensor<2, Int>::of(ids, {count, width}, device), places.lt(Tensor<1, Int>::of(counts, device).unsqueeze(1))};
}

void compare(const Run& run) {
  const NoGrad pause;
  const Device device = Device::best();
  device.seed(run.seed);
  const models::Bert model = valid(model_of(run, device));
  const std::vector<std::string> sentences = sentences_of(run);
  const Batch batch =
      batch_of(sentences, tokenizer_of(run), model.positions.weight.dim(0) - model.first_position, device);
  const auto embedded = [&] { return models::embed_sentences(model, batch.ids, {.padding = batch.there}); };
  embedded().to_vector();  // plans
  const auto start = std::chrono::steady_clock::now();
  const Tensor<2> meanings = embedded();
  const std::vector<float> near = meanings.matmul(meanings.transpose()).to_vector();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    for (std::size_t j = 0; j < sentences.size(); ++j) print("{:6.3f} ", near[i * sentences.size() + j]);
    print(" {}\n", sentences[i]);
  }
  print("{:.1f} sentences a second\n", static_cast<double>(sentences.size()) / seconds.count());
}

const Help kHelp{
    R"(BERT reads sentences: how near each two of them are to each other, by the mean of what it makes of their words.

  sentences --weights FOLDER [--lines FILE]      with config.json, weights, and tokenizer.json or vocab.txt
  sentences [--lines FILE] [--bert.layers N]     weights that are drawn at random)",
    {{"weights", "a folder with config.json, weights and words; none: drawn at random"},
     {"bert", "sizes of a BERT that is drawn at random"},
     {"lines", "a file with a sentence on each line; none: a few about the weather and a cat"},
     {"seed", "decides initial weights, order and noise"}}};

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, compare, kHelp); }
