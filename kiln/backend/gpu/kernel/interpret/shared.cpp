// Steps on what threads share: shared memory, with detection of races, and the lanes of a warp.
#include "kiln/backend/gpu/kernel/interpret/memory.hpp"
#include "kiln/backend/gpu/kernel/interpret/touch.hpp"
#include "kiln/backend/gpu/kernel/interpret/turns.hpp"

namespace kiln::gpu::interpreted {
namespace {

/// The threads' indices into a shared array, checked to be inside of it and recorded.
template <Access access>
const std::int64_t* find_shared(Block& block, const Step& step) {
  const std::int64_t* const places = block.find_places(step);
  std::vector<Touch>& touches = block.shared[step.place].touches;
  const auto count = static_cast<std::int64_t>(touches.size());
  const std::int64_t width = access == Access::Read ? step.width : 1;
  block.each([&](int t) {
    demand_shared(block, step, t, places[t], width, count);
    for (std::int64_t i = 0; i < width; ++i)
      touch<access>(block, step, t, places[t] + i, touches[static_cast<std::size_t>(places[t] + i)]);
  });
  return places;
}

template <class S>
void read_shared(Block& block, const Step& step) {
  const std::int64_t* const places = find_shared<Access::Read>(block, step);
  const std::byte* const data = block.shared[step.place].data.data();
  for (int i = 0; i < step.width; ++i) {
    Computed<S>* const result = block.cells<Computed<S>>(step.result) + i * block.threads;
    block.each([&](int t) { result[t] = element<S>(data, places[t] + i); });
  }
}

template <class S>
void write_shared(Block& block, const Step& step) {
  const std::int64_t* const places = block.find_places(step);
  SharedArray& array = block.shared[step.place];
  const auto count = static_cast<std::int64_t>(array.touches.size());
  const std::int64_t width = step.width;
  block.each([&](int t) {
    demand_shared(block, step, t, places[t], width, count);
    for (std::int64_t i = 0; i < width; ++i)
      touch<Access::Write>(block, step, t, places[t] + i, array.touches[static_cast<std::size_t>(places[t] + i)]);
  });
  for (std::int64_t i = 0; i < width; ++i) {
    const Computed<S>* const values = block.cells<Computed<S>>(step.operands[static_cast<std::size_t>(i + 1)]);
    block.each([&](int t) { set_element<S>(block, t, array.data.data(), places[t] + i, values[t]); });
  }
}

template <class S, Update update>
void update_shared(Block& block, const Step& step) {
  const std::int64_t* const places = find_shared<Access::Update>(block, step);
  std::byte* const data = block.shared[step.place].data.data();
  const S* const values = block.cells<S>(step.operands[1]);
  const S* const expected = block.cells<S>(step.operands.back());  // of a comparing exchange
  S* const result = block.cells<S>(step.result);
  block.each([&](int t) {
    result[t] = element<S>(data, places[t]);
    set_element<S>(block, t, data, places[t], updated<S>(update, result[t], values[t], expected[t]));
  });
}

void read_pair(Block& block, const Step& step) {
  const std::int64_t* const places = block.find_places(step);
  SharedArray& array = block.shared[step.place];
  const auto count = static_cast<std::int64_t>(array.touches.size());
  auto* const result = block.cells<std::uint32_t>(step.result);
  block.each([&](int t) {
    if (places[t] < 0 || places[t] + 1 >= count || places[t] % 2 != 0) [[unlikely]]
      block.wrong("thread ", t, " touches the pair at ", places[t], " of shared array ", step.place, ", which has ",
                  count);
    for (const std::int64_t place : {places[t], places[t] + 1})
      touch<Access::Read>(block, step, t, place, array.touches[static_cast<std::size_t>(place)]);
    result[t] = element<std::uint32_t>(array.data.data(), places[t] / 2);
  });
}

template <class Half>
void multiply_fragments(Block& block, const Step& step) {
  const auto half = [&](std::size_t operand, int thread, bool second) {
    const std::uint32_t word = block.cells<std::uint32_t>(step.operands[operand])[thread];
    Half value;
    value.bits = static_cast<std::uint16_t>(second ? word >> 16 : word);
    return static_cast<float>(value);
  };
  // Results are consecutive values: the cells of each follow those of the one before.
  const auto made = [&](std::size_t i) {
    return block.cells<float>(step.result + static_cast<std::uint32_t>(i * sizeof(float)) *
                                                static_cast<std::uint32_t>(block.threads));
  };
  each_warp(block, "a product of fragments", [&](int first) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < kLanes; ++lane) {
      const int g = lane / 4, t = lane % 4 * 2, thread = first + lane;
      for (const int second : {0, 1}) {
        for (const int low : {0, 1})
          for (const int right : {0, 1})
            a[g + 8 * low][t + 8 * right + second] =
                half(static_cast<std::size_t>(low + 2 * right), thread, second != 0);
        for (const int low : {0, 1})
          b[t + 8 * low + second][g] = half(static_cast<std::size_t>(4 + low), thread, second != 0);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const int thread = first + lane;
      for (std::size_t i = 0; i < 4; ++i) {
        const int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + static_cast<int>(i % 2);
        float sum = block.cells<float>(step.operands[6 + i])[thread];
        for (int depth = 0; depth < 16; ++depth) sum += a[row][depth] * b[depth][column];
        made(i)[thread] = sum;
      }
    }
  });
}

template <class T>
void shuffle(Block& block, const Step& step) {
  const T* const x = block.cells<T>(step.operands[0]);
  const std::int32_t* const lanes = block.cells<std::int32_t>(step.operands[1]);
  T* const result = block.cells<T>(step.result);
  each_warp(block, "a shuffle", [&](int first) {
    for (int t = first; t < first + kLanes; ++t) {
      if (lanes[t] < 0 || lanes[t] >= kLanes) [[unlikely]]
        block.wrong("thread ", t, " asks for lane ", lanes[t], " in a shuffle among ", kLanes);
      result[t] = x[first + lanes[t]];
    }
  });
}

void barrier(Block& block, const Step&) {
  if (!block.full()) [[unlikely]]
    block.wrong("only ", block.mask->count, " of ", block.threads, " threads get to a barrier");
  ++block.now;
}

template <class S>
void read_same(Block& block, const Step& step) {
  barrier(block, step);
  if (!are_in_line(block.find_places(step), block.threads, std::int64_t{0})) [[unlikely]]
    block.wrong("its threads take different elements of shared array ", step.place, " for one that is the same");
  read_shared<S>(block, step);
  barrier(block, step);
}

/// The cell at which the block synchronizes with others.
std::int32_t& meeting_cell(Block& block, const Step& step) {
  const std::int64_t* const places = block.find_places(step);
  const View& view = block.view(step.place);
  if (!are_in_line(places, block.threads, std::int64_t{0}))
    block.wrong("its threads meet other blocks at different cells");
  if (places[0] < view.first || places[0] >= view.last)
    block.wrong("meets others at cell ", places[0], " of parameter ", step.place, ", where cells ", view.first,
                " to before ", view.last, " are");
  return reinterpret_cast<std::int32_t*>(view.data)[places[0]];
}

void arrive(Block& block, const Step& step) {
  barrier(block, step);
  ++meeting_cell(block, step);
}

void await(Block& block, const Step& step) {
  barrier(block, step);
  const std::int32_t& cell = meeting_cell(block, step);
  const std::int32_t* const counts = block.cells<std::int32_t>(step.operands[1]);
  if (!are_in_line(counts, block.threads, std::int32_t{0}))
    block.wrong("its threads wait for different numbers of blocks");
  if (!block.turns->wait(block.index, [&] { return cell >= counts[0]; }))
    block.wrong("waits for ", counts[0], " blocks, of which only ", cell, " come");
}

}  // namespace

Run run_arrive() { return &arrive; }
Run run_await() { return &await; }
Run run_shared(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run { return &read_shared<typename decltype(tag)::type>; });
}
Run run_store_shared(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run { return &write_shared<typename decltype(tag)::type>; });
}
Run run_update_shared(DType dtype, Update update) {
  return visit_update(dtype, update, [](auto like, auto what) -> Run { return &update_shared<decltype(like), what>; });
}
Run run_shuffle(DType type) {
  return visit_type(type, [](auto like) -> Run { return &shuffle<decltype(like)>; });
}
Run run_shared_pair() { return &read_pair; }
Run run_fragments(DType dtype) { return dtype == DType::F16 ? &multiply_fragments<F16> : &multiply_fragments<BF16>; }
Run run_shared_same(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run { return &read_same<typename decltype(tag)::type>; });
}
Run run_barrier() { return &barrier; }

}  // namespace kiln::gpu::interpreted
