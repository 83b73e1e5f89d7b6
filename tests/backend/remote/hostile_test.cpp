// What a server takes from clients that are damaged, lie or mean harm: it refuses with a sentence, and others go on.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/backend/remote/hosted_pair.hpp"
#include "tests/backend/remote/raw_client.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using remote::Entry;
using remote::Frame;
using test::RawClient;

struct Hostile : testing::Test {
  remote::Host host{{Device::cpu()}, {.token = "right", .limits = {.memory = 1 << 20, .tensors = 100}}};
  Device honest = test::remote_device(host, {.token = "right"});
  Value kept = full({4}, 5, honest, DType::F32);

  ~Hostile() override { EXPECT_EQ(kept.data().at(0), 5); }  // the others go on

  std::string answer_to(const std::function<void(wire::Writer&)>& entries) {
    RawClient client(host);
    client.hello({.token = "right"});
    client.work(entries);
    client.bye();
    return client.told();
  }
  void expect_told(const char* part, const std::function<void(wire::Writer&)>& entries) {
    const std::string said = answer_to(entries);
    EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_FALSE(said.starts_with("goes on")) << said;
  }
  /// The same of an error that does not end the session.
  void expect_goes_on(const char* part, const std::function<void(wire::Writer&)>& entries) {
    const std::string said = answer_to(entries);
    EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_TRUE(said.starts_with("goes on: ")) << said;
  }
};

const auto upload = test::write_upload;

TEST_F(Hostile, AFirstMessageIsShort) {
  RawClient client(host);
  client.hello({.token = std::string(100'000, 'x')});
  EXPECT_EQ(client.told(), "");  // closed without a word
  EXPECT_EQ(host.counters().refused, 0);
  RawClient shorter(host);
  shorter.hello({.token = std::string(50'000, 'x')});
  EXPECT_NE(shorter.told().find("does not take this token"), std::string::npos);
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
      later.told(),
      "the client speaks version 99 of the remote device's protocol, the server version 3: let both be of the same "
      "version of Kiln");
  RawClient stranger(host);
  stranger.send({std::byte{0}, std::byte{'G'}, std::byte{'E'}, std::byte{'T'}, std::byte{' '}});
  EXPECT_NE(stranger.told(), "");
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
  expect_goes_on("there is no value 0: it was freed, or never made", [](wire::Writer& out) {
    remote::begin(out, Entry::Read);
    out.whole(1), out.whole(1), out.whole(0);
  });
  expect_goes_on("there is no value 0: it was freed, or never made", [](wire::Writer& out) {
    upload(out, {Shape{2}, DType::F32}, 8);
    const Value in(make_ref<Node>(Desc{Shape{2}, DType::F32}, Device::cpu()));
    Value made(make_ref<Node>(Desc{Shape{2}, DType::F32}, Device::cpu()));
    remote::begin(out, Entry::Form);
    remote::write_form(out, op::Reshape{{2}}, {{&in, 1}, {&made, 1}}, nullptr);
    remote::begin(out, Entry::Free), out.whole(1);
    out.whole(remote::kFirstForm), out.whole(1);
  });
  expect_told("value 0 cannot be freed", [](wire::Writer& out) {
    upload(out, {Shape{2}, DType::F32}, 8);
    for (int twice = 0; twice < 2; ++twice) remote::begin(out, Entry::Free), out.whole(1);
  });
}

TEST_F(Hostile, LengthsThatLieAreRefused) {
  expect_told("12 bytes for a tensor that lacks 8", [](wire::Writer& out) { upload(out, {Shape{2}, DType::F32}, 12); });
  expect_told("bytes, there can be", [](wire::Writer& out) {
    remote::begin(out, Entry::Upload);
    wire::write_desc(out, {Shape{1000}, DType::F32});
    out.whole(1 << 30);
  });
  expect_told("cannot be", [](wire::Writer& out) { upload(out, {Shape{1 << 30, 1 << 30, 1 << 30}, DType::F32}, 0); });
  expect_told("a piece of no upload",
              [](wire::Writer& out) { remote::begin(out, Entry::Piece), out.whole(1), out.byte(0); });
  expect_told("an upload is not complete", [](wire::Writer& out) {
    upload(out, {Shape{4}, DType::F32}, 8);
    remote::begin(out, Entry::Flush);
  });
  expect_told("a call within an upload", [](wire::Writer& out) {
    const Value in(make_ref<Node>(Desc{Shape{4}, DType::F32}, Device::cpu()));
    Value made(make_ref<Node>(Desc{Shape{4}, DType::F32}, Device::cpu()));
    remote::begin(out, Entry::Form);
    remote::write_form(out, op::Reshape{{4}}, {{&in, 1}, {&made, 1}}, nullptr);
    upload(out, {Shape{4}, DType::F32}, 8);
    out.whole(remote::kFirstForm), out.whole(1);
  });
  expect_goes_on("value 0 has not arrived yet", [](wire::Writer& out) {
    upload(out, {Shape{4}, DType::F32}, 8);
    remote::begin(out, Entry::Memory), out.whole(1);  // a client that was cut off may ask again within an upload
    remote::begin(out, Entry::Read), out.whole(2), out.whole(1), out.whole(0);
  });
  expect_told("values, there can be",
              [](wire::Writer& out) { remote::begin(out, Entry::Causes), out.whole(1u << 31); });
  // The rest of a request that lies about its length is no entry: it must not be read as one.
  expect_told("values, there can be",
              [](wire::Writer& out) { remote::begin(out, Entry::Read), out.whole(1), out.whole(1u << 31); });
  expect_told("form 7 of 0", [](wire::Writer& out) { out.whole(remote::kFirstForm + 7); });
  expect_told("there is no entry 31", [](wire::Writer& out) { out.whole(31); });
  expect_told("a limit of -5 bytes", [](wire::Writer& out) { remote::begin(out, Entry::SetLimit), out.integer(-5); });
}

TEST_F(Hostile, EveryCallIsInferredAgain) {
  const auto reshape = [](const Shape& to, const Shape& result, const Shape& said = {4}) {
    return [=](wire::Writer& out) {
      upload(out, {Shape{4}, DType::F32}, 16);
      const Value in(make_ref<Node>(Desc{said, DType::F32}, Device::cpu()));
      Value made(make_ref<Node>(Desc{result, DType::F32}, Device::cpu()));
      remote::begin(out, Entry::Form);
      remote::write_form(out, op::Reshape{to}, {{&in, 1}, {&made, 1}}, nullptr);
      out.whole(remote::kFirstForm);
      out.whole(1);
    };
  };
  expect_goes_on("reshape", reshape({5}, {5}));
  expect_goes_on("does not give the results that the client says", reshape({2, 2}, {4, 4}));
  expect_goes_on("reshape: an operand is float32 [4]", reshape({5}, {5}, {5}));
  expect_told("has no operation 'no_such_op'", [](wire::Writer& out) {
    remote::begin(out, Entry::Form);
    out.op("no_such_op", 1);
  });
  expect_told("only for the device that planned it", [](wire::Writer& out) {
    remote::begin(out, Entry::Form);
    out.op("fused", wire::fingerprint("fused"));
  });
}

// A call that is wrong fails alone: what comes after it in the same frame is done.
TEST_F(Hostile, TheSessionGoesOnBehindACallThatIsWrong) {
  RawClient client(host);
  client.hello({.token = "right"});
  client.work([](wire::Writer& out) {
    upload(out, {Shape{4}, DType::F32}, 16);
    const Value in(make_ref<Node>(Desc{Shape{4}, DType::F32}, Device::cpu()));
    Value made(make_ref<Node>(Desc{Shape{5}, DType::F32}, Device::cpu()));
    remote::begin(out, Entry::Form);
    remote::write_form(out, op::Reshape{{5}}, {{&in, 1}, {&made, 1}}, nullptr);
    out.whole(remote::kFirstForm), out.whole(1);
    remote::begin(out, Entry::Read), out.whole(7), out.whole(1), out.whole(0);
  });
  bool failed = false, answered = false;
  while (!answered) {
    const auto message = client.receive();
    ASSERT_TRUE(message);
    wire::Reader in("the server", *message);
    const auto type = static_cast<Frame>(in.byte());
    ASSERT_NE(type, Frame::Goodbye);
    failed = failed || type == Frame::Failures;
    answered = type == Frame::Answer;
  }
  EXPECT_TRUE(failed);
}

TEST_F(Hostile, AProgramThatIsWrongFailsWhenItIsReplayed) {
  const Value x = full({3}, 1, Device::cpu(), DType::F32);
  const Graph graph = capture_graph([](const Values& in) { return Values{in[0] * in[0]}; }, {&x, 1});
  wire::Writer writer;
  write_graph(writer, graph);
  const std::vector<std::byte> whole = writer.take();
  const auto replays = [&](std::vector<std::byte> bytes, const Shape& gives, const Shape& input) {
    return [=](wire::Writer& out) {
      upload(out, {input, DType::F32}, static_cast<std::size_t>(4 * numel(input)));
      remote::begin(out, Entry::Program), out.whole(1);
      out.whole(bytes.size()), out.bytes(bytes);
      out.whole(1), wire::write_desc(out, {gives, DType::F32});
      out.whole(0);
      remote::begin(out, Entry::Replay), out.whole(1), out.whole(1), out.whole(1), out.byte(0);
    };
  };
  EXPECT_EQ(answer_to(replays(whole, {3}, {3})), "");
  expect_goes_on("the program does not give the results that the client says", replays(whole, {4}, {3}));
  expect_goes_on("[4]", replays(whole, {3}, {4}));
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    expect_goes_on("of the program",
                   replays({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)}, {3}, {3}));
  expect_told("there is no program 2",
              [](wire::Writer& out) { remote::begin(out, Entry::Replay), out.whole(2), out.whole(0), out.byte(0); });
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
  for (int i = 0; i < 200; ++i) many.push_back(full({1}, i, greedy, DType::F32));
  EXPECT_EQ(sentence_of([&] { (void)many.back().data(); }),
            "MemoryError: the session on the server may hold 100 tensors: free some, or ask for a larger limit there");
  many.clear();
  EXPECT_EQ(full({4}, 1, greedy, DType::F32).data().at(0), 1);
  const auto flood = [&] {
    for (int i = 0; i < 2000; ++i) many.push_back(full({1}, i, greedy, DType::F32));
    greedy.sync();
  };
  EXPECT_NE(sentence_of(flood).find("16 times more than 100 tensors, which is what the server allows"),
            std::string::npos);
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
    client.bye();
    return client.told();
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

TEST(Told, IsEachErrorWithoutTheCallsOfTheServer) {
  const auto told = [](std::string_view sentence) {
    return remote::told(std::make_exception_ptr(ShapeError(sentence))).sentence;
  };
  EXPECT_EQ(told("a"), "a");
  EXPECT_EQ(told("a\n  called from a.cpp:1 f\n  called from a.cpp:2 main"), "a");
  EXPECT_EQ(told("a\n  called from f\n  also: b\n  called from g\n  and 3 more"), "a\n  also: b\n  and 3 more");
}

}  // namespace
}  // namespace kiln
