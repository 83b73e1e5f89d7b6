// Learns a number from the other columns of a table: a CSV file, or rows that the program draws itself.
#include <cmath>
#include <optional>
#include <string>

#include <kiln/config.hpp>
#include <kiln/data.hpp>
#include <kiln/kiln.hpp>
#include <kiln/train.hpp>

#include "model.hpp"

namespace {

using namespace kiln;

struct Run {
  std::optional<std::string> data;  // a CSV file with the columns of Row
  std::string out = "model.safetensors";
  bool plain = false;  // lines in place of the dashboard
  std::int64_t epochs = 50, batch = 64;
  double rate = 0.01;
  std::uint64_t seed = 1;
};

DatasetPtr<Row> read_rows(const Run& run) {
  if (run.data) return collected(csv_rows<Row>(CsvFile(*run.data)));
  print("no --data: draws 2000 rows\n");
  return in_memory(draw_rows(2000));
}

void learn(const Run& run) {
  const Device device = Device::best().autodiff();
  device.seed(run.seed);
  const auto rows = read_rows(run);
  require<DataError>(rows->size() >= 10, "there are ", rows->size(), " rows: at least 10 are needed");
  const std::int64_t held_out = rows->size() / 5;
  const auto [known, unseen] = split(rows, {rows->size() - held_out, held_out}, run.seed);
  const auto batcher = [](std::span<const Row> batch) { return std::vector<Row>(batch.begin(), batch.end()); };
  DataLoader loader(known, batcher, {.batch_size = run.batch, .shuffle = true, .seed = run.seed});
  DataLoader valid_loader(unseen, batcher, {.batch_size = 1024});

  std::vector<Row> all;
  for (std::int64_t i = 0; i < known->size(); ++i) all.push_back(known->get(i));
  const Model model = ModelConfig{}.init(to_tensors(all, device), device);
  const auto step = [device](const Model& m, const std::vector<Row>& batch) -> RegressionOutput {
    const Table table = to_tensors(batch, device);
    const Tensor<1> guesses = m.forward(table.inputs);
    return {loss_of(m, table), guesses.unsqueeze(1), table.targets.unsqueeze(1)};
  };
  Learner learner(train(model), AdamConfig{}.init(model), step, {.epochs = run.epochs, .seed = run.seed});
  learner.schedule(CosineConfig{.peak = run.rate, .steps = run.epochs * loader.size()});
  learner.metric(metric::RootMeanSquaredError{}).metric(metric::R2{});
  watch(learner, {.plain = run.plain});
  learner.fit(loader, valid_loader);

  save(learner.result(), run.out);
  print("wrote {}\n", run.out);
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, learn); }
