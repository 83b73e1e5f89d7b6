#include "kiln/backend/vulkan/queue.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/gpu/landing.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::vulkan {
namespace {

constexpr int kMostRecorded = 512;       // commands that wait to be started
constexpr std::size_t kMostRunning = 8;  // batches that the device has yet to finish
constexpr std::size_t kStaging = std::size_t{4} << 20;
constexpr std::size_t kMostKept = 16;  // free staging buffers

constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
Access access(const Place& place, std::size_t bytes, bool writes) {
  return {place.address, place.address + bytes, writes};
}

constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                        kAccesses = kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

}  // namespace

Queue::Queue(Ref<Context> context) : context_(std::move(context)), logs_(is_logged("vulkan")) {}

Queue::~Queue() {
  settle();
  if (context_->is_abandoned()) return;
  const auto destroy = [&](Batch& batch) {
    context_->api().DestroyCommandPool(context_->device(), batch.pool, nullptr);
  };
  if (open_) destroy(*open_);
  std::ranges::for_each(running_, destroy);
  std::ranges::for_each(free_, destroy);
}

void Queue::settle() noexcept {
  try {
    finish();
  } catch (const Error&) { context_->settle(submitted_); }  // of a lost device
}

// ---- batches -------------------------------------------------------------------------------------------------------

Queue::Batch Queue::new_batch() {
  const Api& api = context_->api();
  Batch batch;
  auto pool = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = context_->physical().queue_family;
  context_->check(api.CreateCommandPool(context_->device(), &pool, nullptr, &batch.pool), "making room for commands");
  auto info = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = batch.pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  const VkResult result = api.AllocateCommandBuffers(context_->device(), &info, &batch.commands);
  if (result != VK_SUCCESS) api.DestroyCommandPool(context_->device(), batch.pool, nullptr);
  context_->check(result, "making room for commands");
  return batch;
}

Queue::Batch& Queue::open() {
  context_->demand_alive();
  if (open_) return *open_;
  collect();
  if (free_.empty()) free_.push_back(new_batch());
  auto info = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  context_->check(context_->api().BeginCommandBuffer(free_.back().commands, &info), "beginning a list of commands");
  open_ = std::move(free_.back());
  free_.pop_back();
  open_->value = submitted_ + 1;
  staged_ = 0;
  return *open_;
}

/// Takes back what finished batches held.
void Queue::collect() {
  while (!running_.empty() && context_->reached(running_.front().value)) {
    if (context_->is_lost()) return;  // the device may still use what they hold
    Batch batch = std::move(running_.front());
    running_.pop_front();
    for (std::unique_ptr<Buffer>& each : batch.staging)
      if (each->size() == kStaging && free_staging_.size() < kMostKept) free_staging_.push_back(std::move(each));
    batch.staging.clear();
    batch.programs.clear();
    batch.recorded = batch.barriers = 0;
    context_->api().ResetCommandPool(context_->device(), batch.pool, 0);
    free_.push_back(std::move(batch));
  }
}

/// All that was recorded before is done before what follows, and seen by it.
void Queue::barrier(VkPipelineStageFlags to_stage, VkAccessFlags to) {
  auto memory = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  memory.srcAccessMask = kWrites;
  memory.dstAccessMask = to;
  context_->api().CmdPipelineBarrier(open_->commands, kStages, to_stage, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

/// The batch for a command that runs after those before it whose memory it touches.
Queue::Batch& Queue::command(const Accesses& accesses) {
  if (open_ && open_->recorded >= kMostRecorded) flush_locked();
  Batch& batch = open();
  if (order_.waits(accesses)) {
    barrier(kStages, kAccesses);
    ++batch.barriers;
  }
  ++batch.recorded;
  return batch;
}

std::uint64_t Queue::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
  return submitted_;
}

void Queue::flush_for(std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (value > submitted_) flush_locked();
}

void Queue::flush_locked() {
  if (!open_) return;
  context_->demand_alive();
  const Api& api = context_->api();
  const VkSemaphore timeline = context_->timeline();
  auto values = structure<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &open_->value;
  auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, &values);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &open_->commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline;
  const auto start = std::chrono::steady_clock::now();
  VkResult result = api.EndCommandBuffer(open_->commands);
  if (result == VK_SUCCESS) result = api.QueueSubmit(context_->queue(), 1, &info, nullptr);
  // Results are missing from here on.
  if (result != VK_SUCCESS)
    context_->lose(text("a list of ", open_->recorded, " commands could not be started, ", name_of(result)),
                   result == VK_ERROR_DEVICE_LOST);
  context_->demand_alive();
  if (logs_) {
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "kiln: %s: %d commands, with %d barriers, started in %.1f us\n", context_->name().c_str(),
                 open_->recorded, open_->barriers, took.count());
  }
  submitted_ = open_->value;
  running_.push_back(std::move(*open_));
  open_.reset();
  // The host does not run ahead without end.
  if (running_.size() > kMostRunning) context_->wait_for(running_[running_.size() - 1 - kMostRunning].value);
}

void Queue::finish() { context_->wait_for(flush()); }

// ---- staging -------------------------------------------------------------------------------------------------------

std::unique_ptr<Buffer> Queue::take_staging(std::size_t bytes) {
  if (bytes <= kStaging && !free_staging_.empty()) {
    std::unique_ptr<Buffer> buffer = std::move(free_staging_.back());
    free_staging_.pop_back();
    return buffer;
  }
  return std::make_unique<Buffer>(context_, Buffer::Kind::Staging, std::max(bytes, kStaging));
}

Queue::Staged Queue::stage(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  Batch& batch = open();
  if (batch.staging.empty() || staged_ + bytes > batch.staging.back()->size()) {
    batch.staging.push_back(take_staging(bytes));
    staged_ = 0;
  }
  const Buffer& buffer = *batch.staging.back();
  const Staged staged{buffer.data() + staged_, {buffer.handle(), staged_}, buffer.address() + staged_};
  staged_ = std::min((staged_ + bytes + kAlignment - 1) / kAlignment * kAlignment, buffer.size());
  return staged;
}

// ---- commands ------------------------------------------------------------------------------------------------------

void Queue::launch(Ref<const Program> program, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                   const Accesses& accesses) {
  const Api& api = context_->api();
  const VkPhysicalDeviceLimits& limits = context_->physical().properties.limits;
  const std::int64_t columns = std::min<std::int64_t>(blocks, limits.maxComputeWorkGroupCount[0]),
                     rows = (blocks + columns - 1) / columns;
  require<DeviceError>(rows <= limits.maxComputeWorkGroupCount[1], context_->name(), ": kernel ", program->name(),
                       " cannot have ", blocks, " blocks");
  const std::vector<std::uint64_t> passed = program->passed(blocks, arguments);
  const std::size_t bytes = passed.size() * sizeof(std::uint64_t);

  const std::lock_guard lock(mutex_);
  Batch& batch = command(accesses);
  api.CmdBindPipeline(batch.commands, VK_PIPELINE_BIND_POINT_COMPUTE, program->pipeline());
  const auto push = [&](const void* data, std::size_t size) {
    api.CmdPushConstants(batch.commands, context_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         static_cast<std::uint32_t>(size), data);
  };
  if (bytes > gpu::kPushedBytes) {
    const Staged staged = stage(bytes);
    std::memcpy(staged.data, passed.data(), bytes);
    push(&staged.address, sizeof(staged.address));
  } else if (bytes) {
    push(passed.data(), bytes);
  }
  api.CmdDispatch(batch.commands, static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows), 1);
  batch.programs.push_back(std::move(program));
}

void Queue::copy(Place to, Place from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const VkBufferCopy region{from.offset, to.offset, bytes};
  Batch& batch = command(std::vector{access(to, bytes, true), access(from, bytes, false)});
  context_->api().CmdCopyBuffer(batch.commands, from.buffer, to.buffer, 1, &region);
}

// Whole words are filled; what else there is at the ends is copied from zeros.
void Queue::clear(Place start, std::size_t bytes) {
  const Api& api = context_->api();
  const VkDeviceSize end = start.offset + bytes, first = std::min((start.offset + 3) / 4 * 4, end),
                     last = std::max(end / 4 * 4, first);
  const std::lock_guard lock(mutex_);
  Batch& batch = command(std::vector{access(start, bytes, true)});
  if (last > first) api.CmdFillBuffer(batch.commands, start.buffer, first, last - first, 0);
  for (const auto& [from, to] : {std::pair(start.offset, first), std::pair(last, end)}) {
    if (from == to) continue;
    const Staged zeros = stage(4);
    std::memset(zeros.data, 0, 4);
    const VkBufferCopy region{zeros.place.offset, from, to - from};
    api.CmdCopyBuffer(batch.commands, zeros.place.buffer, start.buffer, 1, &region);
  }
}

void Queue::upload(Place to, std::span<const std::byte> from) {
  while (!from.empty()) {
    const std::size_t done = upload_piece(to, from);
    to.offset += done;
    to.address += done;
    from = from.subspan(done);
  }
}

std::size_t Queue::upload_piece(Place to, std::span<const std::byte> from) {
  constexpr std::size_t kMostStaged = 8;
  const std::lock_guard lock(mutex_);
  if (open_ && open_->staging.size() >= kMostStaged) flush_locked();
  const std::size_t bytes = std::min(from.size(), kStaging);
  Batch& batch = command(std::vector{access(to, bytes, true)});
  const Staged staged = stage(bytes);
  gpu::copy_bytes(staged.data, from.data(), bytes);
  const VkBufferCopy region{staged.place.offset, to.offset, bytes};
  context_->api().CmdCopyBuffer(batch.commands, staged.place.buffer, to.buffer, 1, &region);
  return bytes;
}

std::uint64_t Queue::download(const Buffer& to, Place from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Batch& batch = command(std::vector{access(from, bytes, false)});
  const VkBufferCopy region{from.offset, 0, bytes};
  context_->api().CmdCopyBuffer(batch.commands, from.buffer, to.handle(), 1, &region);
  barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  return batch.value;
}

}  // namespace kiln::vulkan
