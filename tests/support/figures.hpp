// Helpers for data files of expected results, which a script beside each file writes with another library.
#pragma once
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "kiln/core/config/config.hpp"

namespace kiln::test {

/// A number of a data file. JSON has no numbers that are not finite: they are the strings "nan", "inf" and "-inf"
/// there.
struct Number {
  double value = 0;

  operator double() const { return value; }

  static Number from_json(const Json& json, const config::ConfigPath& place) {
    using Limits = std::numeric_limits<double>;
    const auto* const word = std::get_if<std::string>(&json.is);
    if (word && *word == "nan") return {Limits::quiet_NaN()};
    if (word && *word == "inf") return {Limits::infinity()};
    if (word && *word == "-inf") return {-Limits::infinity()};
    return {config::made<double>(json, place)};
  }
  Json to_json() const {
    if (std::isnan(value)) return {"nan"};
    if (std::isinf(value)) return {value > 0 ? "inf" : "-inf"};
    return {value};
  }
};

/// Returns the entry of that name. Throws DataError where a data file has none, or an empty one, which compares
/// nothing.
template <class T>
const T& entry_of(const std::map<std::string, T>& entries, const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) fail<DataError>("figures: the data file has no entry '", name, "'");
  if constexpr (requires { found->second.empty(); })
    if (found->second.empty()) fail<DataError>("figures: the entry '", name, "' of the data file is empty");
  return found->second;
}

}  // namespace kiln::test
