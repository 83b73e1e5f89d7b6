#include "kiln/backend/vulkan/memory.hpp"
namespace kiln::vulkan {
namespace {

constexpr VkBufferUsageFlags kUsages[] = {
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
        VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
    VK_BUFFER_USAGE_TRANSFER_DST_BIT};

constexpr VkMemoryPropertyFlags kOfHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/// The first type of memory among `allowed` with all of the flags, and those wished for if there is one.
std::uint32_t type_of(const Context& context, std::uint32_t allowed, VkMemoryPropertyFlags needed,
                      VkMemoryPropertyFlags wished) {
  auto properties = structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  context.api().GetPhysicalDeviceMemoryProperties2(context.physical().handle, &properties);
  for (const VkMemoryPropertyFlags flags : {needed | wished, needed})
    for (std::uint32_t i = 0; i < properties.memoryProperties.memoryTypeCount; ++i)
      if (allowed >> i & 1 && (properties.memoryProperties.memoryTypes[i].propertyFlags & flags) == flags) return i;
  fail<DeviceError>(context.name(), ": the device has no memory of the kind that Vulkan promises");
}

}  // namespace

Buffer::Buffer(Ref<Context> context, Kind kind, std::size_t bytes) : context_(std::move(context)), size_(bytes) {
  try {
    create(kind);
  } catch (...) {
    release();
    throw;
  }
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (context_->is_abandoned()) return;
  const Api& api = context_->api();
  if (buffer_) api.DestroyBuffer(context_->device(), buffer_, nullptr);
  if (memory_) api.FreeMemory(context_->device(), memory_, nullptr);
}

void Buffer::create(Kind kind) {
  const Api& api = context_->api();
  const VkDevice device = context_->device();
  auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  info.size = size_;
  info.usage = kUsages[static_cast<std::size_t>(kind)];
  context_->check(api.CreateBuffer(device, &info, nullptr, &buffer_), "a buffer of ", size_, " bytes");
  VkMemoryRequirements needs{};
  api.GetBufferMemoryRequirements(device, buffer_, &needs);

  const bool addressed = info.usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto allocation =
      structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, addressed ? &flags : nullptr);
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex =
      kind == Kind::Device    ? type_of(*context_, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)
      : kind == Kind::Staging ? type_of(*context_, needs.memoryTypeBits, kOfHost, 0)
                              : type_of(*context_, needs.memoryTypeBits, kOfHost, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  context_->check(api.AllocateMemory(device, &allocation, nullptr, &memory_), size_, " bytes");
  context_->check(api.BindBufferMemory(device, buffer_, memory_, 0), "binding ", size_, " bytes");
  if (addressed) {
    auto where = structure<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
    where.buffer = buffer_;
    address_ = api.GetBufferDeviceAddress(device, &where);
  }
  if (kind == Kind::Device) return;
  void* data = nullptr;
  context_->check(api.MapMemory(device, memory_, 0, VK_WHOLE_SIZE, 0, &data), "showing the host ", size_, " bytes");
  data_ = static_cast<std::byte*>(data);
}

// ---- blocks --------------------------------------------------------------------------------------------------------

std::byte* DeviceMemory::map(std::size_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  context_->demand_alive();
  std::unique_ptr<Buffer> block;
  try {
    block = std::make_unique<Buffer>(context_, Buffer::Kind::Device, bytes);
  } catch (const MemoryError&) { return nullptr; }
  const std::uint64_t address = block->address();
  require<DeviceError>(address != 0 && address % kAlignment == 0, context_->name(), ": the driver gives memory at ",
                       address, ", which is no multiple of ", kAlignment);
  const std::lock_guard lock(mutex_);
  blocks_.emplace(address, std::move(block));
  return reinterpret_cast<std::byte*>(address);
}

bool DeviceMemory::unmap(std::byte* start, std::size_t) {
  try {
    finish_();
  } catch (...) { return false; }  // of a lost device, or without the host's memory to wait for it
  const std::lock_guard lock(mutex_);
  return blocks_.erase(reinterpret_cast<std::uintptr_t>(start)) == 1;
}

Place DeviceMemory::find(const std::byte* start, std::size_t bytes) const {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(start));
  const std::lock_guard lock(mutex_);
  auto next = blocks_.upper_bound(address);
  const bool found = next != blocks_.begin() && address + bytes <= (--next)->first + next->second->size();
  require<DeviceError>(found, context_->name(), ": ", bytes, " bytes at ", address, " are not in the device's memory");
  return {next->second->handle(), address - next->first, address};
}

}  // namespace kiln::vulkan
