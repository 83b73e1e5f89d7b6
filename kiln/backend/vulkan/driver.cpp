#include "kiln/backend/vulkan/driver.hpp"

#include "kiln/backend/vulkan/capabilities.hpp"

namespace kiln::vulkan {

Driver::Driver(const Instance& instance, int index, const ContextOptions& options, gpu::CodeCache cache)
    : context_(make_ref<Context>(instance, index, options)),
      capabilities_(capabilities_of(*context_)),
      compiler_(context_, std::move(cache)),
      queue_(make_ref<Queue>(context_)),
      memory_(context_, [this] { queue_->finish(); }),
      downloads_(make_ref<Downloads>(context_, queue_)) {}

std::string Driver::identity() const {
  const PhysicalDevice& device = context_->physical();
  return text(device.model(), ", ", device.driver.driverName, " ", device.driver.driverInfo);
}

void Driver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  const auto& program = static_cast<const Program&>(code);
  queue_->launch(Ref<const Program>(&program), blocks, arguments, tensors_.accesses_of(program.kernel(), arguments));
}

void Driver::upload(std::byte* to, std::span<const std::byte> from) {
  if (!from.empty()) queue_->upload(memory_.find(to, from.size()), from);
}

Ref<gpu::Transfer> Driver::download(const std::byte* from, std::size_t bytes) {
  return downloads_->start(memory_.find(from, bytes), bytes);
}

void Driver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes) queue_->copy(memory_.find(to, bytes), memory_.find(from, bytes), bytes);
}

void Driver::clear(std::byte* start, std::size_t bytes) {
  if (bytes) queue_->clear(memory_.find(start, bytes), bytes);
}

}  // namespace kiln::vulkan
