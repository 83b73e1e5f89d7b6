// Records of anything: a struct of a model, its optimizer, a schedule, counters and settings is one file and comes back
// as it was.
//
//   struct Training {
//     Model model;
//     AdamW optimizer;
//     Schedule<CosineConfig> schedule;
//     std::int64_t epoch = 0;
//     std::vector<float> losses;
//   };
//   save_record(training, "run.kiln", {.compress = true});
//   load_record(training, "run.kiln");
//
// Tensors are stored under their paths, "model.conv1.weight"; numbers, strings, enums, and lists and maps of such are JSON
// under theirs, in the metadata of the file as "value.schedule.step"; lists of numbers are tensors. A module's options are
// such values, and come back too. Functions, devices and modes are not stored.
#pragma once
#include <optional>

#include "kiln/core/config/config.hpp"
#include "kiln/store/save.hpp"

namespace kiln {

struct RecordOptions {
  std::optional<DType> floats =
      {};                  // all float tensors in this type, DType::F16 or BF16 for half the size; or as they are
  bool compress = false;   // of a .kiln file: tensors that get smaller by it
  Metadata metadata = {};  // beside the values; its keys do not begin with "value."
};

namespace detail {

/// Is it a value that JSON holds, all of it?
template <class T>
constexpr bool is_json() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>) return true;
  else if constexpr (nn::Leaf<T> || Stateful<T>) return false;
  else if constexpr (reflect::StringLike<T> || reflect::TupleLike<T> || reflect::VariantLike<T>) return false;
  else if constexpr (reflect::OptionalLike<T>) return is_json<typename T::value_type>();
  else if constexpr (reflect::MapLike<T>)
    return std::is_same_v<typename T::key_type, std::string> && is_json<typename T::mapped_type>();
  else if constexpr (reflect::ListLike<T>) return is_json<typename T::value_type>();
  else if constexpr (nn::Layered<T>) return false;
  else if constexpr (reflect::Aggregate<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_json<reflect::FieldType<T, I>>() && ...);
    }(std::make_index_sequence<reflect::field_count<T>>());
  else return false;
}

template <class T> inline constexpr bool is_number_list = false;
template <class T>
inline constexpr bool is_number_list<std::vector<T>> = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Calls tensor(path, Value&) and value(path, T&) for all that a record holds of `object`; list(path, std::vector<T>&) for
/// its lists of numbers.
template <class T, class Visitor>
void visit_record(T& object, const std::string& path, Visitor& visitor, nn::Met& met) {
  using Plain = std::remove_const_t<T>;
  if constexpr (Stateful<Plain>) {
    object.visit_state(
        [&](const std::string& name, auto& part) { visit_record(part, nn::joined(path, name), visitor, met); });
  } else if constexpr (std::is_same_v<Plain, Value>) {
    visitor.tensor(path, object);
  } else if constexpr (nn::ParamLike<Plain>) {
    if (const void* const first = met.before(object.identity(), &object)) {
      if constexpr (!std::is_const_v<T>) object = *static_cast<const Plain*>(first);
    } else {
      visitor.leaf(path, object);
    }
  } else if constexpr (nn::BufferLike<Plain> || nn::ConstantLike<Plain>) {
    visitor.leaf(path, object);
  } else if constexpr (is_number_list<Plain>) {
    visitor.list(path, object);
  } else if constexpr (is_json<Plain>() && !(reflect::Aggregate<Plain> && !reflect::ListLike<Plain>)) {
    if constexpr (!std::is_same_v<Plain, nn::Mode>) visitor.value(path, object);
  } else if constexpr (nn::has_parts<Plain>() || reflect::ListLike<Plain> || reflect::OptionalLike<Plain> ||
                       reflect::VariantLike<Plain> || reflect::TupleLike<Plain> || nn::is_unique_pointer<Plain>) {
    nn::for_each_child(
        object, [&](std::string_view name, auto& child) { visit_record(child, nn::joined(path, name), visitor, met); });
  } else {
    static_assert(nn::is_option<Plain>(),
                  "a record cannot hold a member of this type: make it a plain struct, or give it a "
                  "visit_state(f)");
  }
}

/// Collects what a record holds.
struct RecordWriter {
  TensorSource& record;

  void tensor(const std::string& path, const Value& value);
  template <class L>
  void leaf(const std::string& path, const L& leaf) {
    if (!leaf.empty()) tensor(path, leaf.value());
  }
  template <class T>
  void list(const std::string& path, const std::vector<T>& numbers) {
    record.tensors.emplace(path, stored(TensorData::of<T>({static_cast<std::int64_t>(numbers.size())}, numbers)));
  }
  template <class T>
  void value(const std::string& path, const T& value) {
    record.metadata[text("value.", path)] = write_value(value);
  }
  /// JSON; a number that it does not know as a word.
  template <class T>
  static std::string write_value(const T& value) {
    if constexpr (std::is_floating_point_v<T>)
      if (value - value != 0) return value != value ? "nan" : value > 0 ? "inf" : "-inf";
    return write_json(to_json(value));
  }
};

/// Finds out what of a record belongs to whom, and complains of what does not; nothing changes yet.
struct RecordReader {
  const TensorSource& record;
  std::string_view file;
  std::vector<RecordPart> parts;  // tensors, for fit()
  std::vector<std::string> problems;
  std::map<std::string, std::string> values_left;  // in the record
  std::map<std::string, bool> lists;

  RecordReader(const TensorSource& record, std::string_view file);
  void tensor(const std::string& path, const Value& value) { parts.push_back({path, value}); }
  template <class L>
  void leaf(const std::string& path, const L& leaf) {
    if (!leaf.empty()) tensor(path, leaf.value());
  }
  template <class T>
  void list(const std::string& path, const std::vector<T>&) {
    lists[path] = true;
    check_list(path);
  }
  template <class T>
  void value(const std::string& path, const T& value) {
    const std::string* const said = find(path);
    if (!said) return;
    T copy = value;
    read_value(*said, copy, {file, path});
  }
  const std::string* find(const std::string& path);
  void check_list(const std::string& path);

  template <class T>
  static void read_value(const std::string& said, T& value, const config::Place& place) {
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      if (said == "nan" || said == "inf" || said == "-inf") {
        value = said == "nan" ? Limits::quiet_NaN() : said == "inf" ? Limits::infinity() : -Limits::infinity();
        return;
      }
    }
    config::read(parse_json(said, place.source), value, place);
  }
};

/// Puts into the object what was found to fit.
struct RecordTaker {
  const TensorSource& record;
  std::string_view file;
  const Values& values;
  std::size_t next = 0;

  void tensor(const std::string&, Value& part) {
    if (const Value& value = values[next++]; !value.empty()) part = value;
  }
  template <class L>
  void leaf(const std::string&, L& leaf) {
    if (leaf.empty()) return;
    const Value& value = values[next++];
    if (value.empty()) return;
    if constexpr (requires { leaf.with_value(value); }) leaf = leaf.with_value(value);
    else leaf = L(value);
  }
  template <class T>
  void list(const std::string& path, std::vector<T>& numbers) {
    const auto found = record.tensors.find(path);
    if (found != record.tensors.end()) numbers = found->second.read().template to_vector<T>();
  }
  template <class T>
  void value(const std::string& path, T& value) {
    if (const auto found = record.metadata.find(text("value.", path)); found != record.metadata.end())
      RecordReader::read_value(found->second, value, {file, path});
  }
};

void write_record_of(const TensorSource& record, const std::string& path, const RecordOptions& options);
Fitted fit_record(RecordReader& reader, const LoadOptions& options);

}  // namespace detail

/// The file, by its extension .kiln or another format's, is replaced in one step. Throws IoError, ArgumentError, or
/// ConfigError for a value that JSON cannot hold.
template <class T>
void save_record(const T& object, const std::string& path, const RecordOptions& options = {}) {
  TensorSource record;
  record.metadata = options.metadata;
  detail::RecordWriter writer{record};
  nn::Met met;
  detail::visit_record(object, "", writer, met);
  detail::write_record_of(record, path, options);
}

/// Brings back what save_record() wrote: all of it, or nothing and an error. Throws IoError, DataError, a ConfigError for a
/// value of another type, or a LoadError that names what is missing, unexpected or misshapen, unless `options` allow it:
/// who reads a record of an older program, which had fewer fields, allows what is missing.
template <class T>
LoadReport load_record(T& object, const std::string& path, const LoadOptions& options = {}) {
  const TensorSource record = edited(open_tensors(path), options, path);
  detail::RecordReader reader(record, path);
  {
    nn::Met met;
    detail::visit_record(std::as_const(object), "", reader, met);
  }
  const detail::Fitted fitted = detail::fit_record(reader, options);
  detail::RecordTaker taker{record, path, fitted.values};
  nn::Met met;
  detail::visit_record(object, "", taker, met);
  return fitted.report;
}

}  // namespace kiln
