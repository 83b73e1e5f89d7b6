// Prices of Californian districts from what a census knows of them (Pace, Barry, "Sparse spatial autoregressions", 1997): least
// squares, and a small network beside it.
//
//   housing --data housing.csv [--epochs N] [--rate X] ...; --help lists all
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "models/regressor.hpp"
#include "models/vocabulary.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string data = "housing.csv";
  std::int64_t epochs = 150, batch = 256;
  double rate = 5e-3;
  std::uint64_t seed = 1;
};

/// What is known of the districts, each column of mean 0 and variance 1, and their prices in 100,000 dollars.
struct Districts {
  Tensor<2> features;
  Tensor<1> prices;
};

/// The columns that count things as logarithms, rooms and people for each household beside them, and a column for each kind
/// of `ocean_proximity`.
Districts read_districts(const std::string& file, const Device& device) {
  const auto records = models::read_csv(file);
  require<DataError>(records.size() > 1 && records[0].size() == 10, file,
                     ": is not the table of Californian districts");
  std::map<std::string, std::size_t> kinds;
  for (std::size_t i = 1; i < records.size(); ++i) kinds.emplace(records[i][9], kinds.size());
  std::vector<float> features, prices;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto number = [&](std::size_t column, double missing = std::nan("")) {
      const std::string& field = records[i][column];
      char* end = nullptr;
      const double x = field.empty() ? missing : std::strtod(field.c_str(), &end);
      require<DataError>(!std::isnan(x) && (!end || *end == 0), file, ": record ", i + 1, ": '", field,
                         "' is no number");
      return x;
    };
    const double rooms = number(3), people = number(5), households = number(6);
    const double bedrooms = number(4, rooms / 5);  // some districts do not say
    for (const double x :
         {number(0), number(1), number(2), std::log(rooms), std::log(bedrooms), std::log(people), std::log(households),
          number(7), std::log(rooms / households), std::log(people / households)})
      features.push_back(static_cast<float>(x));
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) features.push_back(kinds.at(records[i][9]) == kind);
    prices.push_back(static_cast<float>(number(8) / 1e5));
  }
  const auto count = static_cast<std::int64_t>(prices.size());
  const auto x = Tensor<2>::of(features, {count, static_cast<std::int64_t>(features.size()) / count}, device);
  return {(x - x.mean(keep, 0)) / (x.std(keep, 0) + 1e-6), Tensor<1>::of(prices, device)};
}

double root_mean_square(const Tensor<1>& guesses, const Tensor<1>& prices) {
  return 1e5 * std::sqrt(static_cast<double>(mse_loss(guesses, prices).item()));
}

void compare(const Run& run) {
  const Device device = Device::best();
  device.seed(run.seed);
  const Districts all = read_districts(run.data, device);
  const Tensor<1, Int> order = randperm(all.prices.numel(), device, Key{run.seed});
  const std::int64_t held_out = order.numel() / 5, rest = order.numel() - held_out;
  const auto part = [&](const Tensor<1, Int>& rows) {
    return Districts{all.features.select(0, rows), all.prices.select(0, rows)};
  };
  const Districts train_part = part(order.narrow(0, 0, rest)), test_part = part(order.narrow(0, rest, held_out));

  const auto with_ones = [](const Tensor<2>& x) { return cat({x, Tensor<2>::ones({x.dim(0), 1}, x.device())}, 1); };
  const Tensor<2> line = lstsq(with_ones(train_part.features), train_part.prices.unsqueeze(1));
  const Tensor<1> straight = with_ones(test_part.features).matmul(line).squeeze(1);
  std::printf("least squares: off by %.0f dollars (root mean square over %lld districts that were held out)\n",
              root_mean_square(straight, test_part.prices), static_cast<long long>(held_out));

  models::Regressor model = train(models::RegressorConfig{.features = all.features.dim(1)}.init(device.autodiff()));
  Adam optimizer = AdamConfig{}.init(model);
  const std::int64_t steps = rest / run.batch;
  auto schedule = CosineConfig{.peak = run.rate, .steps = run.epochs * steps}.init();
  Generator keys(run.seed);
  for (std::int64_t epoch = 0; epoch < run.epochs; ++epoch) {
    const Tensor<1, Int> shuffled = randperm(rest, device, keys.next());
    for (std::int64_t step = 0; step < steps; ++step) {
      const Tensor<1, Int> rows = shuffled.narrow(0, step * run.batch, run.batch);
      const Tensor<2> x = train_part.features.select(0, rows);
      const Tensor<1> y = train_part.prices.select(0, rows);
      auto [loss, grads] = value_and_grad(model, [&](const models::Regressor& m) { return mse_loss(m.forward(x), y); });
      model = optimizer.step(schedule.next(), std::move(model), grads);
    }
  }
  const Tensor<1> guesses = valid(model).forward(test_part.features).detach();
  std::printf("network: off by %.0f dollars\n", root_mean_square(guesses, test_part.prices));
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, compare); }
