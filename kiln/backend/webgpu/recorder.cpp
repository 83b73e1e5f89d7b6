#include "kiln/backend/webgpu/recorder.hpp"

#include <algorithm>

namespace kiln::webgpu {
namespace {

constexpr int kMostCommands = 256;                 // then the device begins
constexpr std::uint64_t kUniformWords = 64 << 10;  // of all uniform blocks that are submitted together

}  // namespace

Recorder::Recorder(Ref<Session> session)
    : session_(std::move(session)),
      alignment_(std::max<std::uint64_t>(session_->adapter().limits.uniform_alignment / 4, 4)),
      uniforms_(std::make_unique<Buffer>(session_, kUniformWords * 4, kUniform | kCopyTarget)) {}

Recorder::~Recorder() {
  const std::lock_guard lock(session_->mutex());
  end_pass();
  if (encoder_) session_->functions().encoder_release(encoder_);
}

EncoderHandle Recorder::encoder() {
  const LabelledDescriptor nothing;
  if (!encoder_) encoder_ = session_->functions().create_encoder(session_->device(), &nothing);
  return encoder_;
}
PassHandle Recorder::pass() {
  const PassDescriptor nothing;
  if (!pass_) pass_ = session_->functions().begin_pass(encoder(), &nothing);
  return pass_;
}
void Recorder::end_pass() {
  if (!pass_) return;
  session_->functions().end_pass(pass_);
  session_->functions().pass_release(pass_);
  pass_ = nullptr;
}
void Recorder::counted() {
  if (++commands_ >= kMostCommands) flush_locked();
}

// Blocks are written before the commands run, and so none is written twice before they are submitted.
std::uint64_t Recorder::place_of(std::span<const std::uint32_t> uniform) {
  const std::uint64_t words = (uniform.size() + alignment_ - 1) / alignment_ * alignment_;
  if (words_.size() + words > kUniformWords) flush_locked();
  const std::uint64_t at = words_.size();
  words_.insert(words_.end(), uniform.begin(), uniform.end());
  words_.resize(at + words);
  return at * 4;
}

void Recorder::dispatch(const Dispatch& what) {
  const Functions& f = session_->functions();
  const std::lock_guard lock(session_->mutex());
  std::vector<GroupEntry> entries(what.buffers.begin(), what.buffers.end());
  if (!what.uniform.empty())
    entries.push_back({.binding = static_cast<std::uint32_t>(entries.size()),
                       .buffer = uniforms_->handle(),
                       .offset = place_of(what.uniform),
                       .size = (what.uniform.size() + 3) / 4 * 16});
  const GroupDescriptor descriptor{.layout = what.layout, .count = entries.size(), .entries = entries.data()};
  const GroupHandle group = f.create_group(session_->device(), &descriptor);
  const PassHandle pass = this->pass();
  f.set_pipeline(pass, what.pipeline);
  f.set_group(pass, 0, group, 0, nullptr);
  f.dispatch(pass, what.columns, what.rows, 1);
  f.group_release(group);
  counted();
}

void Recorder::copy(const Place& to, const Place& from, std::uint64_t bytes) {
  const std::lock_guard lock(session_->mutex());
  end_pass();
  session_->functions().copy(encoder(), from.buffer, from.offset, to.buffer, to.offset, bytes);
  counted();
}

void Recorder::clear(const Place& start, std::uint64_t bytes) {
  const std::lock_guard lock(session_->mutex());
  end_pass();
  session_->functions().clear(encoder(), start.buffer, start.offset, bytes);
  counted();
}

void Recorder::flush_locked() {
  if (!encoder_) return;
  const Functions& f = session_->functions();
  end_pass();
  if (!words_.empty()) f.write(session_->queue(), uniforms_->handle(), 0, words_.data(), words_.size() * 4);
  const LabelledDescriptor nothing;
  const CommandsHandle commands = f.finish(encoder_, &nothing);
  f.encoder_release(encoder_);
  encoder_ = nullptr;
  f.submit(session_->queue(), 1, &commands);
  f.commands_release(commands);
  words_.clear();
  commands_ = 0;
}

}  // namespace kiln::webgpu
