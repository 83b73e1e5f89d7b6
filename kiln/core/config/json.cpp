#include "kiln/core/config/json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

// nlohmann's parser keeps no stack of calls, and tells what it reads piece by piece: each is checked on its way
// into the tree.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return place({nullptr}); }
  bool boolean(bool flag) override { return place({flag}); }
  bool number_integer(std::int64_t number) override { return place({number}); }
  bool number_unsigned(std::uint64_t number) override {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return place({number});
    return place({static_cast<std::int64_t>(number)});
  }
  bool number_float(double number, const std::string&) override { return place({number}); }
  bool string(std::string& letters) override { return place({std::move(letters)}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open({Json::Object()}); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({Json::List()}); }
  bool end_array() override { return close(); }
  bool key(std::string& letters) override {
    if (!levels_.back().keys.insert(letters).second) return stop(text("key '", letters, "' stands there twice"));
    key_ = std::move(letters);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 9: ...", with the last token in full.
    constexpr std::size_t kLongest = 200;
    std::string_view sentence = error.what();
    if (const auto bracket = sentence.find("] "); bracket != std::string_view::npos)
      sentence.remove_prefix(bracket + 2);
    return stop(text(sentence.substr(0, kLongest), sentence.size() > kLongest ? "..." : ""));
  }

  Json root;
  std::string problem;

 private:
  struct Level {
    Json* json;
    std::unordered_set<std::string> keys;
  };

  bool stop(std::string sentence) {
    problem = std::move(sentence);
    return false;
  }
  bool place(Json json) {
    append(std::move(json));
    return true;
  }
  // Where the value stands now; it stays there while it is open, as its parent does not grow meanwhile.
  Json* append(Json json) {
    if (levels_.empty()) return &(root = std::move(json));
    Json& parent = *levels_.back().json;
    if (auto* const list = std::get_if<Json::List>(&parent.is)) return &list->emplace_back(std::move(json));
    return &std::get<Json::Object>(parent.is).emplace_back(std::move(key_), std::move(json)).second;
  }
  bool open(Json json) {
    if (levels_.size() == kJsonDepth) return stop(text("nested deeper than ", kJsonDepth, " levels"));
    levels_.push_back({append(std::move(json)), {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
  std::string key_;
};

nlohmann::ordered_json to_nlohmann(const Json& json) {
  return std::visit(
      []<class T>(const T& value) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<T, Json::List>) {
          auto list = nlohmann::ordered_json::array();
          for (const auto& element : value) list.push_back(to_nlohmann(element));
          return list;
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          auto object = nlohmann::ordered_json::object();
          for (const auto& [key, member] : value) object[key] = to_nlohmann(member);
          return object;
        } else {
          if constexpr (std::is_same_v<T, double>)
            require<ConfigError>(std::isfinite(value), "JSON has no number for ", value);
          return value;
        }
      },
      json.is);
}

}  // namespace

Json::Json(Is value) : is(std::move(value)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json parse_json(std::string_view text, std::string_view source) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) fail<ConfigError>(source, ": ", builder.problem);
  return std::move(builder.root);
}

std::string write_json(const Json& json) {
  try {
    return to_nlohmann(json).dump(2) + "\n";
  } catch (const nlohmann::json::exception&) { fail<ConfigError>("JSON takes UTF-8 text only"); }
}

std::string describe(const Json& json) {
  return std::visit(
      []<class T>(const T& value) -> std::string {
        if constexpr (std::is_same_v<T, std::nullptr_t>) return "null";
        else if constexpr (std::is_same_v<T, Json::List>) return "a list";
        else if constexpr (std::is_same_v<T, Json::Object>) return "an object";
        else if constexpr (std::is_same_v<T, std::string>) return text('"', shown(value), '"');
        else return text(value);
      },
      json.is);
}

}  // namespace kiln
