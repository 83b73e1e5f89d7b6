#include "kiln/store/record.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kiln/core/convert.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/nn/module/selects_none.hpp"
#include "kiln/store/load/prefix_advice.hpp"

namespace kiln::detail {
namespace {

/// Returns why the tensor cannot become the part; empty if it can.
std::string mismatch(const RecordPart& part, const StoredTensor& tensor, std::string_view owner) {
  if (tensor.shape != part.value.shape())
    return text("tensor '", shown(part.name), "' has shape ", tensor.shape, ", the ", owner, " expects ",
                part.value.shape());
  if (kind_of(tensor.dtype) != kind_of(part.value.dtype()))
    return text("tensor '", shown(part.name), "' is ", tensor.dtype, ", the ", owner, " expects ", part.value.dtype());
  return {};
}

using Found = std::map<std::string, StoredTensor>::const_iterator;

/// Finds the first of its names that the record has; returns the end if it has none.
Found find(const TensorSource& record, const RecordPart& part) {
  Found found = record.tensors.end();
  each_name(part, [&](const std::string& name) {
    if (found == record.tensors.end()) found = record.tensors.find(name);
  });
  return found;
}

/// Returns why the record cannot fill the part. A record may contain a tied parameter several times with the same
/// numbers, as PyTorch writes it.
std::string mismatch(const TensorSource& record, const RecordPart& part, Found first, std::string_view owner) {
  std::string problem = mismatch(part, first->second, owner);
  each_name(part, [&](const std::string& name) {
    const Found other = record.tensors.find(name);
    if (other == record.tensors.end() || other == first || !problem.empty()) return;
    const TensorData a = first->second.read(), b = other->second.read();
    const bool same = a.shape() == b.shape() && a.dtype() == b.dtype() &&
                      (a.bytes().data() == b.bytes().data() || std::ranges::equal(a.bytes(), b.bytes()));
    if (!same)
      problem =
          text("tensors '", shown(first->first), "' and '", shown(name),
               "' differ, where the module has one parameter in both places (LoadOptions::rename and ::except can "
               "leave one out)");
  });
  return problem;
}

std::vector<std::string_view> unexpected_names(const TensorSource& record, const std::vector<RecordPart>& parts) {
  std::map<std::string_view, bool> expected;
  for (const RecordPart& part : parts) each_name(part, [&](const std::string& name) { expected.emplace(name, true); });
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : record.tensors)
    if (!expected.contains(name)) names.push_back(name);
  return names;
}

/// Suggests how a part that the record lacks may be filled: by a tensor with a similar name, or by the only tensor of
/// its shape that another part takes, with which it may have been tied.
std::string advice(const TensorSource& record, const RecordPart& part,
                   const std::vector<std::string_view>& unexpected) {
  std::string reason;
  each_name(part, [&](const std::string& name) {
    if (const auto found = record.left_out.find(name); found != record.left_out.end() && reason.empty())
      reason = text(": the file's '", shown(name), "' ", found->second);
  });
  if (!reason.empty()) return reason;
  if (std::string similar = did_you_mean(part.name, unexpected); !similar.empty()) return similar;
  if (part.places.empty() || part.value.rank() < 2) return {};  // the state of an optimizer has no places
  std::vector<std::string_view> fitting;
  for (const auto& [name, tensor] : record.tensors)
    if (mismatch(part, tensor, "").empty() && std::ranges::find(unexpected, name) == unexpected.end())
      fitting.push_back(name);
  if (fitting.size() != 1) return {};
  return text(" (if it is tied to '", shown(fitting[0]), "' in the file, LoadOptions::aliases says so)");
}

/// A part as a Selector sees it.
class PartCandidate {
 public:
  explicit PartCandidate(const RecordPart& part)
      : named_{part.places.empty() ? part.name : std::string(), {}},
        candidate_{part.places.empty() ? std::span<const nn::PartPath>(&named_, 1) : part.places, part.value,
                   part.is_frozen} {}
  PartCandidate(const PartCandidate&) = delete;
  PartCandidate& operator=(const PartCandidate&) = delete;
  const Candidate& get() const { return candidate_; }

 private:
  nn::PartPath named_;
  Candidate candidate_;
};

/// Fills `report`, and returns what `options` do not allow of it, in the order of the parts.
std::vector<std::string> compare(const TensorSource& record, const std::vector<RecordPart>& parts,
                                 std::string_view owner, const LoadOptions& options, LoadReport& report) {
  const std::vector<std::string_view> unexpected = unexpected_names(record, parts);
  std::vector<std::string> problems;
  for (const RecordPart& part : parts) {
    if (!wants(options, PartCandidate(part).get())) continue;
    const Found found = find(record, part);
    if (found == record.tensors.end()) {
      report.missing.push_back(text("'", shown(part.name), "' is missing", advice(record, part, unexpected)));
      if (!options.allow_missing) problems.push_back(report.missing.back());
    } else if (std::string problem = mismatch(record, part, found, owner); !problem.empty()) {
      if (!options.allow_mismatched) problems.push_back(problem);
      report.mismatched.push_back(std::move(problem));
    } else {
      report.loaded.push_back(part.name);
    }
  }
  for (const auto name : unexpected) {
    if (!wants(options, name)) continue;
    report.unused.emplace_back(name);
    if (!options.allow_unexpected)
      problems.push_back(text("'", shown(name), "' is unexpected, the ", owner, " has none"));
  }
  return problems;
}

Value converted(TensorData data, const Value& expected, FloatPolicy floats) {
  if (expected.is_scalar()) {
    if (expected.scalar().kind() == Kind::Float) return Value(data.at(0));
    return Value(data.to_vector<std::int64_t>()[0]);
  }
  const bool as_it_is = data.dtype() == expected.dtype() || (floats == FloatPolicy::AsFile && is_float(data.dtype()));
  return from_data(as_it_is ? std::move(data) : data.to(expected.dtype()), expected.device());
}

/// Returns "NaN", "an infinity" or "" for the first `count` elements, or for all of them if `count` is negative.
std::string_view not_finite(const TensorData& data, std::int64_t count) {
  if (count < 0 || count > data.numel()) count = data.numel();
  return visit_dtype(data.dtype(), [&](auto tag) -> std::string_view {
    using T = typename decltype(tag)::type;
    bool infinite = false;
    if constexpr (std::is_floating_point_v<T> || is_half<T>) {
      for (const T element : data.as<T>().first(static_cast<std::size_t>(count))) {
        const auto number = element - element;  // 0 for finite ones
        if (number == 0) continue;
        if (element != element) return "NaN";
        infinite = true;
      }
    }
    return infinite ? "an infinity" : "";
  });
}

/// Records from before there was a version have version 1.
void require_known_version(const Metadata& metadata, std::string_view file) {
  const auto found = metadata.find(std::string(kOptimizerVersion));
  if (found == metadata.end()) return;
  const std::string& said = found->second;
  int version = 0;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), version);
  require<LoadError>(error == std::errc() && end == said.data() + said.size() && version >= 1, file,
                     ": the version of an optimizer's record must be a number of 1 or more, not '", shown(said), "'");
  require<LoadError>(version <= kLatestOptimizerVersion, file, ": an optimizer's record of version ", version,
                     ", which a later Kiln wrote; this one reads up to version ", kLatestOptimizerVersion);
}

}  // namespace

std::vector<RecordPart> parts_of(const nn::ModuleView& model) {
  std::vector<RecordPart> parts;
  std::map<const void*, std::size_t> known;
  const auto add = [&](const nn::PartPath& place, const nn::AnyLeaf& leaf) {
    if (!(leaf.is_param() || leaf.is_buffer()) || leaf.empty()) return;
    if (leaf.is_param()) {
      const auto [first, fresh] = known.emplace(leaf.identity().get(), parts.size());
      if (!fresh) return parts[first->second].places.push_back(place);
    }
    parts.push_back({place.path, leaf.value(), {place}, leaf.is_param() && leaf.is_frozen()});
  };
  nn::walk(model, add, nn::Visits::InEachPlace);
  return parts;
}

void assign(const nn::ModuleRef& model, const LoadedValues& fitted) {
  auto next = fitted.values.begin();
  visit_tensors(model, [&](const std::string&, Value& part) {
    if (const Value& value = *next++; !value.empty()) part = value;
  });
}

LoadedValues fit(const TensorSource& record, const std::vector<RecordPart>& parts, std::string_view owner,
                 std::string_view file, const LoadOptions& options) {
  LoadedValues fitted;
  if (owner == "optimizer") require_known_version(record.metadata, file);
  const std::vector<std::string> problems = compare(record, parts, owner, options, fitted.report);
  if (problems.size() == 1) fail<LoadError>(file, ": ", problems[0]);
  if (!problems.empty()) {
    if (fitted.report.loaded.empty() && fitted.report.mismatched.empty() && owner == "module")
      if (const std::string said = prefix_advice(record, parts, options); !said.empty())
        fail<LoadError>(file, ": ", said);
    std::string list;
    for (const std::string& problem : problems) list += "\n  " + problem;
    if (owner == "module" && !options.allow_mismatched && problems.size() == fitted.report.mismatched.size())
      list +=
          "\n  make the module by the config that it was saved with, or LoadOptions::allow_mismatched leaves these as "
          "they are";
    fail<LoadError>(file, ": does not fit the ", owner, ":", list);
  }
  auto loaded = fitted.report.loaded.begin();  // in the order of the parts
  for (const RecordPart& part : parts) {
    Value& value = fitted.values.emplace_back();
    if (loaded == fitted.report.loaded.end() || *loaded != part.name) continue;
    ++loaded;
    TensorData data = find(record, part)->second.read();
    if (is_float(data.dtype()))
      if (const auto what = not_finite(data, options.check_elements); !what.empty())
        fitted.report.warnings.push_back(text("tensor '", shown(part.name), "' holds ", what));
    value = converted(std::move(data), part.value, options.floats);
  }
  return fitted;
}

void require_selected(std::string_view function, const std::vector<RecordPart>& parts, const Selector& only,
                      std::string_view owner) {
  std::vector<std::string_view> names;
  for (const RecordPart& part : parts) {
    if (only.matches(PartCandidate(part).get())) return;
    names.push_back(part.name);
  }
  if (!parts.empty()) nn::throw_selects_none(function, only, text("the ", owner, "'s parts"), names);
}

std::vector<RecordPart> selected(std::vector<RecordPart> parts, const Selector& only, std::string_view owner) {
  require<ArgumentError>(
      !parts.empty() || owner != "module",
      "save: the module has no parameters and no buffers, so that nothing would be saved; configs are "
      "saved by save_config(), plain tensors by save_tensors()");
  require_selected("save", parts, only, owner);
  std::erase_if(parts, [&](const RecordPart& part) { return !only.matches(PartCandidate(part).get()); });
  return parts;
}

TensorSource source_of(const std::vector<RecordPart>& parts, const Metadata& metadata) {
  TensorSource source{.tensors = {}, .metadata = metadata};
  for (const RecordPart& part : parts) {
    const auto bytes = part.value.numel() * static_cast<std::int64_t>(size_of(part.value.dtype()));
    source.tensors.emplace(part.name, StoredTensor{.shape = part.value.shape(),
                                                   .dtype = part.value.dtype(),
                                                   .stored_bytes = bytes,
                                                   .read = [value = part.value] { return value.data(); }});
    for (std::size_t i = 1; i < part.places.size(); ++i) source.aliases.emplace(part.places[i].path, part.name);
  }
  return source;
}

TensorSource source_of(const TensorFileView& view) {
  TensorSource source{.tensors = {}, .metadata = view.metadata};
  source.left_out = view.left_out;
  for (const auto& [name, tensor] : view.tensors)
    source.tensors.emplace(name, stored(FileBytes{tensor.bytes, {}, nullptr}, 0, tensor.shape, tensor.dtype));
  return source;
}

TensorFile to_tensor_file(const std::vector<RecordPart>& parts, const Metadata& metadata) {
  TensorFile file{.tensors = {}, .metadata = metadata};
  for (const RecordPart& part : parts) file.tensors.emplace(part.name, part.value.data());
  return file;
}

}  // namespace kiln::detail
