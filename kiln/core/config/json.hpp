// JSON as a value, for configs and metadata. Parsing takes hostile text: everything that is not plain JSON, too
// deep, too large a number or said twice is a ConfigError.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kiln {

struct Json {
  using List = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text, each key once

  /// An integer is an int64 where it fits, else a uint64 where it fits, else a double.
  using Is = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object>;
  Is is;

  // Defined in json.cpp, so that not every file that includes this one makes code for them.
  Json(Is value = nullptr);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
};

/// Lists and objects nest at most this deep.
inline constexpr std::size_t kJsonDepth = 64;

/// Throws ConfigError: "gpt.json: parse error at line 3, column 7: ..."; `source` names the text.
Json parse_json(std::string_view text, std::string_view source);

/// Two spaces a level, a newline at the end; doubles read back as the same number. Throws ConfigError for NaN,
/// infinities and text that is not UTF-8, which JSON cannot hold.
std::string write_json(const Json& json);

/// How an error names a value: "\"high\"", "3", "a list".
std::string describe(const Json& json);

}  // namespace kiln
