#include "kiln/store/pytorch_optimizer.hpp"

#include <charconv>

#include "kiln/core/error/shown.hpp"

namespace kiln {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"exp_avg", "first_moment"},
                                                                    {"exp_avg_sq", "second_moment"},
                                                                    {"max_exp_avg_sq", "largest_second_moment"},
                                                                    {"momentum_buffer", "velocity"},
                                                                    {"step", "steps"}};

std::string_view name_here(std::string_view name) {
  for (const auto& [theirs, ours] : kNames)
    if (name == theirs) return ours;
  return {};
}

/// PyTorch counts in float32.
StoredTensor as_count(const StoredTensor& step) {
  return {.shape = step.shape, .dtype = DType::I64, .stored_bytes = step.stored_bytes, .read = [read = step.read] {
            return read().to(DType::I64);
          }};
}

}  // namespace

TensorSource from_pytorch_optimizer(const TensorSource& state, std::span<const std::string> params,
                                    std::string_view file) {
  constexpr std::string_view kState = "state.";
  TensorSource result{.tensors = {}, .metadata = {}};
  for (const auto& [path, tensor] : state.tensors) {
    if (!path.starts_with(kState)) continue;
    std::size_t number = 0;
    const char *const first = path.data() + kState.size(), *const last = path.data() + path.size();
    const auto [end, error] = std::from_chars(first, last, number);
    const std::string_view ours = end < last && *end == '.' ? name_here({end + 1, last}) : std::string_view();
    require<LoadError>(error == std::errc() && !ours.empty(), file, ": '", shown(path),
                       "' is nothing that Adam, AdamW or SGD keep of a parameter");
    require<LoadError>(number < params.size(), file, ": '", shown(path), "' is of one parameter more than the ",
                       params.size(), " of the model");
    const std::string place = params[number] + '.';
    result.tensors.emplace(place + std::string(ours), ours == "steps" ? as_count(tensor) : tensor);
    // SGD counts nothing. Here its first step is another than those that follow.
    if (ours == "velocity") result.tensors.emplace(place + "steps", stored(TensorData::of<std::int64_t>({}, {1})));
  }
  return result;
}

std::vector<std::string> params_in_order(const nn::ModuleView& model) {
  std::vector<std::string> paths;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf&) { paths.push_back(path); });
  return paths;
}

}  // namespace kiln
