// A decorator that looks at nothing is not there.
#include "kiln/ops/decorator.hpp"

#include <gtest/gtest.h>

#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/op.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln {
namespace {

/// Notes by which name each question came, and answers unlike any other backend.
class Answering final : public Backend {
 public:
  std::string name() const override { return asked("name"), "answering"; }
  void run(const op::Op&, Call) override { asked("run"); }
  bool has_kernel(const op::Op&) const override { return asked("has_kernel"), false; }
  Ref<Node> upload(TensorData data, const Device& device) override {
    return asked("upload"), make_ref<Node>(Desc{data.shape(), data.dtype()}, device);
  }
  TensorData download(const Value&) override { return asked("download"), TensorData({7}, DType::I32); }
  Ref<PendingRead> start_read(Inputs) override { return asked("start_read"), arrived({}); }
  bool accepts(const Device&) const override { return asked("accepts"), true; }
  void flush() override { asked("flush"); }
  void sync() override { asked("sync"); }
  MemoryStatistics memory() const override { return asked("memory"), MemoryStatistics{.in_use = 5}; }
  void set_memory_limit(std::int64_t) override { asked("set_memory_limit"); }
  void reset_memory_peak() override { asked("reset_memory_peak"); }
  void release_memory() override { asked("release_memory"); }
  Float32Precision::Level float32_precision() const override { return Float32Precision::High; }
  void set_float32_precision(Float32Precision::Level) override { asked("set_float32_precision"); }
  Ref<Backend> with_core(Wrap wrap) override { return asked("with_core"), wrap(Ref<Backend>(this)); }
  void run_pending(Inputs) override { asked("run_pending"); }
  State state(const Value&) const override { return asked("state"), State::Failed; }
  FusionTraits fusion_traits() const override { return asked("fusion_traits"), FusionTraits{.max_ops = 3}; }

  mutable std::vector<std::string> questions;

 private:
  void asked(const char* question) const { questions.emplace_back(question); }
};

/// Made while the program starts.
const Device kAtStart = Device::cpu();

TEST(Decorator, IsAroundDevicesThatAreMadeBeforeMain) {
  EXPECT_TRUE(dynamic_cast<fusion::Fusion*>(kAtStart.handle().get()));
}

TEST(Decorator, PassesOnEveryQuestionAndItsAnswer) {
  const auto inner = make_ref<Answering>();
  const Ref<Backend> outer = make_ref<test::Forwarding>(inner);
  const Value value(make_ref<Node>(Desc{{2}, DType::F32}, Device(outer)));
  const auto last = [&] { return inner->questions.empty() ? std::string() : inner->questions.back(); };

  EXPECT_EQ(outer->name(), "answering");
  outer->run(op::Reshape{{2}}, {});
  EXPECT_EQ(last(), "run");
  EXPECT_FALSE(outer->has_kernel(op::Reshape{{2}}));
  EXPECT_EQ(outer->upload(TensorData({3}, DType::F32), Device(outer))->desc.shape, Shape({3}));
  EXPECT_EQ(last(), "upload");
  EXPECT_EQ(outer->download(value).shape(), Shape({7}));
  EXPECT_TRUE(outer->start_read({&value, 1})->ready());
  EXPECT_EQ(last(), "start_read");
  EXPECT_TRUE(outer->accepts(Device::cpu()));
  EXPECT_EQ(last(), "accepts");
  outer->flush();
  EXPECT_EQ(last(), "flush");
  outer->sync();
  EXPECT_EQ(last(), "sync");
  EXPECT_EQ(outer->memory().in_use, 5);
  outer->set_memory_limit(1);
  EXPECT_EQ(last(), "set_memory_limit");
  outer->reset_memory_peak();
  EXPECT_EQ(last(), "reset_memory_peak");
  outer->release_memory();
  EXPECT_EQ(last(), "release_memory");
  EXPECT_EQ(outer->float32_precision(), Float32Precision::High);
  outer->set_float32_precision(Float32Precision::Highest);
  EXPECT_EQ(last(), "set_float32_precision");
  outer->run_pending({&value, 1});
  EXPECT_EQ(last(), "run_pending");
  EXPECT_EQ(outer->state(value), Backend::State::Failed);
  EXPECT_EQ(outer->fusion_traits().max_ops, 3u);
}

// Backend has defaults for nothing, so that a class which names all but one of its functions is none that can be made:
// a decorator that forgets what is added to the list does not compile.
TEST(Backend, LeavesNothingToDefaults) {
  EXPECT_TRUE(std::is_abstract_v<Backend>);
  EXPECT_TRUE(std::is_abstract_v<Decorator>);  // with_core() is for those who know what they are
  EXPECT_TRUE(std::is_abstract_v<LeafBackend>);
  EXPECT_FALSE(std::is_abstract_v<test::Forwarding>);
  EXPECT_NE(make_ref<Answering>()->id(), make_ref<Answering>()->id());
}

TEST(Fusion, AcceptsWhatTheDeviceThatItWrapsAccepts) {
  const Device inner = Device::parse("reference");
  const Device fused(make_ref<fusion::Fusion>(inner.handle()));
  const Value here = full({2}, 3.0, fused, DType::F32) * 2, there = full({2}, 4.0, inner, DType::F32);
  const Value sum = here + there;
  EXPECT_TRUE(sum.device() == fused);
  EXPECT_EQ(sum.data().at(1), 10);
  EXPECT_THROW((void)(here + full({2}, 1.0, Device::cpu(), DType::F32)), DeviceError);
}

}  // namespace
}  // namespace kiln
