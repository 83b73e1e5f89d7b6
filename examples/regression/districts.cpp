#include "examples/regression/districts.hpp"

#include <cmath>
#include <map>
#include <optional>

#include "kiln/data/compose/kept.hpp"
#include "kiln/data/table/csv.hpp"

namespace housing {
namespace {

using namespace kiln;

/// A row of the file.
struct District {
  double longitude = 0, latitude = 0, housing_median_age = 0, total_rooms = 0;
  std::optional<double> total_bedrooms;
  double population = 0, households = 0, median_income = 0, median_house_value = 0;
  std::string ocean_proximity;
};

}  // namespace

std::vector<Example> read_examples(const std::string& file) {
  const auto districts = collected(csv_rows<District>(CsvFile(file)));
  require<DataError>(districts->size() >= 10, file, ": holds too few districts");
  std::map<std::string, std::size_t> kinds;
  for (std::int64_t i = 0; i < districts->size(); ++i) kinds.emplace(districts->get(i).ocean_proximity, kinds.size());
  std::vector<Example> examples;
  for (std::int64_t i = 0; i < districts->size(); ++i) {
    const District d = districts->get(i);
    const double bedrooms = d.total_bedrooms.value_or(d.total_rooms / 5);  // some districts do not say
    Example example;
    for (const double x : {d.longitude, d.latitude, d.housing_median_age, std::log(d.total_rooms), std::log(bedrooms),
                           std::log(d.population), std::log(d.households), d.median_income,
                           std::log(d.total_rooms / d.households), std::log(d.population / d.households)}) {
      require<DataError>(std::isfinite(x), file, ": district ", i + 1, " counts no rooms, people or households");
      example.features.push_back(static_cast<float>(x));
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      example.features.push_back(kinds.at(d.ocean_proximity) == kind);
    example.price = static_cast<float>(d.median_house_value / 1e5);
    examples.push_back(std::move(example));
  }
  return examples;
}

DataLoader<std::vector<Example>> loader(const DatasetPtr<Example>& examples, const LoaderConfig& config) {
  return {examples, [](std::span<const Example> batch) { return std::vector<Example>(batch.begin(), batch.end()); },
          config};
}

Districts to_tensors(std::span<const Example> examples, const Device& device) {
  std::vector<float> features, prices;
  for (const Example& example : examples) {
    features.insert(features.end(), example.features.begin(), example.features.end());
    prices.push_back(example.price);
  }
  const auto count = std::ssize(examples);
  return {Tensor<2>::of(features, {count, std::ssize(features) / count}, device), Tensor<1>::of(prices, device)};
}

Districts all_of(const DatasetPtr<Example>& examples, const Device& device) {
  std::vector<Example> list;
  for (std::int64_t i = 0; i < examples->size(); ++i) list.push_back(examples->get(i));
  return to_tensors(list, device);
}

double least_squares(const Districts& train, const Districts& test) {
  const auto with_ones = [](const Tensor<2>& x) { return cat({x, Tensor<2>::ones({x.dim(0), 1}, x.device())}, 1); };
  const Tensor<2> plane = lstsq(with_ones(train.features), train.prices.unsqueeze(1));
  const Tensor<1> guesses = with_ones(test.features).matmul(plane).squeeze(1);
  return 1e5 * std::sqrt(static_cast<double>(mse_loss(guesses, test.prices).item()));
}

}  // namespace housing
