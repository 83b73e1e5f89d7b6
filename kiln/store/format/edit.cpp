#include "kiln/store/format/edit.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/regex/regex.hpp"
#include "kiln/store/format/strided.hpp"

namespace kiln {
namespace {

void put(TensorSource& onto, std::string name, const std::string& before, const StoredTensor& tensor) {
  const auto [place, fresh] = onto.tensors.emplace(std::move(name), tensor);
  require<ArgumentError>(fresh, "rename: '", shown(before), "' and another tensor would both be '", shown(place->first),
                         "'");
}

/// Returns part `index` of `count` equal parts along `dim`.
StoredTensor part_of(const StoredTensor& whole, int dim, std::int64_t index, std::int64_t count) {
  StoredTensor part = whole;
  part.shape[dim] /= count;
  part.stored_bytes /= count;
  const Dims strides = contiguous_strides(whole.shape);
  const std::int64_t offset = index * part.shape[dim] * strides[dim];
  part.read = [=, shape = part.shape, read = whole.read, dtype = whole.dtype] {
    const TensorData data = read();
    return gather(data.bytes(), shape, dtype, strides, offset);
  };
  return part;
}

/// Calls f(from, length) for each component of a path that is a number.
template <class F>
void each_index(std::string_view path, F&& f) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t length = std::min(path.find('.', from), path.size()) - from;
    const std::string_view name = path.substr(from, length);
    if (length > 0 && length < 10 && name.find_first_not_of("0123456789") == name.npos) f(from, length);
    from += length + 1;
  }
}

TensorSource empty_like(const TensorSource& source) {
  TensorSource empty{.tensors = {}, .metadata = source.metadata, .format = source.format};
  empty.left_out = source.left_out;
  return empty;
}

}  // namespace

TensorSource renamed(const TensorSource& source, std::span<const Rename> rules) {
  std::vector<std::pair<Regex, std::string_view>> compiled;
  for (const Rename& rule : rules) compiled.emplace_back(Regex(rule.pattern), rule.replacement);
  const auto renamed = [&](std::string name) {
    for (const auto& [pattern, replacement] : compiled) name = pattern.replace(name, replacement);
    return name;
  };
  TensorSource result = empty_like(source);
  for (const auto& [before, tensor] : source.tensors) put(result, renamed(before), before, tensor);
  result.left_out.clear();
  for (const auto& [before, reason] : source.left_out) result.left_out.emplace(renamed(before), reason);
  return result;
}

std::span<const Rename> norm_names() {
  static const Rename kRules[] = {{R"((^|\.)gamma$)", "$1weight"},
                                  {R"((^|\.)beta$)", "$1bias"},
                                  {R"((^|\.)moving_mean$)", "$1running_mean"},
                                  {R"((^|\.)moving_var(iance)?$)", "$1running_var"}};
  return kRules;
}

std::span<const Rename> old_recurrent_names() {
  static const Rename kRules[] = {{R"((^|\.)((weight|bias)_(ih|hh))$)", "$1layers.0.$2"}};
  return kRules;
}

TensorSource renumbered(const TensorSource& source) {
  // Maps the path before the numbers to the new number of each old one.
  std::map<std::string, std::map<int, int>> lists;
  const auto number = [](std::string_view path, std::size_t from, std::size_t length) {
    return std::stoi(std::string(path.substr(from, length)));
  };
  for (const auto& [path, tensor] : source.tensors)
    each_index(path, [&](std::size_t from, std::size_t length) {
      lists[path.substr(0, from)].emplace(number(path, from, length), 0);
    });
  for (auto& [path, numbers] : lists)
    for (int next = 0; auto& [before, after] : numbers) after = next++;
  TensorSource result = empty_like(source);
  for (const auto& [path, tensor] : source.tensors) {
    std::string renamed;
    std::size_t done = 0;
    each_index(path, [&](std::size_t from, std::size_t length) {
      renamed += path.substr(done, from - done);
      renamed += std::to_string(lists.at(path.substr(0, from)).at(number(path, from, length)));
      done = from + length;
    });
    put(result, renamed + path.substr(done), path, tensor);
  }
  return result;
}

TensorSource under(const TensorSource& source, std::string_view key, std::string_view file) {
  TensorSource result = empty_like(source);
  const std::string prefix = text(key, '.');
  for (const auto& [name, tensor] : source.tensors)
    if (name.starts_with(prefix)) result.tensors.emplace(name.substr(prefix.size()), tensor);
  result.left_out.clear();
  for (const auto& [name, reason] : source.left_out)
    if (name.starts_with(prefix)) result.left_out.emplace(name.substr(prefix.size()), reason);
  require<DataError>(!result.tensors.empty() || !result.left_out.empty(), file, ": no tensor lies under '", shown(key),
                     "'");
  return result;
}

TensorSource filtered(const TensorSource& source, FunctionRef<bool(const std::string& name)> keeps) {
  TensorSource result = source;
  std::erase_if(result.tensors, [&](const auto& entry) { return !keeps(entry.first); });
  return result;
}

TensorSource split(const TensorSource& source, std::span<const TensorSplit> rules, std::string_view file) {
  TensorSource result = source;
  for (const TensorSplit& rule : rules) {
    const Regex pattern(rule.pattern);
    const auto count = static_cast<std::int64_t>(rule.replacements.size());
    TensorSource parts = empty_like(result);
    for (const auto& [name, tensor] : result.tensors) {
      if (!pattern.search(name)) {
        put(parts, name, name, tensor);
        continue;
      }
      const int rank = tensor.shape.size(), dim = rank ? wrap_dim("split", rule.dim, rank) : 0;
      require<DataError>(rank && count && tensor.shape[dim] % count == 0, file, ": tensor '", shown(name),
                         "' of shape ", tensor.shape, " is not ", count, " equal parts along dimension ", rule.dim);
      for (std::int64_t i = 0; i < count; ++i)
        put(parts, pattern.replace(name, rule.replacements[static_cast<std::size_t>(i)]), name,
            part_of(tensor, dim, i, count));
    }
    result = std::move(parts);
  }
  return result;
}

TensorSource with_layout(const TensorSource& source, const Layout& layout) {
  const int rank = layout.order.size();
  for (int i = 0; i < rank; ++i)
    require<ArgumentError>(std::count(layout.order.begin(), layout.order.end(), i) == 1, "layout of '",
                           shown(layout.glob), "': ", layout.order, " is not an order of ", rank, " dimensions");
  const Regex glob = Regex::glob(layout.glob);
  TensorSource result = source;
  for (auto& [name, tensor] : result.tensors) {
    if (tensor.shape.size() != rank || !glob.matches(name)) continue;
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
