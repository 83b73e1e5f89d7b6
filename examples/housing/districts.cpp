#include "examples/housing/districts.hpp"

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

}  // namespace housing
