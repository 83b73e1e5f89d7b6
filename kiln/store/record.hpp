// Records: the tensors of a model or the state of an optimizer by name, "conv1.weight" or "blocks.0.norm.running_mean".
// What a file holds and a module expects is compared in full before anything is taken over.
#pragma once
#include <string>
#include <vector>

#include "kiln/core/error/shortage.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/store/load/options.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln {

/// A named part of an object: a tensor, or a plain number.
struct RecordPart {
  std::string name;
  Value value;
  std::vector<nn::Place> places = {};  // of a model's, by which a Selector knows it too
  bool is_frozen = false;
};

/// An object with a state that is no module: an optimizer. visit_state(f) calls f(name, part) for each Value or number of
/// it.
template <class T>
concept Stateful = requires(T& object) { object.visit_state([](const std::string&, auto&) {}); };

/// What save() and load() take.
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

/// Throws ArgumentError where `only` selects none of them: a name may be wrong.
void require_chosen(std::string_view function, const std::vector<RecordPart>& parts, const Selector& only,
                    std::string_view owner);
/// Those that are to be saved. Throws likewise.
std::vector<RecordPart> chosen(std::vector<RecordPart> parts, const Selector& only, std::string_view owner);

/// What becomes of each of `parts`, on its device; empty where it stays as it is.
struct Fitted {
  Values values;
  LoadReport report;
};
Fitted fit(const TensorSource& record, const std::vector<RecordPart>& parts, std::string_view owner,
           std::string_view file, const LoadOptions& options);

/// `fitted`, in the order in which the parts were visited, into these.
template <Stateful T>
void take_over(T& object, const Fitted& fitted) {
  auto next = fitted.values.begin();
  object.visit_state([&]<class P>(const std::string&, P& part) {
    const Value& value = *next++;
    if (value.empty()) return;
    if constexpr (std::is_arithmetic_v<P>) part = value.scalar().template to<P>();
    else part = value;
  });
}
void take_over(const nn::ModuleRef& model, const Fitted& fitted);

template <class T>
constexpr std::string_view kOwner = Stateful<T> ? "optimizer" : "module";

/// Of what the parts of an optimizer's record mean; it stands in the metadata.
inline constexpr std::string_view kOptimizerVersion = "optimizer_version";
inline constexpr int kLatestOptimizerVersion = 1;
template <class T>
Metadata with_version(Metadata metadata) {
  if constexpr (Stateful<T>) metadata[std::string(kOptimizerVersion)] = std::to_string(kLatestOptimizerVersion);
  return metadata;
}

/// The object's parts, each read from its device when it is asked for.
TensorSource source_of(const std::vector<RecordPart>& parts, const Metadata& metadata);
TensorSource source_of(const TensorFileView& view);

TensorFile to_tensor_file(const std::vector<RecordPart>& parts, const Metadata& metadata);

}  // namespace detail

/// The object's record, read from its device. That of an optimizer has a version of its own in its metadata.
template <Recordable T>
TensorFile record_of(const T& object, const Metadata& metadata = {}) {
  return or_memory_error(
      "a record", [&] { return detail::to_tensor_file(detail::parts_of(object), detail::with_version<T>(metadata)); });
}

/// The object with the contents of `record`; parameters become fresh leaves. The object says which element types it
/// computes in: a float tensor of the record is converted to the float type of the object's (float32 from float16 and
/// bfloat16 exactly, the other way rounding), but no float becomes an integer nor the reverse.
/// A tied parameter may stand under the name of any of its places, or, with the same numbers, of several.
/// Throws one LoadError that names every tensor that is missing, unexpected, of another shape or another kind, unless
/// `options` allow that; its sentence begins with `file`. So does that of an optimizer's record which a later Kiln wrote in
/// a way that this one does not know.
template <Recordable T>
T from_record(const TensorFileView& record, T object, std::string_view file, const LoadOptions& options = {}) {
  or_memory_error(file, [&] {
    const auto parts = detail::parts_of(object);
    detail::require_chosen("from_record", parts, options.only, detail::kOwner<T>);
    const auto fitted = detail::fit(detail::source_of(record), parts, detail::kOwner<T>, file, options);
    detail::take_over(object, fitted);
  });
  return object;
}

}  // namespace kiln
