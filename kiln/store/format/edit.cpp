#include "kiln/store/format/edit.hpp"

#include <algorithm>
#include <regex>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/store/format/strided.hpp"

namespace kiln {
namespace {

// The standard library's expressions recurse for each letter of a name; no model has names like that.
constexpr std::size_t kLongestName = 4096;

void put(TensorSource& onto, std::string name, const std::string& before, const StoredTensor& tensor) {
  const auto [place, fresh] = onto.tensors.emplace(std::move(name), tensor);
  require<ArgumentError>(fresh, "rename: '", shown(before), "' and another tensor come to be '", shown(place->first),
                         "'");
}

TensorSource empty_like(const TensorSource& source) {
  return {.tensors = {}, .metadata = source.metadata, .format = source.format};
}

}  // namespace

// Where '*' has taken too little, it takes one letter more.
bool matches_glob(std::string_view glob, std::string_view name) {
  while (!glob.empty() && glob[0] != '*') {
    if (name.empty() || (glob[0] != '?' && glob[0] != name[0])) return false;
    glob.remove_prefix(1);
    name.remove_prefix(1);
  }
  if (glob.empty()) return name.empty();
  const bool crosses_dots = glob.starts_with("**");
  glob.remove_prefix(crosses_dots ? 2 : 1);
  for (;;) {
    if (matches_glob(glob, name)) return true;
    if (name.empty() || (!crosses_dots && name[0] == '.')) return false;
    name.remove_prefix(1);
  }
}

TensorSource renamed(const TensorSource& source, std::span<const Rename> rules) {
  std::vector<std::pair<std::regex, std::string>> compiled;
  for (const Rename& rule : rules) {
    try {
      compiled.emplace_back(std::regex(rule.pattern), rule.replacement);
    } catch (const std::regex_error& error) {
      fail<ArgumentError>("rename: '", shown(rule.pattern), "' is no regular expression: ", error.what());
    }
  }
  TensorSource result = empty_like(source);
  for (const auto& [before, tensor] : source.tensors) {
    std::string name = before;
    for (const auto& [pattern, replacement] : compiled)
      if (name.size() <= kLongestName) name = std::regex_replace(name, pattern, replacement);
    put(result, std::move(name), before, tensor);
  }
  return result;
}

std::span<const Rename> norm_names() {
  static const Rename kRules[] = {{R"((^|\.)gamma$)", "$1weight"},
                                  {R"((^|\.)beta$)", "$1bias"},
                                  {R"((^|\.)moving_mean$)", "$1running_mean"},
                                  {R"((^|\.)moving_var(iance)?$)", "$1running_var"}};
  return kRules;
}

TensorSource under(const TensorSource& source, std::string_view key, std::string_view file) {
  TensorSource result = empty_like(source);
  const std::string prefix = text(key, '.');
  for (const auto& [name, tensor] : source.tensors)
    if (name.starts_with(prefix)) result.tensors.emplace(name.substr(prefix.size()), tensor);
  require<DataError>(!result.tensors.empty(), file, ": no tensor lies under '", shown(key), "'");
  return result;
}

TensorSource filtered(const TensorSource& source, std::span<const std::string> only,
                      std::span<const std::string> except) {
  const auto fits = [](std::span<const std::string> globs, std::string_view name) {
    return std::any_of(globs.begin(), globs.end(), [&](const auto& glob) { return matches_glob(glob, name); });
  };
  TensorSource result = source;
  std::erase_if(result.tensors, [&](const auto& entry) {
    return (!only.empty() && !fits(only, entry.first)) || fits(except, entry.first);
  });
  return result;
}

TensorSource laid_out(const TensorSource& source, const Layout& layout) {
  const int rank = layout.order.size();
  for (int i = 0; i < rank; ++i)
    require<ArgumentError>(std::count(layout.order.begin(), layout.order.end(), i) == 1, "layout of '",
                           shown(layout.glob), "': ", layout.order, " is no order of ", rank, " dimensions");
  TensorSource result = source;
  for (auto& [name, tensor] : result.tensors) {
    if (tensor.shape.size() != rank || !matches_glob(layout.glob, name)) continue;
    const Dims from = contiguous_strides(tensor.shape);
    Shape shape;
    Dims strides;
    for (const std::int64_t dim : layout.order) {
      shape.push_back(tensor.shape[static_cast<int>(dim)]);
      strides.push_back(from[static_cast<int>(dim)]);
    }
    tensor.read = [=, read = std::move(tensor.read), dtype = tensor.dtype] {
      const TensorData data = read();
      return gather(data.bytes(), shape, dtype, strides, 0);
    };
    tensor.shape = shape;
  }
  return result;
}

Layout transposed_linear(std::string glob) { return {std::move(glob), {1, 0}}; }
Layout from_ohwi(std::string glob) { return {std::move(glob), {0, 3, 1, 2}}; }
Layout from_hwio(std::string glob) { return {std::move(glob), {3, 2, 0, 1}}; }

TensorSource with_floats(const TensorSource& source, DType dtype) {
  TensorSource result = source;
  for (auto& [name, tensor] : result.tensors) {
    if (!is_float(tensor.dtype) || tensor.dtype == dtype) continue;
    tensor.dtype = dtype;
    tensor.read = [dtype, read = std::move(tensor.read)] { return read().to(dtype); };
  }
  return result;
}

}  // namespace kiln
