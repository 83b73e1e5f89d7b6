#include "kiln/backend/gpu/kernel/interpret.hpp"

#include "kiln/backend/gpu/kernel/interpret/block.hpp"
#include "kiln/backend/gpu/kernel/interpret/turns.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::gpu {
namespace interpreted {
namespace {

/// Elements at `address` within [begin, end), in elements of `size` bytes; none if the address is outside.
View view_of(std::uint64_t address, const Extent& extent, std::size_t size) {
  View view{.data = reinterpret_cast<std::byte*>(address)};
  if (address > extent.end) return view;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
  // A binding may begin before the memory that may be touched.
  if (address < extent.begin) view.first = static_cast<std::int64_t>((extent.begin - address + size - 1) / size);
  else view.first = -static_cast<std::int64_t>(std::min((address - extent.begin) / size, kMost));
  view.last = static_cast<std::int64_t>(std::min((extent.end - address) / size, kMost));
  return view;
}

}  // namespace

Block::Block(const Program& of, std::int64_t launched, std::span<const std::uint64_t> given,
             std::span<const Extent> extents)
    : program(of), threads(of.kernel.threads), blocks(launched), arguments(given) {
  const auto count = static_cast<std::size_t>(threads);
  const Kernel& kernel = program.kernel;
  memory.resize((program.bytes + 7) / 8);
  places.resize(count);
  for (const Parameter& parameter : kernel.parameters)
    for (std::size_t left = parameter.words(); left-- > 0;) {
      const std::size_t i = views.size();
      views.push_back(view_of(given[i], extents.empty() ? Extent{} : extents[i], size_of(parameter.dtype)));
    }
  chosen.resize(kernel.chosen.size());
  for (const Kernel::Array& array : kernel.shared) {
    const auto elements = static_cast<std::size_t>(array.count);
    shared.push_back({std::vector<std::byte>(elements * size_of(array.dtype)), std::vector<Touch>(elements)});
  }
  for (const Kernel::Array& array : kernel.locals) {
    const std::size_t elements = static_cast<std::size_t>(array.count) * count;
    locals.push_back({std::vector<std::byte>(elements * size_of(array.dtype)), std::vector<std::uint8_t>(elements)});
  }
  const std::size_t warps = count / kLanes;
  for (const Kernel::Matrix& matrix : kernel.matrices)
    matrices.push_back({std::vector<float>(warps * matrix.rows * matrix.columns), std::vector<std::uint8_t>(warps)});
  masks.assign(static_cast<std::size_t>(program.depth) + 1, {std::vector<std::uint8_t>(count, 1), threads});
  mask = &masks.back();
  take(program.constant);
}

void Block::run(std::int64_t block) {
  index = block;
  mask = &masks.back();
  began = ++now;
  for (LocalArray& local : locals) std::ranges::fill(local.set, std::uint8_t{0});
  for (MatrixArray& matrix : matrices) std::ranges::fill(matrix.set, std::uint8_t{0});
  take(program.of_block);
  take(program.body);
}

}  // namespace interpreted

using interpreted::Block;

Interpreter::Interpreter(const Kernel& kernel)
    : program_(std::make_shared<const interpreted::Program>(interpreted::prepare(kernel))) {}

void Interpreter::run(std::int64_t blocks, std::span<const std::uint64_t> arguments,
                      std::span<const Extent> extents) const {
  const Kernel& kernel = program_->kernel;
  const std::size_t wanted = program_->words.back();
  require<DeviceError>(arguments.size() == wanted, "kernel ", kernel.name, ": has ", wanted,
                       " parameters and is given ", arguments.size(), " arguments");
  require<DeviceError>(extents.empty() || extents.size() == arguments.size(), "kernel ", kernel.name, ": ",
                       extents.size(), " extents of ", arguments.size(), " arguments");
  if (blocks <= 0) return;
  if (kernel.together) {
    interpreted::Turns turns;
    return turns.run(blocks, [&](std::int64_t i) {
      Block block(*program_, blocks, arguments, extents);
      block.turns = &turns;
      block.run(i);
    });
  }
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    Block block(*program_, blocks, arguments, extents);
    for (std::int64_t i = begin; i < end; ++i) block.run(i);
  };
  constexpr std::int64_t kPieces = 64;  // each has a Block with its own cells
  if (program_->updates) piece(0, blocks);
  else parallel_for(blocks, (blocks + kPieces - 1) / kPieces, piece);
}

}  // namespace kiln::gpu
