#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "cli/commands.hpp"
#include "cli/sizes.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/summary.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln::cli {
namespace {

/// A parsed "name=value". If there is no name, it is that of `places` at this position.
struct NamedFile {
  std::string name, value;
};
NamedFile named(const std::string& words, std::size_t place, const std::vector<onnx::ValueInfo>& places,
                std::string_view what) {
  for (const onnx::ValueInfo& each : places)
    if (words.size() > each.name.size() && words.starts_with(each.name) && words[each.name.size()] == '=')
      return {each.name, words.substr(each.name.size() + 1)};
  require<ArgumentError>(place < places.size(), "run: the model has ", places.size(), ' ', what,
                         "s, and no place for '", shown(words), "'");
  return {places[place].name, words};
}

/// Reads the only tensor of a file: a tensor file of any format, or a TensorProto (.pb), as the standard's tests have
/// it.
onnx::Datum read(const std::string& path, const Device& device) {
  if (std::filesystem::path(path).extension() == ".pb") {
    const FileBytes file = map_file(path);
    onnx::TensorReader reader(path, "");
    return onnx::datum_of(onnx::parse_tensor(file.bytes, path), reader, device);
  }
  const TensorSource source = open_tensors(path);
  require<ArgumentError>(source.tensors.size() == 1, "run: ", shown(path), " holds ", source.tensors.size(),
                         " tensors, not one");
  return from_data(source.tensors.begin()->second.read(), device);
}

onnx::NamedInputs inputs_of(const RunOptions& options, const onnx::Model& model) {
  const onnx::Sizes sizes = sizes_of(options.sizes, "run");
  const std::vector<onnx::ValueInfo> places = model.inputs();
  onnx::NamedInputs inputs;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const auto [name, file] = named(options.inputs[i], i, places, "input");
    inputs[name] = read(file, model.device());
  }
  if (inputs.empty()) {
    const std::vector<onnx::Datum> made = onnx::example_inputs(model, sizes);
    for (std::size_t i = 0; i < places.size(); ++i) inputs[places[i].name] = made[i];
  }
  for (const onnx::ValueInfo& place : places)
    if (!inputs.count(place.name)) inputs[place.name] = onnx::example_input(place, model.device(), sizes);
  return inputs;
}

/// Returns the free sizes of the inputs that are not given, "batch, x[1]", in the form of --size, without those that
/// --size gives.
std::string free_sizes(const RunOptions& options, const onnx::Model& model) {
  const onnx::Sizes sizes = sizes_of(options.sizes, "run");
  const std::vector<onnx::ValueInfo> places = model.inputs();
  std::set<std::string> given, free;
  for (std::size_t i = 0; i < options.inputs.size(); ++i)
    given.insert(named(options.inputs[i], i, places, "input").name);
  for (const onnx::ValueInfo& place : places) {
    if (given.count(place.name) || !place.type.shape) continue;
    for (std::size_t d = 0; d < place.type.shape->size(); ++d) {
      const onnx::DimProto& dim = (*place.type.shape)[d];
      const std::string name = dim.param.empty() ? text(place.name, '[', d, ']') : dim.param;
      if (!(dim.value && *dim.value > 0) && !sizes.count(name)) free.insert(shown(name));
    }
  }
  std::string list;
  for (const std::string& each : free) list += text(list.empty() ? "" : ", ", each);
  return list;
}

void settle(const onnx::Outputs& outputs, const Device& device) {
  for (const onnx::Datum& out : outputs)
    if (out.is_tensor()) (void)out.value().data();
  device.sync();
}

std::string timings(const RunOptions& options, const onnx::Model& model, const onnx::NamedInputs& inputs) {
  std::vector<double> milliseconds;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    settle(model.run(inputs), model.device());
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return text(options.repeat, " runs: ", short_number(milliseconds.front()), " ms at best, ",
              short_number(milliseconds[milliseconds.size() / 2]), " ms the median\n");
}

}  // namespace

Difference run_onnx(const RunOptions& options) {
  require<ArgumentError>(options.repeat >= 0, "run: --repeat must not be negative, got ", options.repeat);
  const Device device = Device::parse(options.device);
  const onnx::Model model = onnx::load(options.file, device);
  const onnx::NamedInputs inputs = inputs_of(options, model);
  const std::string made_up = free_sizes(options, model);
  const auto remedy = [&](ErrorKind, std::string& out) {
    if (!made_up.empty()) out += text("; what --size does not say is 1 where inputs are made up: ", made_up);
  };
  const onnx::Outputs outputs = [&] {
    const ErrorContext scope(remedy);
    return model.run(inputs);
  }();
  const std::vector<onnx::ValueInfo> places = model.outputs();
  Difference result;
  std::vector<Row> rows = {{"output", "type", "shape", "least", "most", "mean", "deviation"}};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const onnx::Datum& out = outputs[i];
    if (!out.is_tensor() || out.is_string()) {
      rows.push_back({shown(places[i].name), text(out)});
      continue;
    }
    const Statistics s = statistics_of(out.value().data());
    Row row{shown(places[i].name), onnx::name(out.element()), text(out.value().shape())};
    for (const double number : {s.least, s.most, s.mean, s.deviation}) row.push_back(short_number(number));
    if (s.not_finite > 0) row.push_back(text(s.not_finite, " NaN or infinite"));
    rows.push_back(std::move(row));
  }
  result.text = table(rows);
  for (std::size_t i = 0; i < options.outputs.size(); ++i) {
    const auto [name, file] = named(options.outputs[i], i, places, "output");
    TensorSource source;
    source.tensors.emplace("array", stored(outputs[name].value().data()));
    write_tensors(source, file);
  }
  for (std::size_t i = 0; i < options.compare.size(); ++i) {
    const auto [name, file] = named(options.compare[i], i, places, "output");
    const TensorData expected = read(file, device).value().data();
    const std::string found = difference(outputs[name].value().data(), expected,
                                         {.relative = options.relative, .absolute = options.absolute});
    result.text += text(shown(name), found.empty() ? " is the same as " : " differs from ", shown(file), '\n', found,
                        found.empty() || found.ends_with('\n') ? "" : "\n");
    result.same = result.same && found.empty();
  }
  if (options.repeat > 0) result.text += timings(options, model, inputs);
  return result;
}

}  // namespace kiln::cli
