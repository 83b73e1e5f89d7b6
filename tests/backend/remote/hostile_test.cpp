// What a server takes from clients that are damaged, lie or mean harm: it refuses with a sentence, and others go on.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "kiln/ops/functions.hpp"
#include "kiln/wire/op_wire.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using remote::Entry;
using remote::Frame;

/// Speaks the protocol by hand.
class RawClient {
 public:
  explicit RawClient(remote::Host& host) {
    auto [here, there] = net::connected_pair();
    host.attach(std::move(there));
    connection_ = std::move(here);
  }
  void send(const std::vector<std::byte>& message) {
    try {
      connection_->send(message);
    } catch (const IoError&) {}  // the server has closed
  }
  void hello(remote::Hello hello = {}, std::uint64_t protocol = remote::kProtocol) {
    wire::Writer out;
    remote::begin(out, Frame::Hello);
    wire::write_header(out);
    out.whole(protocol);
    wire::write_field(out, hello);
    send(out.take());
  }
  /// The sentence of the first Refusal or Goodbye that comes; empty where the connection ends without one.
  std::string refusal() {
    try {
      while (const auto message = connection_->receive()) {
        wire::Reader in("the server", *message);
        const auto type = static_cast<Frame>(in.byte());
        if (type == Frame::Refusal) wire::read_header(in);
        else if (type == Frame::Goodbye) (void)in.whole(), (void)in.whole();
        else continue;
        remote::Refusal refusal;
        wire::read_field(in, refusal);
        return refusal.sentence;
      }
    } catch (const IoError&) {}
    return "";
  }
  /// A Work frame with these entries; the first has number 1.
  void work(const std::function<void(wire::Writer&)>& entries) {
    wire::Writer out;
    remote::begin(out, Frame::Work);
    out.whole(++frames_);
    entries(out);
    send(out.take());
  }
  void close() { connection_->close(); }

 private:
  std::unique_ptr<net::Connection> connection_;
  std::uint64_t frames_ = 0;
};

struct Hostile : testing::Test {
  remote::Host host{{Device::cpu()}, {.token = "right", .limits = {.memory = 1 << 20, .tensors = 100}}};
  Device honest = test::remote_device(host, {.token = "right"});
  Value kept = full({4}, 5, honest, DType::F32);

  ~Hostile() override { EXPECT_EQ(kept.data().at(0), 5); }  // the others go on

  std::string answer_to(const std::function<void(wire::Writer&)>& entries) {
    RawClient client(host);
    client.hello({.token = "right"});
    client.work(entries);
    return client.refusal();
  }
};

void upload(wire::Writer& out, const Desc& desc, std::size_t bytes) {
  remote::begin(out, Entry::Upload);
  wire::write_desc(out, desc);
  out.whole(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out.byte(0);
}

TEST_F(Hostile, ATokenAVersionAndADeviceAreAskedFor) {
  EXPECT_EQ(sentence_of([&] { test::remote_device(host, {.token = "wrong"}); }),
            "DeviceError: remote device at this program: the server does not take this token");
  EXPECT_EQ(sentence_of([&] { test::remote_device(host); }),
            "DeviceError: remote device at this program: the server asks for a token: set KILN_REMOTE_TOKEN");
  EXPECT_EQ(sentence_of([&] { test::remote_device(host, {.token = "right", .device = "cuda"}); }),
            "DeviceError: remote device at this program: the server lends no device 'cuda'; it has: cpu");
  RawClient later(host);
  later.hello({.token = "right"}, 99);
  EXPECT_EQ(
      later.refusal(),
      "the client speaks version 99 of the remote device's protocol, the server version 1: let both be of the same "
      "version of Kiln");
  RawClient stranger(host);
  stranger.send({std::byte{0}, std::byte{'G'}, std::byte{'E'}, std::byte{'T'}, std::byte{' '}});
  EXPECT_NE(stranger.refusal(), "");
}

TEST(Token, IsNotLookedAtWhereTheServerAsksForNone) {
  remote::Host host({Device::cpu()});
  EXPECT_EQ(full({2}, 3, test::remote_device(host, {.token = "any"}), DType::F32).data().at(1), 3);
}

TEST_F(Hostile, ATableThatDiffersIsSaidByName) {
  std::vector<remote::KnownOp> others = remote::own_ops();
  EXPECT_EQ(remote::differing_ops(others), "");
  others[2].fingerprint += 1;
  others.push_back({"new_op", 7});
  EXPECT_EQ(remote::differing_ops(others), others[2].name + ", new_op");
}

TEST_F(Hostile, HandlesOfOthersAndFreedOnesAreNone) {
  const std::string none = answer_to([](wire::Writer& out) {
    remote::begin(out, Entry::Read);
    out.whole(1), out.whole(1), out.whole(0);
  });
  EXPECT_NE(none.find("there is no value 0: it was freed, or never made"), std::string::npos) << none;
  const std::string freed = answer_to([](wire::Writer& out) {
    upload(out, {Shape{2}, DType::F32}, 8);
    for (int twice = 0; twice < 2; ++twice) remote::begin(out, Entry::Free), out.whole(1);
  });
  EXPECT_NE(freed.find("value 0 cannot be freed"), std::string::npos) << freed;
}

TEST_F(Hostile, LengthsThatLieAreRefused) {
  const auto says = [&](const char* part, const std::function<void(wire::Writer&)>& entries) {
    const std::string said = answer_to(entries);
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  says("12 bytes for a tensor that lacks 8", [](wire::Writer& out) { upload(out, {Shape{2}, DType::F32}, 12); });
  says("bytes, there can be", [](wire::Writer& out) {
    remote::begin(out, Entry::Upload);
    wire::write_desc(out, {Shape{1000}, DType::F32});
    out.whole(1 << 30);
  });
  says("cannot be", [](wire::Writer& out) { upload(out, {Shape{1 << 30, 1 << 30, 1 << 30}, DType::F32}, 0); });
  says("a piece of no upload", [](wire::Writer& out) { remote::begin(out, Entry::Piece), out.whole(1), out.byte(0); });
  says("an upload is not complete", [](wire::Writer& out) {
    upload(out, {Shape{4}, DType::F32}, 8);
    remote::begin(out, Entry::Flush);
  });
  says("value 0 has not arrived yet", [](wire::Writer& out) {
    upload(out, {Shape{4}, DType::F32}, 8);
    remote::begin(out, Entry::Memory), out.whole(1);  // a client that was cut off may ask again within an upload
    remote::begin(out, Entry::Read), out.whole(2), out.whole(1), out.whole(0);
  });
  says("values, there can be", [](wire::Writer& out) { remote::begin(out, Entry::Causes), out.whole(1u << 31); });
  says("form 7 of 0", [](wire::Writer& out) { out.whole(remote::kFirstForm + 7); });
  says("there is no entry 31", [](wire::Writer& out) { out.whole(31); });
}

TEST_F(Hostile, EveryCallIsInferredAgain) {
  const auto reshape = [](const Shape& to, const Shape& result) {
    return [=](wire::Writer& out) {
      upload(out, {Shape{4}, DType::F32}, 16);
      const Value in(make_ref<Node>(Desc{Shape{4}, DType::F32}, Device::cpu()));
      Value made(make_ref<Node>(Desc{result, DType::F32}, Device::cpu()));
      remote::begin(out, Entry::Form);
      remote::write_form(out, op::Reshape{to}, {{&in, 1}, {&made, 1}}, nullptr);
      out.whole(remote::kFirstForm);
      out.whole(1);
    };
  };
  EXPECT_NE(answer_to(reshape({5}, {5})).find("reshape"), std::string::npos);
  EXPECT_NE(answer_to(reshape({2, 2}, {4, 4})).find("does not give the results that the client says"),
            std::string::npos);
  EXPECT_NE(answer_to([](wire::Writer& out) {
              remote::begin(out, Entry::Form);
              out.op("no_such_op", 1);
            }).find("has no operation 'no_such_op'"),
            std::string::npos);
  EXPECT_NE(answer_to([](wire::Writer& out) {
              remote::begin(out, Entry::Form);
              out.op("fused", wire::fingerprint("fused"));
            }).find("only for the device that planned it"),
            std::string::npos);
}

TEST_F(Hostile, ASessionGetsNoMoreThanItMayHave) {
  const Device greedy = test::remote_device(host, {.token = "right"});
  const Value much = full({1000, 1000}, 1, greedy, DType::F32);
  EXPECT_EQ(sentence_of([&] { (void)much.data(); }),
            "MemoryError: the session on the server may hold 1 MiB; it holds 0 bytes and asks for 3.8 MiB more: free "
            "tensors, "
            "or ask for a larger limit there");
  const Value sent = from_data(TensorData(Shape{1000, 1000}, DType::F32), greedy);
  EXPECT_TRUE(
      sentence_of([&] { (void)sent.data(); }).starts_with("MemoryError: the session on the server may hold 1 MiB"));
  EXPECT_EQ(full({4}, 1, greedy, DType::F32).data().at(0), 1);
  std::vector<Value> many;
  const auto fill = [&] {
    for (int i = 0; i < 200; ++i) many.push_back(full({1}, i, greedy, DType::F32));
    greedy.sync();
  };
  EXPECT_NE(sentence_of(fill).find("more than 100 tensors, which is what the server allows"), std::string::npos);
}

TEST_F(Hostile, WhatIsReadAndExpandedCounts) {
  const Device greedy = test::remote_device(host, {.token = "right"});
  const Value x = full({4000}, 1, greedy, DType::F32);
  const std::vector<Value> many(100, x);
  EXPECT_EQ(sentence_of([&] { (void)greedy.backend().start_read(many)->wait(); }),
            "MemoryError: a read of 1.5 MiB at once, the session on the server may read 1 MiB: read it in parts");
  EXPECT_TRUE(sentence_of([&] {
                (void)expand(x, {1000, 4000}).data();
              }).starts_with("MemoryError: the session on the server may hold 1 MiB"));
  EXPECT_EQ(x.data().at(3999), 1);
}

TEST(Limits, ZeroTensorsAndProgramsAreAnyNumber) {
  remote::Host host({Device::cpu()}, {.limits = {.tensors = 0, .programs = 0}});
  const Device device = test::remote_device(host);
  EXPECT_EQ(full({4}, 2, device, DType::F32).data().at(0), 2);
}

TEST(Limits, ASessionComputesNoLongerThanItMay) {
  remote::Host host({Device::cpu()}, {.limits = {.seconds = 1e-6}});
  const Device device = test::remote_device(host);
  EXPECT_NE(sentence_of([&] {
              (void)full({1000}, 1, device, DType::F32).data();
              device.sync();
            }).find("which is what the server allows: connect again for a new one"),
            std::string::npos);
}

/// A frame of an honest session, and the sizes that it has after each entry.
std::vector<std::byte> honest_frame(std::set<std::size_t>& ends) {
  wire::Writer out;
  const auto ends_here = [&] { ends.insert(out.size()); };
  remote::begin(out, Frame::Work);
  out.whole(1), ends_here();
  upload(out, {Shape{4}, DType::F32}, 16), ends_here();
  const Value in(make_ref<Node>(Desc{Shape{4}, DType::F32}, Device::cpu()));
  Value made(make_ref<Node>(Desc{Shape{2, 2}, DType::F32}, Device::cpu()));
  remote::begin(out, Entry::Form);
  remote::write_form(out, op::Reshape{{2, 2}}, {{&in, 1}, {&made, 1}}, "reshape"), ends_here();
  out.whole(remote::kFirstForm), out.whole(1), ends_here();
  remote::begin(out, Entry::Causes), out.whole(1), out.whole(1), ends_here();
  remote::begin(out, Entry::RunPending), out.whole(1), out.whole(1), ends_here();
  remote::begin(out, Entry::Read), out.whole(9), out.whole(1), out.whole(1), ends_here();
  remote::begin(out, Entry::Memory), out.whole(10), ends_here();
  remote::begin(out, Entry::Free), out.whole(2), ends_here();
  remote::begin(out, Entry::Sync), out.whole(11), ends_here();
  return out.take();
}

TEST_F(Hostile, FramesCutAtEveryByteAndMutatedOnesEndInSentences) {
  std::set<std::size_t> ends;
  const std::vector<std::byte> whole = honest_frame(ends);
  const auto played = [&](const std::vector<std::byte>& frame) {
    RawClient client(host);
    client.hello({.token = "right"});
    client.send(frame);
    wire::Writer bye;
    remote::begin(bye, Frame::Bye);
    client.send(bye.take());
    return client.refusal();
  };
  EXPECT_EQ(played(whole), "");
  for (std::size_t cut = 1; cut < whole.size(); ++cut)
    EXPECT_EQ(played({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)}).empty(), ends.contains(cut))
        << cut << " of " << whole.size() << " bytes";
  int refused = 0;
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> frame = whole;
    for (int change = 0; change <= i % 3; ++change) frame[random() % frame.size()] ^= std::byte{1} << random() % 8;
    refused += !played(frame).empty();
  }
  EXPECT_GT(refused, 200);
}

TEST(Killed, AClientWithinAnUploadLeavesNothing) {
  remote::Host host({Device::cpu()}, {.window = 0.1});
  {
    RawClient client(host);
    client.hello();
    client.work([](wire::Writer& out) { upload(out, {Shape{1000}, DType::F32}, 100); });
    client.close();
  }
  const auto is_over = [&] {
    const remote::HostCounters now = host.counters();
    return now.opened == 1 && now.sessions.empty();
  };
  for (int i = 0; i < 500 && !is_over(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_over());
}

TEST_F(Hostile, ASlowReaderHoldsUpNobody) {
  RawClient slow(host);
  slow.hello({.token = "right"});
  slow.work([](wire::Writer& out) { upload(out, {Shape{250'000}, DType::F32}, 1'000'000); });
  for (int i = 0; i < 100; ++i)  // more that it never takes than the server has waiting for a client
    slow.work([](wire::Writer& out) { remote::begin(out, Entry::Read), out.whole(1), out.whole(1), out.whole(0); });
  EXPECT_EQ(full({4}, 2, honest, DType::F32).data().at(0), 2);
}

}  // namespace
}  // namespace kiln
