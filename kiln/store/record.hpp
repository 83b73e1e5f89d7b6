// Records: the tensors of a model or the state of an optimizer by name, "conv1.weight" or "blocks.0.norm.running_mean".
// The contents of a file are compared completely with what a module expects before anything changes.
#pragma once
#include <string>
#include <vector>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/store/load/options.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln {

/// A named part of an object: a tensor or a plain number.
struct RecordPart {
  std::string name;
  Value value;
  std::vector<nn::PartPath> places = {};  // the places of a model's parameter, which a Selector also knows
  bool is_frozen = false;
};

/// An object with state that is not a module: an optimizer. visit_state(f) calls f(name, part) for each Value or number
/// of the state.
template <class T>
concept Stateful = requires(T& object) { object.visit_state([](const std::string&, auto&) {}); };

/// What save() and load() accept.
template <class T>
concept Recordable = Stateful<T> || Module<T>;

namespace detail {

template <Stateful T>
std::vector<RecordPart> parts_of(const T& object) {
  std::vector<RecordPart> parts;
  object.visit_state([&](const std::string& name, const auto& part) { parts.push_back({name, part}); });
  return parts;
}
std::vector<RecordPart> parts_of(const nn::ModuleView& model);

/// Throws ArgumentError if `only` selects none of them, because a name may be wrong.
void require_selected(std::string_view function, const std::vector<RecordPart>& parts, const Selector& only,
                      std::string_view owner);
/// Returns the parts that are to be saved. Throws like require_selected().
std::vector<RecordPart> selected(std::vector<RecordPart> parts, const Selector& only, std::string_view owner);

/// The new value of each of `parts`, on its device; empty if the part stays as it is.
struct LoadedValues {
  Values values;
  LoadReport report;
};
LoadedValues fit(const TensorSource& record, const std::vector<RecordPart>& parts, std::string_view owner,
                 std::string_view file, const LoadOptions& options);

/// Assigns `fitted` to the parts of the object, in the order in which they were visited.
template <Stateful T>
void assign(T& object, const LoadedValues& fitted) {
  auto next = fitted.values.begin();
  object.visit_state([&]<class P>(const std::string&, P& part) {
    const Value& value = *next++;
    if (value.empty()) return;
    if constexpr (std::is_arithmetic_v<P>) part = value.scalar().template to<P>();
    else part = value;
  });
}
void assign(const nn::ModuleRef& model, const LoadedValues& fitted);

template <class T>
constexpr std::string_view kOwner = Stateful<T> ? "optimizer" : "module";

/// The version of what the parts of an optimizer's record mean, a key of the metadata.
inline constexpr std::string_view kOptimizerVersion = "optimizer_version";
inline constexpr int kLatestOptimizerVersion = 1;
template <class T>
Metadata with_version(Metadata metadata) {
  if constexpr (Stateful<T>) metadata[std::string(kOptimizerVersion)] = std::to_string(kLatestOptimizerVersion);
  return metadata;
}

/// The object's parts. Each is read from its device on demand.
TensorSource source_of(const std::vector<RecordPart>& parts, const Metadata& metadata);
TensorSource source_of(const TensorFileView& view);

TensorFile to_tensor_file(const std::vector<RecordPart>& parts, const Metadata& metadata);

}  // namespace detail

/// Returns the object's record, read from its device. The metadata of an optimizer's record contain its version.
template <Recordable T>
TensorFile record_of(const T& object, const Metadata& metadata = {}) {
  return or_memory_error(
      "a record", [&] { return detail::to_tensor_file(detail::parts_of(object), detail::with_version<T>(metadata)); });
}

/// Returns the object with the contents of `record`; parameters become fresh leaves. The object determines the element
/// types in which it computes: a float tensor of the record is converted to the float type of the object's tensor
/// (exactly from float16 or bfloat16 to float32, with rounding in the other direction), but no float becomes an integer
/// nor the reverse.
///
/// A tied parameter may be under the name of any of its places, or, with the same numbers, of several.
///
/// Throws one LoadError that names every tensor that is missing, unexpected, or of another shape or kind, unless
/// `options` allow that; its message begins with `file`. It also throws LoadError for an optimizer's record of a
/// version that only a later Kiln knows.
template <Recordable T>
[[nodiscard("from_record() changes no object: it returns one")]] T from_record(const TensorFileView& record, T object,
                                                                               std::string_view file,
                                                                               const LoadOptions& options = {}) {
  or_memory_error(file, [&] {
    const auto parts = detail::parts_of(object);
    detail::require_selected("from_record", parts, options.only, detail::kOwner<T>);
    const auto fitted = detail::fit(edited(detail::source_of(record), options, std::string(file)), parts,
                                    detail::kOwner<T>, file, options);
    detail::assign(object, fitted);
  });
  return object;
}

}  // namespace kiln
