#include "kiln/backend/webgpu/driver.hpp"

#include <algorithm>

#include "kiln/backend/gpu/kernel/builder.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"

namespace kiln::webgpu {
namespace {

// Memory of our own: words of zeros, which no kernel writes, and a place for uploads that are no whole words.
constexpr std::uint64_t kZeros = 64 << 10, kStaged = 1 << 20;

/// Copies `count` elements of a type.
gpu::Kernel copying_kernel(std::string_view name, DType dtype) {
  gpu::Builder k(name, 128);
  const gpu::Buffer x = k.input(dtype), y = k.output(dtype);
  const gpu::Expr count = k.number(DType::U32), i = k.place(DType::U32);
  k.when(i < count, [&] { y.store(i, x[i]); });
  return k.finish();
}

std::uint64_t allocate(DeviceMemory& memory, std::size_t bytes) {
  std::byte* const start = memory.map(bytes);
  require<MemoryError>(start != nullptr, "webgpu: there is no room for ", bytes, " bytes");
  memory.acquired(address_of(start), bytes);
  return address_of(start);
}

}  // namespace

Driver::Driver(const Provider& provider, const Adapter& adapter)
    : identity_(text("webgpu, ", adapter.name, ", ", provider.library)),
      session_(make_ref<Session>(provider, adapter)),
      capabilities_(adapter.capabilities()),
      recorder_(session_),
      memory_(session_, [this] { synchronize(); }),
      downloads_(make_ref<Downloads>(session_, recorder_, memory_)),
      zeros_(allocate(memory_, kZeros)),
      staged_(allocate(memory_, kStaged)),
      copy_words_(make_ref<Program>(session_, gpu::lowered(copying_kernel("copy_words", DType::U32), capabilities_))),
      copy_bytes_(make_ref<Program>(session_, gpu::lowered(copying_kernel("copy_bytes", DType::U8), capabilities_))) {}

Ref<gpu::Code> Driver::compile(const gpu::Kernel& kernel) {
  if (std::optional<gpu::Refusal> refusal = gpu::refusal_of(kernel, capabilities_, name()))
    throw gpu::Refused(*refusal);
  return make_ref<Program>(session_, kernel);
}

Ref<gpu::Code> Driver::compile_text(const gpu::TextKernel& kernel) {
  const auto most = static_cast<std::uint32_t>(capabilities_.most_buffers);
  require<DeviceError>(kernel.buffers <= most, name(), ": kernel ", kernel.name, " has ", kernel.buffers,
                       " buffers, the device binds ", most);
  return make_ref<Program>(session_, kernel);
}

// ---- launches ------------------------------------------------------------------------------------------------------

/// A user's text gets numbers of 4 bytes, and its blocks lie along x.
void Driver::demand_fitting(const gpu::Kernel& kernel, std::int64_t blocks,
                            std::span<const std::uint64_t> arguments) const {
  const std::int64_t most = capabilities_.most_blocks[0];
  require<DeviceError>(blocks <= most, name(), ": kernel ", kernel.name, " cannot have ", blocks, " blocks, at most ",
                       most, ": let each thread do more");
  const std::size_t expected = kernel.uniform.size();
  require<DeviceError>(arguments.size() == expected, name(), ": kernel ", kernel.name, " takes ", expected,
                       " arguments, got ", arguments.size());
  for (const gpu::Origin& origin : kernel.uniform) {
    if (origin.kind != gpu::Origin::Kind::Argument) continue;
    const std::uint64_t high = arguments[origin.of] >> 32;
    const bool is_negative = arguments[origin.of] >> 31 & 1;
    require<DeviceError>(high == 0 || (high == 0xFFFFFFFF && is_negative), name(), ": kernel ", kernel.name,
                         ": argument ", origin.of, " is no number of 32 bits, of which WGSL's are");
  }
}

void Driver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  session_->check();
  const auto& program = static_cast<const Program&>(code);
  if (program.is_text()) demand_fitting(program.plain().kernel(), blocks, arguments);
  const auto start_of = [&](std::uint64_t address) { return memory_.extent_of(address).begin; };
  // A refusal is an error here: kernels before it may have changed operands in place.
  const Pipeline& pipeline = [&]() -> const Pipeline& {
    try {
      return program.sharing(gpu::sharers_of(program.plain().kernel(), arguments, start_of));
    } catch (const gpu::Refused& refused) { fail<DeviceError>(refused.message()); }
  }();
  const gpu::Kernel& kernel = pipeline.kernel();
  const auto alignment = static_cast<std::uint64_t>(capabilities_.binding_alignment);
  // Strides may be negative: a kernel touches what lies before an address, too.
  const gpu::LoweredArguments given = gpu::lowered_arguments(
      kernel, blocks, arguments, [&](std::uint64_t address) { return start_of(address) / alignment * alignment; });

  std::vector<GroupEntry> entries;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    if (!kernel.parameters[i].uniform)
      entries.push_back(entry_of(kernel, i, given.arguments[i], arguments[kernel.origins[i].of]));
  const std::int64_t most = capabilities_.most_blocks[0], rows = (blocks + most - 1) / most;
  require<DeviceError>(rows <= capabilities_.most_blocks[1], name(), ": kernel ", kernel.name, " cannot have ", blocks,
                       " blocks");
  recorder_.dispatch({.pipeline = pipeline.handle(),
                      .layout = pipeline.layout(),
                      .buffers = entries,
                      .uniform = given.uniform,
                      .columns = static_cast<std::uint32_t>((blocks + rows - 1) / rows),
                      .rows = static_cast<std::uint32_t>(rows)});
}

/// Binds the memory of a tensor, from `base` to its end.
GroupEntry Driver::entry_of(const gpu::Kernel& kernel, std::size_t parameter, std::uint64_t base,
                            std::uint64_t address) const {
  const auto binding = static_cast<std::uint32_t>(parameter);
  const Extent extent = memory_.extent_of(address);
  const std::uint64_t end = (extent.end + 3) / 4 * 4;
  // A buffer that is absent, or has no elements, is not touched; something must be bound.
  if (extent.begin == extent.end || base >= end) {
    const Place nothing = memory_.find(zeros_ + std::uint64_t{binding} * 256 % kZeros, 256);
    return {.binding = binding, .buffer = nothing.buffer, .offset = nothing.offset, .size = 256};
  }
  require<DeviceError>(end - base <= static_cast<std::uint64_t>(capabilities_.binding_bytes), name(), ": kernel ",
                       kernel.name, ": parameter ", parameter, " is a buffer of ", end - base,
                       " bytes, the device binds ", capabilities_.binding_bytes);
  const Place place = memory_.find(base, end - base);
  return {.binding = binding, .buffer = place.buffer, .offset = place.offset, .size = end - base};
}

// ---- copies --------------------------------------------------------------------------------------------------------

// WebGPU copies whole words, between two buffers. What lies behind the end of a tensor, up to a whole word, is
// nobody's.

std::uint64_t Driver::whole_words(std::uint64_t to, std::uint64_t bytes) const {
  return memory_.extent_of(to).end == to + bytes ? (bytes + 3) / 4 * 4 : bytes / 4 * 4;
}

void Driver::copy_by(const Program& program, std::uint64_t to, std::uint64_t from, std::uint64_t count) {
  const std::uint64_t arguments[] = {from, to, count};
  launch(program, static_cast<std::int64_t>((count + 127) / 128), arguments);
}

void Driver::copy_at(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;  // of an int32 of places, and of most bindings
  if (to % 4 || from % 4) {
    for (std::uint64_t at = 0; at < bytes; at += kMost)
      copy_by(*copy_bytes_, to + at, from + at, std::min(kMost, bytes - at));
    return;
  }
  const std::uint64_t words = whole_words(to, bytes);
  if (words) {
    const Place target = memory_.find(to, words), source = memory_.find(from, words);
    if (target.buffer != source.buffer) recorder_.copy(target, source, words);
    else copy_by(*copy_words_, to, from, words / 4);
  }
  if (words < bytes) copy_by(*copy_bytes_, to + words, from + words, bytes - words);
}

void Driver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  session_->check();
  if (bytes) copy_at(address_of(to), address_of(from), bytes);
}

void Driver::clear(std::byte* start, std::size_t bytes) {
  session_->check();
  std::uint64_t at = address_of(start);
  const std::uint64_t end = at + bytes, first = std::min<std::uint64_t>((4 - at % 4) % 4, bytes);
  if (first) copy_by(*copy_bytes_, at, zeros_, first);
  at += first;
  const std::uint64_t words = whole_words(at, end - at);
  if (words) recorder_.clear(memory_.find(at, words), words);
  if (at + words < end) copy_by(*copy_bytes_, at + words, zeros_, end - at - words);
}

void Driver::upload(std::byte* to, std::span<const std::byte> from) {
  session_->check();
  const std::uint64_t start = address_of(to);
  const std::size_t whole = start % 4 ? 0 : from.size() / 4 * 4;
  const auto write = [&](std::uint64_t address, const void* data, std::size_t bytes) {
    const Place place = memory_.find(address, bytes);
    recorder_.flush_and(
        [&] { session_->functions().write(session_->queue(), place.buffer, place.offset, data, bytes); });
  };
  if (whole) write(start, from.data(), whole);
  const std::lock_guard lock(staging_);
  for (std::size_t at = whole; at < from.size();) {
    const std::size_t bytes = std::min<std::size_t>(from.size() - at, kStaged);
    std::vector<std::byte> words(from.begin() + static_cast<std::ptrdiff_t>(at),
                                 from.begin() + static_cast<std::ptrdiff_t>(at + bytes));
    words.resize((bytes + 3) / 4 * 4);
    write(staged_, words.data(), words.size());
    copy_at(start + at, staged_, bytes);
    at += bytes;
  }
}

Ref<gpu::Transfer> Driver::download(const std::byte* from, std::size_t bytes) {
  session_->check();
  return downloads_->start(address_of(from), bytes);
}

void Driver::flush() {
  recorder_.flush();
  session_->check();
}

void Driver::synchronize() {
  std::byte word[4];
  downloads_->start(zeros_, sizeof(word))->wait(word);
}

}  // namespace kiln::webgpu
