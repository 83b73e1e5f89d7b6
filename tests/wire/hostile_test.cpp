// Programs that are cut off, damaged or put together of others: each is read or refused, and nothing else happens.
// Meant to run under the address and undefined-behaviour sanitizers as well.
#include <gtest/gtest.h>

#include <algorithm>

#include "kiln/backend/capture/body.hpp"
#include "kiln/backend/capture/graph_wire.hpp"
#include "kiln/core/random.hpp"
#include "kiln/wire/call.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::wire {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const Graph& graph) {
  Writer out;
  write_graph(out, graph);
  return out.take();
}
/// A graph whose constants are missing.
Graph graph_of(std::span<const std::byte> bytes) {
  Reader in("damaged", bytes);
  const Device device = Device::cpu().autodiff();
  return read_graph(
      in, device, [&](std::size_t, const GraphConstant& constant) { return description_only(constant.desc, device); });
}

/// Operations of many families, with numbers, absent operands, constants, random draws and several results.
Graph classifier() {
  const Device device = Device::cpu();
  const Value weight = ones({4, 1, 3, 3}, device), table = ones({36, 5}, device), image = ones({2, 1, 6, 6}, device);
  return capture_graph(
      [&](const Values& in) {
        Value x = relu(conv(in[0], weight, {}, {.padding = {1, 1}}));
        x = dropout(max_pool(x, {.kernel = {2, 2}}), 0.25);
        x = reshape(x, {2, 36}) * 0.5 + uniform({2, 36}, 0, 1, in[0].device());
        x = log_softmax(matmul(x, table), 1);
        return Values{x, argmax(x, 1), cast(gt(x, -1.5), DType::I32)};
      },
      {&image, 1});
}

/// Calls f; true where it ended, false where it ended in an error that names the source.
template <class F>
bool read(F&& f) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("damaged"), std::string_view::npos) << error.what();
    return false;
  }
}

TEST(HostilePrograms, AreReadWholeOrRefused) {
  const Graph graph = classifier();
  const Bytes sound = bytes_of(graph);
  EXPECT_EQ(text(graph_of(sound)), text(graph));
  EXPECT_EQ(bytes_of(graph_of(sound)), sound);
  for (std::size_t size = 0; size < sound.size(); ++size) {
    const Bytes cut(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read([&] { graph_of(cut); })) << size;
  }
}

/// What can be read is written as it was: no two programs have the same bytes, nor one several.
void expect_canonical(const Bytes& bytes, int& taken) {
  std::optional<Graph> graph;
  if (!read([&] { graph = graph_of(bytes); })) return;
  ++taken;
  Bytes again = bytes_of(*graph);
  std::copy(bytes.begin() + 5, bytes.begin() + 13, again.begin() + 5);  // the writer's table may have been another
  const auto apart = std::mismatch(again.begin(), again.end(), bytes.begin(), bytes.end());
  EXPECT_TRUE(again == bytes) << "from byte " << apart.first - again.begin() << " on:\n" << text(*graph);
}

TEST(HostilePrograms, WithOneBitTurnedAreReadOrRefused) {
  const Bytes sound = bytes_of(classifier());
  int taken = 0;
  for (std::size_t bit = 0; bit < 8 * sound.size(); ++bit) {
    Bytes damaged = sound;
    damaged[bit / 8] ^= std::byte{1} << bit % 8;
    expect_canonical(damaged, taken);
  }
  EXPECT_GT(taken, 64 + 100);  // the table's fingerprint, and numbers that may be others
  EXPECT_LT(taken, static_cast<int>(8 * sound.size() / 2));
}

TEST(HostilePrograms, PutTogetherOfOthersAreReadOrRefused) {
  const Bytes sound = bytes_of(classifier());
  Random random(2026);
  const auto place = [&](std::size_t size) {
    return static_cast<std::ptrdiff_t>(random.below(static_cast<std::int64_t>(size) + 1));
  };
  int taken = 0;
  for (int round = 0; round < 5000; ++round) {
    Bytes spliced = sound;
    for (std::int64_t count = 1 + random.below(3); count > 0; --count) {
      const auto from = place(sound.size() - 1), length = std::min(place(12), std::ssize(sound) - from);
      const auto at = place(spliced.size());
      const auto gone = random.below(2) ? std::min(length, std::ssize(spliced) - at) : 0;
      spliced.erase(spliced.begin() + at, spliced.begin() + at + gone);
      spliced.insert(spliced.begin() + at, sound.begin() + from, sound.begin() + from + length);
    }
    if (random.below(2))
      spliced[static_cast<std::size_t>(random.below(std::ssize(spliced)))] = std::byte(random.below(256));
    spliced.shrink_to_fit();  // so that the sanitizer sees the end where it is
    expect_canonical(spliced, taken);
  }
  EXPECT_LT(taken, 2500);
}

TEST(HostilePrograms, ClaimNoLongerListsThanTheirBytes) {
  Writer out;
  write_header(out);
  out.whole(1 << 20);  // inputs
  const Bytes bytes = out.take();
  EXPECT_EQ(sentence_of([&] { graph_of(bytes); }),
            "DataError: damaged: byte 16 of the program: 1048576 inputs should follow, in 0 bytes");
}

// Every operand, result and cause is a value that there is by then.
TEST(HostilePrograms, NameNoValuesThatThereAreNot) {
  const Graph graph = classifier();
  const auto refused = [&](auto&& damage) {
    GraphBody body = graph.body();
    damage(body);
    const Bytes bytes = bytes_of(Graph(make_ref<const GraphBody>(std::move(body))));
    return sentence_of([&] { graph_of(bytes); });
  };
  EXPECT_EQ(refused([](GraphBody&) {}), "");
  EXPECT_NE(refused([](GraphBody& b) { b.steps[0].in[0].id = b.steps[0].first; }).find("conv: there is no value 3"),
            std::string::npos);
  EXPECT_NE(refused([](GraphBody& b) { b.outputs[0].id = b.count; }).find("there is no value"), std::string::npos);
  EXPECT_NE(refused([](GraphBody& b) { b.steps[0].causes.push_back({.id = b.count}); }).find("there is no value"),
            std::string::npos);
  EXPECT_NE(refused([](GraphBody& b) { b.steps[0].results[0].shape[0] = 3; }).find("does not give the written results"),
            std::string::npos);
  EXPECT_NE(refused([](GraphBody& b) { b.steps[0].in[0].id = GraphOperand::kNothing; }).find("in damaged, operation 0"),
            std::string::npos);
}

}  // namespace
}  // namespace kiln::wire
