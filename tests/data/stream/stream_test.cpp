// Streams give what loops over lists give, and go on where they were.
#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/data/stream/interleave.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"

#include "tests/data/damaged.hpp"
#include "tests/data/idx_files.hpp"
#include "tests/data/raised.hpp"
#include "tests/data/temporary_directory.hpp"

namespace kiln {
namespace {

using test::raised;
using Items = std::vector<int>;

Stream<int> streamed(int count, int first = 0) {
  Items items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), first);
  return stream_of(in_memory(std::move(items)));
}

template <class T>
std::vector<T> rest_of(Cursor<T>& cursor, std::size_t most = 1000) {
  std::vector<T> items;
  while (items.size() < most)
    if (auto item = cursor.next()) items.push_back(std::move(*item).get());
    else break;
  return items;
}
template <class T>
std::vector<T> listed(const Stream<T>& stream, Key key = {1}, std::size_t most = 1000) {
  return rest_of(*stream.open(key), most);
}

template <class T>
std::vector<std::byte> saved(const Cursor<T>& cursor) {
  wire::Writer writer;
  cursor.save(writer);
  return writer.take();
}
template <class T>
void restore(Cursor<T>& cursor, std::span<const std::byte> state) {
  wire::Reader reader("state", state);
  cursor.restore(reader);
  reader.finish();
}

TEST(Stream, GivesWhatLoopsGive) {
  EXPECT_EQ(listed(streamed(4)), (Items{0, 1, 2, 3}));
  EXPECT_EQ(listed(mapped(streamed(3), [](int x) { return std::to_string(x * x); })),
            (std::vector<std::string>{"0", "1", "4"}));
  EXPECT_EQ(listed(filtered(streamed(9), [](int x) { return x % 3 == 1; })), (Items{1, 4, 7}));
  EXPECT_EQ(listed(batched(streamed(5), 2)), (std::vector<Items>{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(listed(batched(streamed(5), 2, true)), (std::vector<Items>{{0, 1}, {2, 3}}));
  EXPECT_EQ(listed(taken(streamed(5), 2)), (Items{0, 1}));
  EXPECT_EQ(listed(taken(streamed(2), 5)), (Items{0, 1}));
  EXPECT_EQ(listed(sharded(streamed(8), 1, 3)), (Items{1, 4}));  // 6 and 7 go to none, as there is no third
  EXPECT_EQ(listed(repeated(streamed(2)), {1}, 5), (Items{0, 1, 0, 1, 0}));
  EXPECT_TRUE(listed(repeated(streamed(0))).empty());
  EXPECT_TRUE(repeated(streamed(1)).endless() && !streamed(1).endless() && !taken(repeated(streamed(1)), 3).endless());
  EXPECT_TRUE(mapped(repeated(streamed(1)), [](int x) { return x; }).endless());
  const auto powers =
      unfolded([](Key) { return 1; },
               [](int& x) { return x > 20 ? std::optional<int>() : std::optional(std::exchange(x, 3 * x)); });
  EXPECT_EQ(listed(powers), (Items{1, 3, 9}));
}

TEST(Stream, ShufflesWithinItsBuffer) {
  const auto stream = shuffled(streamed(200), 20);
  const Items items = listed(stream), other = listed(stream, {2});
  EXPECT_EQ(std::set<int>(items.begin(), items.end()).size(), 200u);
  EXPECT_EQ(listed(stream), items);
  EXPECT_NE(other, items);
  double distance = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_LT(items[static_cast<std::size_t>(i)], i + 20);  // it had to be in the buffer
    distance += std::abs(items[static_cast<std::size_t>(i)] - i) / 200.0;
  }
  EXPECT_GT(distance, 8);
  EXPECT_LT(distance, 30);
  EXPECT_EQ(listed(shuffled(streamed(5), 1)), (Items{0, 1, 2, 3, 4}));
  // Each of three items comes first as often as the others.
  std::array<int, 3> first{};
  for (std::uint64_t key = 0; key < 3000; ++key)
    ++first[static_cast<std::size_t>(listed(shuffled(streamed(3), 3), {key})[0])];
  for (const int count : first) EXPECT_NEAR(count, 1000, 130);  // five standard deviations
}

TEST(Stream, InterleavesSeveral) {
  const std::vector<Stream<int>> three = {streamed(3, 10), streamed(1, 20), streamed(4, 30)};
  EXPECT_EQ(listed(interleaved(three, {.at_once = 3})), (Items{10, 20, 30, 11, 31, 12, 32, 33}));
  EXPECT_EQ(listed(interleaved(three, {.at_once = 2})), (Items{10, 20, 11, 30, 12, 31, 32, 33}));
  EXPECT_EQ(listed(interleaved(three, {.at_once = 1})), (Items{10, 11, 12, 20, 30, 31, 32, 33}));
  EXPECT_EQ(listed(interleaved(three, {.at_once = 3, .block = 2})), (Items{10, 11, 20, 30, 31, 12, 32, 33}));
  std::set<int> first;
  for (std::uint64_t key = 0; key < 40; ++key)
    first.insert(listed(interleaved(three, {.at_once = 1, .shuffle = true}), {key})[0]);
  EXPECT_EQ(first, (std::set<int>{10, 20, 30}));
  EXPECT_TRUE(listed(interleaved(std::vector<Stream<int>>{})).empty());
}

/// All that has a state, one through the other.
Stream<Items> all_of_it(const std::string& path) {
  const auto lengths =
      mapped(stream_of_lines(path), [](const std::string& line) { return static_cast<int>(line.size()); });
  const auto count = unfolded([](Key key) { return static_cast<int>(key.bits % 100); },
                              [](int& x) { return x > 150 ? std::optional<int>() : std::optional(x++); });
  const auto mixed =
      interleaved<int>({streamed(30), lengths, count, streamed(17, 1000)}, {.at_once = 2, .block = 3, .shuffle = true});
  const auto odd = filtered(shuffled(repeated(mixed), 11), [](int x) { return x % 2 == 1; });
  return batched(sharded(taken(odd, 120), 1, 2), 3);
}

TEST(Stream, GoesOnFromEveryPlace) {
  const test::TemporaryDirectory directory;
  std::string lines;
  for (std::size_t i = 0; i < 40; ++i) lines += std::string(2000 + i, 'x') + "\n";
  const auto stream = all_of_it(directory.write("lines.txt", lines));
  const auto whole = listed(stream);
  ASSERT_EQ(whole.size(), 20u);
  for (std::size_t place = 0; place <= whole.size(); ++place) {
    const auto cursor = stream.open({1});
    EXPECT_EQ(rest_of(*cursor, place).size(), place);
    const auto later = stream.open({1});
    rest_of(*later, place % 3);  // whatever it did before
    restore(*later, saved(*cursor));
    EXPECT_EQ(rest_of(*later), std::vector<Items>(whole.begin() + static_cast<std::ptrdiff_t>(place), whole.end()));
  }
}

TEST(Stream, RefusesPlacesOfOtherStreams) {
  const auto state_of = [](const auto& stream) { return saved(*stream.open({1})); };
  const auto refused = [](const Stream<int>& stream, const std::vector<std::byte>& state) {
    return raised<DataError>([&] { restore(*stream.open({1}), state); });
  };
  EXPECT_EQ(refused(streamed(3), state_of(shuffled(streamed(3), 2))),
            "state: was saved from another stream: from 'shuffled', not from 'data set'");
  const auto end = streamed(7).open({1});
  rest_of(*end);
  EXPECT_EQ(refused(streamed(3), saved(*end)),
            "state: was saved from another stream: the item of a data set is 7, not 0 to 3");
  const auto full = shuffled(streamed(9), 8).open({1});
  rest_of(*full, 1);
  EXPECT_EQ(refused(shuffled(streamed(9), 4), saved(*full)),
            "state: was saved from another stream: it holds 7 items to be shuffled, more than 4");
  EXPECT_EQ(refused(interleaved<int>({streamed(1)}), state_of(interleaved<int>({streamed(1), streamed(1)}))),
            "state: was saved from another stream: the number of streams that were opened is 2, not 0 to 1");
}

TEST(Stream, ReadsOrRefusesDamagedPlaces) {
  const test::TemporaryDirectory directory;
  const auto stream = all_of_it(directory.write("lines.txt", "a\nbbb\ncc\n"));
  const auto cursor = stream.open({1});
  rest_of(*cursor, 5);
  const auto sound = saved(*cursor);
  int read = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Random random(seed);
    try {
      const auto damaged = stream.open({1});
      restore(*damaged, test::damaged(sound, random));
      rest_of(*damaged);
      ++read;
    } catch (const DataError&) { ++refused; }
  }
  EXPECT_GT(read, 300);
  EXPECT_GT(refused, 3000);
}

TEST(Stream, SaysWhatIsNoStream) {
  EXPECT_EQ(raised<ArgumentError>([] { shuffled(streamed(1), 0); }),
            "shuffled: a buffer of 0 items; it must hold at least 1");
  EXPECT_EQ(raised<ArgumentError>([] { batched(streamed(1), -1); }),
            "batched: a batch of -1 items; it must have at least 1");
  EXPECT_EQ(raised<ArgumentError>([] { taken(streamed(1), -1); }), "taken: -1 items cannot be taken");
  EXPECT_EQ(raised<ArgumentError>([] { sharded(streamed(1), 2, 2); }), "sharded: rank 2 of 2 does not exist");
  EXPECT_EQ(raised<ArgumentError>([] { interleaved<int>({}, {.at_once = 0}); }),
            "interleaved: at_once 0 and block 1 must be at least 1");
}

TEST(Lines, AreReadFromTextsAndGzip) {
  const test::TemporaryDirectory directory;
  using Lines = std::vector<std::string>;
  const Lines expected = {"one", "", "two\rthree", "end"};
  const std::string text = "one\r\n\ntwo\rthree\nend";
  EXPECT_EQ(listed(stream_of_lines(directory.write("plain.txt", text))), expected);
  EXPECT_EQ(listed(stream_of_lines(directory.write("ended.txt", text + "\n"))), expected);
  EXPECT_TRUE(listed(stream_of_lines(directory.write("empty.txt", ""))).empty());
  const auto bytes = std::as_bytes(std::span(text));
  const test::Bytes zipped = test::gzipped(test::Bytes(bytes.begin(), bytes.end()));
  const std::string_view letters(reinterpret_cast<const char*>(zipped.data()), zipped.size());
  EXPECT_EQ(listed(stream_of_lines(directory.write("lines.gz", letters))), expected);
  const std::string cut = directory.write("cut.gz", letters.substr(0, letters.size() - 6));
  EXPECT_EQ(raised<DataError>([&] { listed(stream_of_lines(cut)); }).substr(0, cut.size() + 25),
            cut + ": is damaged or cut off: ");
}

TEST(Lines, SayWhatIsWrongWithTheirFile) {
  const test::TemporaryDirectory directory;
  const std::string none = directory.file("none.txt"), folder = directory.path().string();
  EXPECT_EQ(raised<IoError>([&] { listed(stream_of_lines(none)); }),
            none + ": cannot be opened: No such file or directory");
  EXPECT_EQ(raised<IoError>([&] { listed(stream_of_lines(folder)); }), folder + ": is a folder");
  const std::string lines = directory.write("lines.txt", "one\n" + std::string(100'000, 'x') + "\n");
  EXPECT_EQ(raised<DataError>([&] { listed(stream_of_lines(lines, 50'000)); }),
            lines + ": the line at byte 4 has more than 50000 bytes");
  const auto cursor = stream_of_lines(lines).open({1});
  rest_of(*cursor);
  const auto state = saved(*cursor);
  directory.write("lines.txt", "one\n");
  EXPECT_EQ(raised<DataError>([&] { restore(*stream_of_lines(lines).open({1}), state); }),
            lines + ": ends at byte 4, before the place 100005 that was saved");
}

}  // namespace
}  // namespace kiln
