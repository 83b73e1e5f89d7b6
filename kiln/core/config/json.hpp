// JSON as a value, for configs and metadata. Parsing accepts hostile text: whatever is not plain JSON, nests too deep,
// holds too large a number or repeats a key is a ConfigError.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/alternatives.hpp"

namespace kiln {

struct Json {
  /// Values in their order. A long list of numbers alone, as parse_json() reads it, keeps nine bytes per number; its
  /// values are created once, when they are first asked for.
  class List {
   public:
    List() noexcept;
    List(std::initializer_list<Json> values);
    List(const List&);
    List(List&&) noexcept;
    List& operator=(const List&);
    List& operator=(List&&) noexcept;
    ~List();

    std::size_t size() const;
    bool empty() const { return size() == 0; }
    const Json* begin() const;
    const Json* end() const { return begin() + size(); }
    const Json& operator[](std::size_t index) const { return begin()[index]; }
    /// Returns an element without creating the others: one that the list stores, or one that is created in `room`.
    const Json& element(std::size_t index, Json& room) const;

    void reserve(std::size_t count);
    Json& emplace_back(Json value);
    void push_back(Json value);

   private:
    friend class JsonTree;
    struct Body;
    Body& body();
    std::unique_ptr<Body> body_;
  };
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text, each key once

  /// An integer is an int64 where it fits, else a uint64 where it fits, else a double.
  using Is = Alternatives<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object>;
  Is is;

  // Defined in json.cpp, so that files that include this header do not each compile them.
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
