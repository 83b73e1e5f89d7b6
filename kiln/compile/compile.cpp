#include "kiln/compile/compile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "kiln/compile/arena.hpp"
#include "kiln/compile/lower.hpp"
#include "kiln/compile/names.hpp"
#include "kiln/compile/simplify.hpp"
#include "kiln/compile/source.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::compile {
namespace {

Names names_of(const Source& source, const Program& program, const std::string& model) {
  std::set<std::string> taken;
  Names names{.model = identifier(model, "model", taken), .inputs = {}, .outputs = {}};
  const auto name = [&](const std::vector<std::string>& known, std::size_t i, std::string_view otherwise) {
    std::set<std::string> none;
    const std::string fallback = text(otherwise, i);
    const std::string plain = identifier(i < known.size() ? known[i] : "", fallback, none);
    // The header's macros begin with the model's name in capitals.
    const bool may_be_macro = plain.starts_with(upper(names.model) + "_");
    return identifier(may_be_macro ? "n" + plain : plain, fallback, taken);
  };
  for (std::size_t i = 0; i < program.inputs.size(); ++i) names.inputs.push_back(name(source.inputs, i, "input"));
  for (std::size_t i = 0; i < program.outputs.size(); ++i) names.outputs.push_back(name(source.outputs, i, "output"));
  return names;
}

/// Whether a constant is a matrix or more, and no vector of numbers that belong to channels: these are few, and loops over
/// elements read them again for each element.
bool is_weight(const Buffer& buffer) {
  constexpr std::int64_t kMany = 16;
  const Shape& shape = buffer.data.shape();
  return buffer.place == Buffer::Place::Constant && buffer.dtype == DType::F32 && buffer.count > kMany &&
         std::ranges::count_if(shape, [](std::int64_t size) { return size > 1; }) > 1;
}

/// The buffers that sums in tiles begin with, which are read as floats. One of them may have a matrix's shape, as constants of
/// the same bytes are one.
std::set<int> starts(const Program& program) {
  std::set<int> buffers;
  for (const Loop& loop : program.loops)
    if (loop.start >= 0) buffers.insert(loop.value.in[static_cast<std::size_t>(loop.start)].access.buffer);
  return buffers;
}

/// Keeps float32 weights as float16: they are read as such, and computed with in float32.
void halve(Program& program) {
  const std::set<int> as_floats = starts(program);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    Buffer& buffer = program.buffers[i];
    if (!is_weight(buffer) || as_floats.contains(static_cast<int>(i))) continue;
    constexpr float kLargest = 65504, kInfinity = std::numeric_limits<float>::infinity();
    for (const float weight : buffer.data.as<float>())
      require<ArgumentError>(!(std::fabs(weight) > kLargest && std::fabs(weight) < kInfinity), "compile: the constant ",
                             weight, " is beyond float16, whose largest number is 65504: keep the weights as float32");
    buffer.data = buffer.data.to(DType::F16);
    buffer.dtype = DType::F16;
  }
}

constexpr std::int64_t kMostCounted = std::numeric_limits<std::int32_t>::max();

/// Whether no place is farther from 0 than what is counted by ints: |offset| + sum(|stride| * (size - 1)), and another
/// `beyond` steps of each dimension.
bool is_countable(std::int64_t offset, const Counts& strides, const Counts& sizes, std::int64_t beyond) {
  double farthest = std::fabs(static_cast<double>(offset));
  for (std::size_t d = 0; d < strides.size(); ++d)
    farthest += std::fabs(static_cast<double>(strides[d])) *
                static_cast<double>(std::max<std::int64_t>(sizes[d] - 1, 0) + beyond);
  return farthest <= static_cast<double>(kMostCounted);
}
/// A negative offset is a part of the place, one that is not a part of the pointer.
bool is_countable(const Access& access, const Counts& sizes) {
  return is_countable(std::min<std::int64_t>(access.offset, 0), access.strides, sizes, 0);
}

/// The places of all elements, and the steps of all loops, are counted by ints.
void require_countable(const Program& program) {
  bool countable = true;
  for (const Buffer& buffer : program.buffers) countable = countable && buffer.count <= kMostCounted;
  for (const Loop& loop : program.loops) {
    for (const std::int64_t size : loop.sizes) countable = countable && size <= kMostCounted;
    for (const Guard& guard : loop.guards) {
      // The bounds of a loop are computed by kiln_from() and kiln_to() with the next step.
      const std::int64_t ends = std::abs(guard.offset) + guard.size;
      countable = countable && guard.size <= kMostCounted && is_countable(ends, guard.strides, loop.sizes, 1);
    }
    for (const Operand& operand : loop.value.in)
      countable = countable && (operand.is_number || is_countable(operand.access, loop.sizes));
    for (const Access& out : loop.out) countable = countable && (out.buffer < 0 || is_countable(out, loop.sizes));
    require<ArgumentError>(countable, "compile: ", loop.layer,
                           " works on more than the 2^31 - 1 elements that the code counts: make its sizes, padding or "
                           "dilation smaller");
  }
}

std::string bytes_text(std::int64_t bytes) { return bytes < 10240 ? text(bytes, " bytes") : text(bytes / 1024, " KB"); }

/// "conv needs 40 KB, ..." for the steps during which most of the arena is in use.
std::string largest_steps(const Program& program) {
  constexpr std::size_t kNamed = 4;
  const std::vector<std::int64_t> bytes = bytes_in_use(program);
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::string list;
  for (std::size_t i = 0; i < std::min(kNamed, order.size()); ++i)
    list += text(i ? ", " : "", "step ", order[i] + 1, " (", program.loops[order[i]].layer, ") ",
                 bytes_text(bytes[order[i]]));
  return list;
}

void require_room(const Program& program, const Target& target, const CompileOptions& options) {
  const std::int64_t ram = options.ram >= 0 ? options.ram : target.ram,
                     flash = options.flash >= 0 ? options.flash : target.flash;
  require<ArgumentError>(ram == 0 || program.arena_bytes <= ram, "compile: the program works in ",
                         bytes_text(program.arena_bytes), ", and ", target.name, " has ", bytes_text(ram),
                         " of RAM. Most is in use at: ", largest_steps(program),
                         ". Make these layers or the batch smaller, or give the board's memory by --ram");
  require<ArgumentError>(flash == 0 || program.constant_bytes() <= flash, "compile: the constants are ",
                         bytes_text(program.constant_bytes()), ", and ", target.name, " has ", bytes_text(flash),
                         " of flash. Keep weights as float16 (--weights float16), quantise the model to int8, or give "
                         "the board's memory by --flash");
}

void require_bound(const Source& source) {
  const std::vector<Desc> inputs = source.graph.inputs();
  require<ArgumentError>(source.bound.size() <= inputs.size(), "compile: ", source.bound.size(),
                         " tensors are bound to the last inputs of a graph that has ", inputs.size(),
                         ": bind no more than it has");
  const std::size_t first = inputs.size() - source.bound.size();
  for (std::size_t i = 0; i < source.bound.size(); ++i) {
    const Value& value = source.bound[i];
    const Desc& desc = inputs[first + i];
    require<ArgumentError>(value && !value.is_scalar() && Desc{value.shape(), value.dtype()} == desc,
                           "compile: the input ", first + i, " is ", desc.dtype, ' ', desc.shape, ", and ", value,
                           " is bound to it: bind a tensor of its type and shape");
  }
}

}  // namespace

CompiledCode compile(const Source& source, const CompileOptions& options) {
  const Target& machine = target(options.target);
  require<ArgumentError>(options.weights == DType::F32 || options.weights == DType::F16,
                         "compile: weights are kept as float32 or float16, not as ", options.weights);
  require_bound(source);
  const std::size_t inputs = source.graph.inputs().size() - source.bound.size();
  std::vector<Value> bound = source.bound;
  const Graph graph = simplified(source.graph, bound);
  Program program = lowered(graph, inputs, bound, machine.tiles, options.weights == DType::F16);
  require_countable(program);
  if (options.weights == DType::F16) halve(program);
  work_in_place(program);
  plan_arena(program);
  require_room(program, machine, options);
  const Names names = names_of(source, program, options.name);
  SourceText printed = compile::printed(program, names, machine);
  CompiledCode code;
  code.name = names.model;
  code.files[names.model + ".h"] = std::move(printed.header);
  code.files[names.model + ".c"] = std::move(printed.source);
  code.arena_bytes = program.arena_bytes;
  code.constant_bytes = program.constant_bytes();
  code.loops = static_cast<std::int64_t>(program.loops.size());
  code.functions = printed.functions;
  return code;
}

}  // namespace kiln::compile
