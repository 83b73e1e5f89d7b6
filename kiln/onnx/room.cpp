#include "kiln/onnx/room.hpp"

#include <atomic>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/device.hpp"
#include "kiln/ops/memory.hpp"

namespace kiln::onnx {
namespace {

std::atomic<std::int64_t> bytes_of_strings{0};
constexpr std::int64_t kSmall = 1 << 16;  // is not asked for

}  // namespace

void require_room(std::string_view what, std::int64_t count, std::int64_t bytes_each) {
  std::int64_t bytes = 0, all = 0;
  const bool is_size = count >= 0 && !__builtin_mul_overflow(count, bytes_each, &bytes);
  if (is_size && bytes <= kSmall) return;
  const MemoryStatistics memory = Device::cpu().memory();
  const std::int64_t strings = bytes_of_strings;
  const bool fits = is_size && !__builtin_add_overflow(bytes, memory.in_use + strings, &all) &&
                    (memory.limit == 0 || all <= memory.limit);
  require<MemoryError>(fits, what, ": ", count, " times ", bytes_each,
                       " bytes on the host are more than the memory limit of ", text_of_bytes(memory.limit),
                       " leaves beside ", text_of_bytes(memory.in_use), " of tensors and ", text_of_bytes(strings),
                       " of strings; Device::set_memory_limit and KILN_MEMORY_LIMIT change it");
}

StringBytes::StringBytes(std::int64_t bytes) : bytes_(bytes) {
  require_room("strings", bytes, 1);
  bytes_of_strings += bytes_;
}
StringBytes::~StringBytes() { bytes_of_strings -= bytes_; }

}  // namespace kiln::onnx
