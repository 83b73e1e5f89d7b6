#include "kiln/store/pytorch_optimizer.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/store/pickle/pytorch.hpp"

namespace kiln {
namespace {

struct Slot {
  std::string_view theirs, ours;
  bool number = false;  // has rank 0, whatever the parameter's shape
};
constexpr Slot kSteps{"step", "steps", true};
constexpr Slot kSgd[] = {{"momentum_buffer", "velocity"}};
constexpr Slot kMuon[] = {{"momentum_buffer", "first_moment"}};
constexpr Slot kAdam[] = {
    kSteps, {"exp_avg", "first_moment"}, {"exp_avg_sq", "second_moment"}, {"max_exp_avg_sq", "largest_second_moment"}};
constexpr Slot kNAdam[] = {
    kSteps, {"exp_avg", "first_moment"}, {"exp_avg_sq", "second_moment"}, {"mu_product", "momentum_product", true}};
constexpr Slot kRmsProp[] = {
    kSteps, {"square_avg", "second_moment"}, {"grad_avg", "first_moment"}, {"momentum_buffer", "velocity"}};
constexpr Slot kAdaGrad[] = {kSteps, {"sum", "square_sum"}};
constexpr Slot kAdaDelta[] = {kSteps, {"square_avg", "second_moment"}, {"acc_delta", "step_second_moment"}};
constexpr Slot kAdafactor[] = {
    kSteps, {"row_var", "row_second_moment"}, {"col_var", "column_second_moment"}, {"variance", "second_moment"}};

using Slots = std::span<const Slot>;
Slots slots_of(std::string_view rule) {
  static constexpr std::pair<std::string_view, Slots> kRules[] = {
      {"Sgd", kSgd},           {"Muon", kMuon},          {"Adam", kAdam},       {"AdamW", kAdam},
      {"RAdam", kAdam},        {"NAdam", kNAdam},        {"RmsProp", kRmsProp}, {"AdaGrad", kAdaGrad},
      {"AdaDelta", kAdaDelta}, {"Adafactor", kAdafactor}};
  for (const auto& [name, slots] : kRules)
    if (name == rule) return slots;
  fail<ArgumentError>("no optimizer of PyTorch is known for the rule ", rule);
}

constexpr std::string_view kState = "state.";

/// A parsed path below "state": "state.3.exp_avg".
struct StateEntry {
  std::size_t param = 0;
  std::string_view slot;
};
std::optional<StateEntry> entry_of(std::string_view path) {
  StateEntry entry;
  const char *const first = path.data() + kState.size(), *const last = path.data() + path.size();
  const auto [end, error] = std::from_chars(first, last, entry.param);
  if (error != std::errc() || end == last || *end != '.') return std::nullopt;
  entry.slot = {end + 1, last};
  return entry;
}

/// Repeats a number to the shape of its parameter, so that the edits of the parameter's tensors apply to it;
/// first_element() undoes that.
StoredTensor broadcast(const StoredTensor& number, const Shape& shape) {
  return {.shape = shape, .dtype = number.dtype, .read = [read = number.read, shape] {
            const TensorData one = read();
            TensorData all(shape, one.dtype());
            const std::span<std::byte> bytes = all.bytes();
            for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = one.bytes()[i % one.bytes().size()];
            return all;
          }};
}
StoredTensor first_element(const StoredTensor& numbers, DType dtype) {
  return {.shape = {}, .dtype = dtype, .read = [read = numbers.read, dtype] {
            const TensorData all = read();
            TensorData one({}, all.dtype());
            const std::span<std::byte> bytes = one.bytes();
            if (all.numel() > 0) std::copy_n(all.bytes().begin(), bytes.size(), bytes.begin());
            return one.to(dtype);
          }};
}

/// Splits "[a, b]", which is how metadata contain a list.
std::vector<std::string> words_of(std::string_view list) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string> words;
  if (list.size() < 3 || list.front() != '[') return words;
  for (list = list.substr(1, list.size() - 2); !list.empty();) {
    const std::size_t end = std::min(list.find(kBetween), list.size());
    words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + kBetween.size(), list.size()));
  }
  return words;
}

/// Gradient descent without momentum counts its steps in Kiln, and has no state in PyTorch.
bool is_stateless(const OptimizerParts& optimizer) {
  return std::ranges::all_of(optimizer.state, [](const RecordPart& part) { return part.name.ends_with(".steps"); });
}

class Reader {
 public:
  Reader(std::span<const std::string> params, const OptimizerParts& optimizer, std::string_view file)
      : params_(params), file_(file) {
    for (const std::string_view rule : optimizer.rules) rules_.push_back(slots_of(rule));
    for (const auto& part : optimizer.state) expected_.insert(part.name);
  }

  /// Calls f(entry, is it a number?, tensor) for all tensors in the file that belong to parameters.
  template <class F>
  void each(const TensorSource& state, F&& f) const {
    for (const auto& [path, tensor] : state.tensors) {
      if (!path.starts_with(kState)) continue;
      const std::optional<StateEntry> entry = entry_of(path);
      const Slot* const slot = entry ? find(entry->slot, {}) : nullptr;
      require<LoadError>(slot, file_, ": '", shown(path), "' is not a state of this rule");
      require<LoadError>(entry->param < params_.size(), file_, ": '", shown(path),
                         "' belongs to a parameter beyond the ", params_.size(), " of the optimizer");
      f(*entry, slot->number, tensor);
    }
  }
  /// Finds a slot by PyTorch's name. If several rules have it, the slot is the one that the optimizer has for the
  /// parameter.
  const Slot* find(std::string_view theirs, std::string_view param) const {
    const Slot* found = nullptr;
    for (const Slots slots : rules_)
      for (const Slot& slot : slots)
        if (slot.theirs == theirs && (!found || expected_.contains(text(param, '.', slot.ours)))) found = &slot;
    return found;
  }

 private:
  std::span<const std::string> params_;
  std::string_view file_;
  std::vector<Slots> rules_;
  std::set<std::string> expected_;
};

}  // namespace

TensorSource from_pytorch_optimizer(const TensorSource& state, std::span<const std::string> params,
                                    const LoadOptions& options, const OptimizerParts& optimizer,
                                    std::string_view file) {
  require<ArgumentError>(!options.close_gaps,
                         "load_pytorch_optimizer: close_gaps counts names, some of which a state may lack; `params` "
                         "can have them as the model does");
  const Reader reader(params, optimizer, file);
  std::map<std::size_t, Shape> shapes;
  std::set<std::size_t> counted;
  reader.each(state, [&](const StateEntry& entry, bool is_number, const StoredTensor& tensor) {
    if (!is_number) shapes.emplace(entry.param, tensor.shape);
    if (entry.slot == kSteps.theirs) counted.insert(entry.param);
  });
  // Maps PyTorch's name of a slot to its tensors, by the names of their parameters.
  std::map<std::string_view, TensorSource> slots;
  reader.each(state, [&](const StateEntry& entry, bool is_number, const StoredTensor& tensor) {
    const auto put = [&](std::string_view slot, StoredTensor held) {
      slots[slot].tensors.emplace(params[entry.param], std::move(held));
    };
    const auto shape = shapes.find(entry.param);
    put(entry.slot, is_number && shape != shapes.end() ? broadcast(tensor, shape->second) : tensor);
    // SGD and Muon do not count steps. In Kiln their first step differs from the following ones.
    if (!counted.contains(entry.param))
      put(kSteps.theirs, broadcast(stored(TensorData::of<float>({}, {1})), tensor.shape));
  });

  LoadOptions edits = options;
  edits.under.clear();
  TensorSource result;
  for (const auto& [theirs, source] : slots)
    for (const auto& [param, tensor] : edited(source, edits, file).tensors) {
      const bool is_count = theirs == kSteps.theirs;  // PyTorch has the count in float32
      const Slot& slot = is_count ? kSteps : *reader.find(theirs, param);
      result.tensors.emplace(text(param, '.', slot.ours),
                             slot.number ? first_element(tensor, is_count ? DType::I64 : tensor.dtype) : tensor);
    }
  return result;
}

TensorSource to_pytorch_optimizer(const OptimizerParts& optimizer, std::span<const std::string> params) {
  std::map<std::string, std::set<std::string>> kept;  // slots of each parameter
  const auto divided = [](const std::string& path) {
    const std::size_t dot = std::min(path.rfind('.'), path.size());
    return std::pair(path.substr(0, dot), path.substr(std::min(dot + 1, path.size())));
  };
  for (const auto& part : optimizer.state) {
    const auto [param, ours] = divided(part.name);
    if (ours != "master" && ours != kSteps.ours) kept[param].insert(ours);
  }
  const auto slots_for = [&](const std::string& param) {
    for (const std::string_view rule : optimizer.rules)
      if (const Slots slots = slots_of(rule); std::ranges::all_of(kept[param], [&](const std::string& ours) {
            return std::ranges::any_of(slots, [&](const Slot& slot) { return slot.ours == ours; });
          }))
        return slots;
    return Slots();
  };
  TensorSource result;
  for (const auto& [path, tensor] : detail::source_of(optimizer.state, {}).tensors) {
    const auto [param, ours] = divided(path);
    const auto place = std::ranges::find(params, param);
    require<ArgumentError>(place != params.end(), "save_pytorch_optimizer: '", shown(param),
                           "' is none of the parameters");
    for (const Slot& slot : slots_for(param)) {
      if (slot.ours != ours) continue;
      StoredTensor held = tensor;
      if (slot.number) held = first_element(tensor, DType::F32);
      result.tensors.emplace(text(kState, place - params.begin(), '.', slot.theirs), std::move(held));
    }
  }
  return result;
}

std::vector<std::string> pytorch_optimizer_params(const Metadata& metadata, const std::string& under) {
  constexpr std::size_t kMost = 1'000'000;
  std::vector<std::string> params;
  for (int group = 0;; ++group) {
    const std::string place = text(under, under.empty() ? "" : ".", "param_groups.", group, '.');
    const auto names = metadata.find(place + "param_names"), numbers = metadata.find(place + "params");
    if (names == metadata.end() || numbers == metadata.end()) return params;
    const std::vector<std::string> words = words_of(names->second), places = words_of(numbers->second);
    for (std::size_t i = 0; i < std::min(words.size(), places.size()); ++i) {
      std::size_t number = 0;
      const auto [end, error] = std::from_chars(places[i].data(), places[i].data() + places[i].size(), number);
      if (error != std::errc() || number > kMost) return {};
      if (params.size() <= number) params.resize(number + 1);
      params[number] = words[i];
    }
  }
}

std::vector<std::string> params_in_order(const nn::ModuleView& model) {
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf&) { paths.push_back(path); });
  return paths;
}

namespace detail {

LoadedValues fit_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model,
                                   const std::string& path, const LoadOptions& options,
                                   std::span<const std::string> params) try {
  TensorSource file = open_tensors(path);
  std::vector<std::string> names(params.begin(), params.end());
  if (names.empty()) names = pytorch_optimizer_params(file.metadata, options.under);
  if (names.empty()) names = params_in_order(model);
  const std::string groups = text(options.under, options.under.empty() ? "" : ".", "param_groups.0.params");
  const bool keeps_nothing = file.metadata.contains(groups) && is_stateless(optimizer);
  if (keeps_nothing) file.tensors.clear();
  else if (!options.under.empty()) file = under(file, options.under, path);
  TensorSource state = from_pytorch_optimizer(file, names, options, optimizer, path);
  // PyTorch has no float32 master weights of half-precision parameters; these have been made from the parameters.
  for (const RecordPart& part : optimizer.state)
    if (keeps_nothing || part.name.ends_with(".master")) state.tensors.emplace(part.name, stored(part.value.data()));
  return fit(state, optimizer.state, "optimizer", path, options);
} catch (...) { rethrow_as_memory_error(path); }

void save_pytorch_optimizer(const OptimizerParts& optimizer, const nn::ModuleView& model, const std::string& path,
                            std::span<const std::string> params) try {
  const std::vector<std::string> own = params_in_order(model);
  const TensorSource source =
      to_pytorch_optimizer(optimizer, params.empty() ? std::span<const std::string>(own) : params);
  write_file_atomically(path, [&](FileReplacement& file) {
    write_pytorch_nested(source, [&](std::span<const std::byte> piece) { file.write(piece); });
  });
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace detail
}  // namespace kiln
