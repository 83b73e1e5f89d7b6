#include "kiln/core/config/json.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

enum class NumberKind : std::uint8_t { Integer, Large, Real };

Json number_of(NumberKind kind, std::uint64_t bits) {
  if (kind == NumberKind::Integer) return {static_cast<std::int64_t>(bits)};
  if (kind == NumberKind::Large) return {bits};
  return {std::bit_cast<double>(bits)};
}

/// The bits of many numbers in chunks, so that a growing list is never copied.
class PackedNumbers {
 public:
  void add(NumberKind kind, std::uint64_t bits) {
    if (size_ % kBlock == 0) blocks_.emplace_back();
    blocks_.back().bits.push_back(bits);
    blocks_.back().kinds.push_back(kind);
    ++size_;
  }
  void add(const Json& number) {
    if (const auto* const whole = std::get_if<std::int64_t>(&number.is))
      add(NumberKind::Integer, static_cast<std::uint64_t>(*whole));
    else if (const auto* const large = std::get_if<std::uint64_t>(&number.is)) add(NumberKind::Large, *large);
    else add(NumberKind::Real, std::bit_cast<std::uint64_t>(std::get<double>(number.is)));
  }
  std::size_t size() const { return size_; }
  Json at(std::size_t index) const {
    const NumberBlock& part = blocks_[index / kBlock];
    return number_of(part.kinds[index % kBlock], part.bits[index % kBlock]);
  }

 private:
  static constexpr std::size_t kBlock = 1 << 16;
  struct NumberBlock {
    std::vector<std::uint64_t> bits;
    std::vector<NumberKind> kinds;
  };
  std::vector<NumberBlock> blocks_;
  std::size_t size_ = 0;
};

}  // namespace

struct Json::List::Body {
  Body() = default;
  Body(const Body& other) : packed(other.packed) {
    if (packed.size() == 0) values = other.values;
  }

  /// May be called from several threads while the list is constant.
  const std::vector<Json>& all() {
    if (packed.size() > 0)
      std::call_once(made, [this] {
        values.reserve(packed.size());
        for (std::size_t i = 0; i < packed.size(); ++i) values.push_back(packed.at(i));
      });
    return values;
  }

  std::vector<Json> values;  // empty while the numbers are packed and none was asked for as a value
  PackedNumbers packed;
  std::once_flag made;
};

Json::List::List() noexcept = default;
Json::List::List(std::initializer_list<Json> values) { body().values.assign(values); }
Json::List::List(const List& other) : body_(other.body_ ? std::make_unique<Body>(*other.body_) : nullptr) {}
Json::List::List(List&&) noexcept = default;
Json::List& Json::List::operator=(const List& other) { return *this = List(other); }
Json::List& Json::List::operator=(List&&) noexcept = default;
Json::List::~List() = default;

Json::List::Body& Json::List::body() {
  if (!body_) body_ = std::make_unique<Body>();
  return *body_;
}

std::size_t Json::List::size() const {
  return !body_ ? 0 : body_->packed.size() > 0 ? body_->packed.size() : body_->values.size();
}
const Json* Json::List::begin() const { return body_ ? body_->all().data() : nullptr; }
const Json& Json::List::element(std::size_t index, Json& room) const {
  if (body_->packed.size() == 0) return body_->values[index];
  return room = body_->packed.at(index);
}
void Json::List::reserve(std::size_t count) { body().values.reserve(count); }
Json& Json::List::emplace_back(Json value) {
  Body& own = body();
  own.all();
  own.packed = PackedNumbers();
  return own.values.emplace_back(std::move(value));
}
void Json::List::push_back(Json value) { emplace_back(std::move(value)); }

// nlohmann's parser does not recurse and reports what it reads event by event; each value is checked before it enters
// the tree.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return place({nullptr}); }
  bool boolean(bool flag) override { return place({flag}); }
  bool number_integer(std::int64_t number) override {
    return place(NumberKind::Integer, static_cast<std::uint64_t>(number));
  }
  bool number_unsigned(std::uint64_t number) override {
    const bool large = number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return place(large ? NumberKind::Large : NumberKind::Integer, number);
  }
  bool number_float(double number, const std::string&) override {
    return place(NumberKind::Real, std::bit_cast<std::uint64_t>(number));
  }
  bool string(std::string& letters) override { return place({std::move(letters)}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open({Json::Object()}); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({Json::List()}); }
  bool end_array() override { return close(); }
  bool key(std::string& letters) override {
    if (!levels_.back().keys.insert(letters).second) return stop(text("key '", letters, "' occurs twice"));
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
    explicit Level(Json* value) : json(value), list(std::get_if<Json::List>(&value->is)) {}
    Json* json;
    Json::List* list;
    std::unordered_set<std::string> keys;
    bool only_numbers = true;  // so far
    PackedNumbers numbers{};   // of a long list that holds only numbers so far
  };

  bool stop(std::string sentence) {
    problem = std::move(sentence);
    return false;
  }
  bool place(Json json) {
    append(std::move(json));
    return true;
  }
  bool place(NumberKind kind, std::uint64_t bits) {
    constexpr std::size_t kWorthPacking = 256;
    if (levels_.empty() || !levels_.back().list || !levels_.back().only_numbers) {
      append(number_of(kind, bits));
      return true;
    }
    Level& level = levels_.back();
    if (level.numbers.size() > 0) {
      level.numbers.add(kind, bits);
    } else {
      level.list->push_back(number_of(kind, bits));
      if (level.list->size() < kWorthPacking) return true;
      for (const Json& number : *level.list) level.numbers.add(number);
      *level.list = {};
    }
    return true;
  }
  /// Turns the packed numbers of the innermost list into values, so that other values may follow.
  void unpack() {
    Level& level = levels_.back();
    level.only_numbers = false;
    if (level.numbers.size() > 0) level.list->reserve(level.numbers.size() + 1);
    for (std::size_t i = 0; i < level.numbers.size(); ++i) level.list->push_back(level.numbers.at(i));
    level.numbers = {};
  }
  // Returns the stored value. The pointer stays valid while the value is open, as its parent does not grow meanwhile.
  Json* append(Json json) {
    if (levels_.empty()) return &(root = std::move(json));
    Json& parent = *levels_.back().json;
    if (Json::List* const list = levels_.back().list) {
      if (levels_.back().only_numbers) unpack();
      return &list->emplace_back(std::move(json));
    }
    return &std::get<Json::Object>(parent.is).emplace_back(std::move(key_), std::move(json)).second;
  }
  bool open(Json json) {
    if (levels_.size() == kJsonDepth) return stop(text("nested deeper than ", kJsonDepth, " levels"));
    Json* const opened = append(std::move(json));
    levels_.emplace_back(opened);
    return true;
  }
  bool close() {
    Level& level = levels_.back();
    if (level.numbers.size() > 0) level.list->body().packed = std::move(level.numbers);
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
  std::string key_;
};

namespace {

/// The text of a number, a string, true, false or null, by nlohmann. nlohmann's lists and objects allocate memory when
/// they are destroyed, which ends a program that has none: lists and objects are therefore written below.
std::string scalar(const nlohmann::json& value) { return value.dump(); }

void write(const Json& json, std::size_t indent, std::string& out) {
  const auto write_all = [&](char open, char close, std::size_t count, auto write_one) {
    out += open;
    for (std::size_t i = 0; i < count; ++i) {
      out.append(i > 0 ? ",\n" : "\n").append(indent + 2, ' ');
      write_one(i);
    }
    if (count > 0) out.append(1, '\n').append(indent, ' ');
    out += close;
  };
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, Json::List>) {
          Json room;
          write_all('[', ']', value.size(), [&](std::size_t i) { write(value.element(i, room), indent + 2, out); });
        } else if constexpr (std::is_same_v<T, Json::Object>) {
          write_all('{', '}', value.size(), [&](std::size_t i) {
            out.append(scalar(value[i].first)).append(": ");
            write(value[i].second, indent + 2, out);
          });
        } else {
          if constexpr (std::is_same_v<T, double>)
            require<ConfigError>(std::isfinite(value), "JSON has no number for ", value);
          out += scalar(value);
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

Json parse_json(std::string_view text, std::string_view source) try {
  JsonTree builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) fail<ConfigError>(source, ": ", builder.problem);
  return std::move(builder.root);
} catch (...) { rethrow_as_memory_error(source); }

std::string write_json(const Json& json) try {
  std::string out;
  write(json, 0, out);
  return out + "\n";
} catch (const nlohmann::json::exception&) { fail<ConfigError>("JSON takes UTF-8 text only"); } catch (...) {
  rethrow_as_memory_error("JSON");
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
