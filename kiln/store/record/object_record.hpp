// Records of anything: a struct of a model, its optimizer, a schedule, counters and settings becomes one file, and is
// restored from it as it was.
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
// Tensors are stored under their paths, "model.conv1.weight". Numbers, strings, enums, and lists and maps of these are
// stored as JSON in the metadata of the file, "value.schedule.step"; lists of numbers are stored as tensors. The
// options of a module are such values, and are restored too. Functions, devices and modes are not stored.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/activation/choice.hpp"
#include "kiln/nn/attention/attention.hpp"
#include "kiln/nn/norm/norm.hpp"
#include "kiln/nn/transformer/transformer.hpp"
#include "kiln/store/save.hpp"

namespace kiln {

struct RecordOptions {
  /// Float tensors are stored in this type, DType::F16 or BF16 for half the size; otherwise as they are.
  std::optional<DType> floats = {};
  Selector floats_of = Selector::all();  // which of them, by name
  bool compress = false;                 // compresses those tensors of a .kiln file that get smaller
  Metadata metadata = {};                // is added to the values; no key begins with "value."
};

namespace detail {

template <class T, std::size_t I> constexpr bool are_json();

/// Returns whether JSON can hold all of a value of this type.
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
  else if constexpr (reflect::Aggregate<T>) return are_json<T, 0>();
  else return false;
}
/// Returns whether JSON can hold its fields from number I on. The compiler instantiates no field after the first that
/// it cannot hold.
template <class T, std::size_t I>
constexpr bool are_json() {
  if constexpr (I == reflect::field_count<T>) return true;
  else if constexpr (is_json<reflect::FieldType<T, I>>()) return are_json<T, I + 1>();
  else return false;
}

template <class T> inline constexpr bool is_number_list = false;
template <class T>
inline constexpr bool is_number_list<std::vector<T>> = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Type-erased access of a record to a value that JSON can hold.
struct ValueAccess {
  bool is_float;  // JSON does not have all of its numbers
  Json (*write)(const void* value);
  /// Throws ConfigError where the JSON is of another type. The value is only changed if `takes` is true.
  void (*read)(const Json& json, const void* value, const config::ConfigPath& place, bool takes);
};
/// This is not an inline function: the instantiations for the usual options are compiled once, in object_record.cpp.
template <class T>
const ValueAccess& value_access() {
  static constexpr ValueAccess access{
      std::is_floating_point_v<T>, [](const void* value) { return to_json(*static_cast<const T*>(value)); },
      [](const Json& json, const void* value, const config::ConfigPath& place, bool takes) {
        T read = *static_cast<const T*>(value);
        if constexpr (std::is_floating_point_v<T>)
          if (const double* number = std::get_if<double>(&json.is); number && *number - *number != 0) {
            if (takes) *static_cast<T*>(const_cast<void*>(value)) = static_cast<T>(*number);
            return;
          }
        config::read(json, read, place);
        if (takes) *static_cast<T*>(const_cast<void*>(value)) = std::move(read);
      }};
  return access;
}
extern template const ValueAccess& value_access<bool>();
extern template const ValueAccess& value_access<std::int64_t>();
extern template const ValueAccess& value_access<double>();
extern template const ValueAccess& value_access<InlineList<std::int64_t, 3>>();
extern template const ValueAccess& value_access<PadMode>();

/// Type-erased access to a list of numbers.
struct ListAccess {
  TensorData (*numbers)(const void* list);
  void (*take)(const void* list, const TensorData& numbers);
};
template <class T>
inline constexpr ListAccess kListAccess{
    [](const void* list) {
      const auto& numbers = *static_cast<const std::vector<T>*>(list);
      return TensorData::of<T>({static_cast<std::int64_t>(numbers.size())}, numbers);
    },
    [](const void* list, const TensorData& numbers) {
      *static_cast<std::vector<T>*>(const_cast<void*>(list)) = numbers.to_vector<T>();
    }};

/// Is called for all parts of an object that a record holds, in the same order each time. A visitor for which takes()
/// is true is only given parts that it may change.
class RecordVisitor {
 public:
  virtual bool takes() const { return false; }
  virtual void tensor(const std::string& path, const Value& value) = 0;
  virtual void leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) = 0;
  /// A parameter that was visited before.
  virtual void tied(const void* /*param*/, const void* /*first*/, const nn::TensorAccess&) {}
  virtual void list(const std::string& path, const void* list, const ListAccess& access) = 0;
  virtual void value(const std::string& path, const void* value, const ValueAccess& access) = 0;

 protected:
  ~RecordVisitor() = default;
};

template <class T> void visit_record(const T& object, const std::string& path, RecordVisitor& visitor,
                                     nn::VisitedParams& met);

/// Visits the parts of an object under their names.
struct PartVisitor {
  const std::string& path;
  RecordVisitor& visitor;
  nn::VisitedParams& met;

  template <class T>
  void operator()(std::string_view name, const T& part) const {
    visit_record(part, nn::joined(path, name), visitor, met);
  }
};

/// There is one function for each type that a record holds, whatever the visitor.
template <class T>
void visit_record(const T& object, const std::string& path, RecordVisitor& visitor, nn::VisitedParams& met) {
  const PartVisitor parts{path, visitor, met};
  if constexpr (Stateful<T>) {
    if (visitor.takes()) const_cast<T&>(object).visit_state(parts);
    else object.visit_state(parts);
  } else if constexpr (std::is_same_v<T, Value>) {
    visitor.tensor(path, object);
  } else if constexpr (nn::ParamLike<T>) {
    if (const void* const first = met.before(object.identity(), &object))
      visitor.tied(&object, first, nn::tensor_access<T>());
    else visitor.leaf(path, &object, nn::tensor_access<T>());
  } else if constexpr (nn::BufferLike<T> || nn::ConstantLike<T>) {
    visitor.leaf(path, &object, nn::tensor_access<T>());
  } else if constexpr (is_number_list<T>) {
    visitor.list(path, &object, kListAccess<typename T::value_type>);
  } else if constexpr (is_json<T>() && !(reflect::Aggregate<T> && !reflect::ListLike<T>)) {
    if constexpr (!std::is_same_v<T, nn::Mode>) visitor.value(path, &object, value_access<T>());
  } else if constexpr (nn::has_parts<T>() || reflect::ListLike<T> || reflect::OptionalLike<T> ||
                       reflect::VariantLike<T> || reflect::TupleLike<T> || nn::is_unique_pointer<T>) {
    nn::for_each_child(object, parts);
  } else {
    static_assert(nn::is_option<T>(),
                  "a record cannot hold a member of this type: make it a plain struct, or give it a "
                  "visit_state(f)");
  }
}

// The instantiations for modules that many others contain are compiled once, in object_record.cpp.
extern template void visit_record(const nn::Activation&, const std::string&, RecordVisitor&, nn::VisitedParams&);
extern template void visit_record(const nn::LayerNorm&, const std::string&, RecordVisitor&, nn::VisitedParams&);
extern template void visit_record(const nn::Linear&, const std::string&, RecordVisitor&, nn::VisitedParams&);
extern template void visit_record(const nn::MultiHeadAttention&, const std::string&, RecordVisitor&,
                                  nn::VisitedParams&);
extern template void visit_record(const nn::Normalization&, const std::string&, RecordVisitor&, nn::VisitedParams&);
extern template void visit_record(const nn::PositionWiseFeedForward&, const std::string&, RecordVisitor&,
                                  nn::VisitedParams&);
extern template void visit_record(const nn::SequenceNorm&, const std::string&, RecordVisitor&, nn::VisitedParams&);
extern template void visit_record(const nn::TransformerDecoder&, const std::string&, RecordVisitor&,
                                  nn::VisitedParams&);
extern template void visit_record(const nn::TransformerEncoder&, const std::string&, RecordVisitor&,
                                  nn::VisitedParams&);

/// Collects the contents of a record.
class RecordWriter final : public RecordVisitor {
 public:
  explicit RecordWriter(TensorSource& record) : record_(record) {}
  void tensor(const std::string& path, const Value& value) override;
  void leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) override;
  void list(const std::string& path, const void* list, const ListAccess& access) override;
  /// Stores JSON; a number that JSON does not have is stored as a word.
  void value(const std::string& path, const void* value, const ValueAccess& access) override;

 private:
  TensorSource& record_;
};

/// Matches the contents of a record with the parts of an object, and reports what does not fit. It changes nothing.
class RecordReader final : public RecordVisitor {
 public:
  RecordReader(const TensorSource& record, std::string_view file, const LoadOptions& options);
  void tensor(const std::string& path, const Value& value) override { parts_.push_back({path, value}); }
  void leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) override;
  void list(const std::string& path, const void* list, const ListAccess& access) override;
  void value(const std::string& path, const void* value, const ValueAccess& access) override;
  /// Returns the new values of the tensors. Throws LoadError if anything does not fit, ArgumentError if nothing is
  /// selected.
  LoadedValues fit();

 private:
  const TensorSource& record_;
  std::string_view file_;
  const LoadOptions& options_;
  std::vector<RecordPart> parts_;   // tensors
  std::vector<RecordPart> others_;  // lists and values, which have no tensor here
  std::vector<std::string> problems_;
  std::map<std::string, std::string> values_left_;  // values of the record that no part has claimed
  std::set<std::string> lists_;
};

/// Assigns the matched contents to the object.
class RecordAssigner final : public RecordVisitor {
 public:
  RecordAssigner(const TensorSource& record, std::string_view file, const LoadOptions& options, const Values& values)
      : record_(record), file_(file), options_(options), values_(values) {}
  bool takes() const override { return true; }
  void tensor(const std::string& path, const Value& value) override;
  void leaf(const std::string& path, const void* leaf, const nn::TensorAccess& access) override;
  void tied(const void* param, const void* first, const nn::TensorAccess& access) override;
  void list(const std::string& path, const void* list, const ListAccess& access) override;
  void value(const std::string& path, const void* value, const ValueAccess& access) override;

 private:
  const TensorSource& record_;
  std::string_view file_;
  const LoadOptions& options_;
  const Values& values_;
  std::size_t next_ = 0;
};

void write_record_of(const TensorSource& record, const std::string& path, const RecordOptions& options);

}  // namespace detail

/// Writes a file in the format of its extension, .kiln or another one, and replaces it atomically. Throws IoError,
/// ArgumentError, or ConfigError for a value that JSON cannot hold.
template <class T>
void save_record(const T& object, const std::string& path, const RecordOptions& options = {}) {
  or_memory_error(path, [&] {
    TensorSource record;
    record.metadata = options.metadata;
    detail::RecordWriter writer(record);
    nn::VisitedParams met;
    detail::visit_record(object, "", writer, met);
    detail::write_record_of(record, path, options);
  });
}

/// Does the work of load_record() on the contents of a file, which errors call `file`.
template <class T>
requires(!std::is_const_v<T>)
LoadReport load_record(T& object, const TensorSource& record, std::string_view file, const LoadOptions& options = {}) {
  return or_memory_error(file, [&] {
    const auto visit = [&](detail::RecordVisitor& visitor) {
      nn::VisitedParams met;
      detail::visit_record(object, "", visitor, met);
    };
    detail::RecordReader reader(record, file, options);
    visit(reader);
    detail::LoadedValues fitted = reader.fit();
    detail::RecordAssigner taker(record, file, options, fitted.values);
    visit(taker);
    return std::move(fitted.report);
  });
}

/// Restores what save_record() wrote: all of it, or nothing and an error. Throws IoError, DataError, a ConfigError for
/// a value of another type, or a LoadError that names what is missing, unexpected or of another shape, unless `options`
/// allow it. To read a record of an older version of the program, which had fewer fields, allow missing parts. {.only =
/// "model"} restores a part, also numbers and lists, by their paths; a Selector does not know types here.
template <class T>
requires(!std::is_const_v<T>)
LoadReport load_record(T& object, const std::string& path, const LoadOptions& options = {}) {
  return or_memory_error(path,
                         [&] { return load_record(object, edited(open_tensors(path), options, path), path, options); });
}

}  // namespace kiln
