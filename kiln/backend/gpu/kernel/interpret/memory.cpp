// Steps that read and write buffers and variables.
#include "kiln/backend/gpu/kernel/interpret/memory.hpp"

#include "kiln/backend/gpu/kernel/arithmetic.hpp"

namespace kiln::gpu::interpreted {

const std::int64_t* Block::find_places(const Step& step) {
  visit_type(step.operand_type, [&](auto like) {
    const auto* const from = cells<decltype(like)>(step.operands[0]);
    std::int64_t* const to = places.data();
    for_all(threads, [&](int t) { to[t] = static_cast<std::int64_t>(from[t]); });
  });
  return places.data();
}

namespace {

/// The index that each thread accesses.
struct Places {
  const std::int64_t* at;
  bool in_line;  // all threads are active, and consecutive indices differ by the requested step
  std::int64_t operator[](int t) const { return at[t]; }
};

Places find_places(Block& block, const Step& step, std::int64_t apart) {
  const std::int64_t* const at = block.find_places(step);
  return {at, block.full() && are_in_line(at, block.threads, apart)};
}

/// Is any active thread's index outside of `first` to `last`? Branch-free, because that is rare.
bool any_outside(const Block& block, Places places, std::int64_t first, std::int64_t last) {
  const int end = block.threads - 1;
  if (places.in_line) return places[0] < first || places[end] < first || places[0] > last || places[end] > last;
  const std::uint8_t* const there = block.mask->on.data();
  std::uint64_t outside = 0;  // its sign bit
  for (int t = 0; t <= end; ++t) {
    const auto place = static_cast<std::uint64_t>(places[t]);
    outside |= ((place - static_cast<std::uint64_t>(first)) | (static_cast<std::uint64_t>(last) - place)) &
               (std::uint64_t{0} - there[t]);
  }
  return outside >> 63;
}

/// The threads' indices into a buffer, checked to be inside of it.
Places find_inside(Block& block, const Step& step, DType dtype) {
  const Places places = find_places(block, step, 1);
  const View& view = block.view(step.place);
  const std::int64_t last = view.last - step.width;
  const std::size_t size = size_of(dtype);
  if (any_outside(block, places, view.first, last)) [[unlikely]]
    block.each([&](int t) {
      if (places[t] < view.first || places[t] > last)
        block.wrong("thread ", t, " touches element ", places[t], " of parameter ", step.place, ", a buffer of ", dtype,
                    " where elements ", view.first, " to before ", view.last, " are");
    });
  if (step.width > 1)
    block.each([&](int t) {
      const std::uint64_t address =
          reinterpret_cast<std::uint64_t>(view.data) + static_cast<std::uint64_t>(places[t]) * size;
      if (address % (step.width * size) != 0) [[unlikely]]
        block.wrong("thread ", t, " takes ", step.width, " elements of parameter ", step.place, " at once, from ",
                    places[t], " on, which do not lie at a multiple of their size");
    });
  return places;
}

template <class S>
void load(Block& block, const Step& step) {
  const Places places = find_inside(block, step, dtype_of<S>);
  const std::byte* const data = block.view(step.place).data;
  const bool in_line = step.width == 1 && places.in_line;
  for (int i = 0; i < step.width; ++i) {
    Computed<S>* const result = block.cells<Computed<S>>(step.result) + i * block.threads;
    if (in_line) for_all(block.threads, [&](int t) { result[t] = element<S>(data, places[0] + t); });
    else block.each([&](int t) { result[t] = element<S>(data, places[t] + i); });
  }
}

template <class S>
void store(Block& block, const Step& step) {
  const Places places = find_inside(block, step, dtype_of<S>);
  std::byte* const data = block.view(step.place).data;
  const bool in_line = step.width == 1 && places.in_line;
  for (int i = 0; i < step.width; ++i) {
    const Computed<S>* const values = block.cells<Computed<S>>(step.operands[static_cast<std::size_t>(i) + 1]);
    if (in_line) for_all(block.threads, [&](int t) { set_element<S>(block, t, data, places[0] + t, values[t]); });
    else block.each([&](int t) { set_element<S>(block, t, data, places[t] + i, values[t]); });
  }
}

template <class S, Update update>
void update_buffer(Block& block, const Step& step) {
  const Places places = find_inside(block, step, dtype_of<S>);
  std::byte* const data = block.view(step.place).data;
  const S* const values = block.cells<S>(step.operands[1]);
  const S* const expected = block.cells<S>(step.operands.back());
  S* const result = block.cells<S>(step.result);
  block.each([&](int t) {
    result[t] = element<S>(data, places[t]);
    set_element<S>(block, t, data, places[t], updated<S>(update, result[t], values[t], expected[t]));
  });
}

/// The index of each thread's element of a variable.
Places find_variable(Block& block, const Step& step) {
  const Places places = find_places(block, step, 0);
  const std::int64_t count = block.program.kernel.locals[step.place].count;
  if (any_outside(block, places, 0, count - 1)) [[unlikely]]
    block.each([&](int t) {
      if (places[t] < 0 || places[t] >= count)
        block.wrong("thread ", t, " touches element ", places[t], " of local array ", step.place, ", which has ",
                    count);
    });
  return places;
}

template <class T>
void read_local(Block& block, const Step& step) {
  const Places places = find_variable(block, step);
  const LocalArray& local = block.locals[step.place];
  const T* const data = reinterpret_cast<const T*>(local.data.data());
  T* const result = block.cells<T>(step.result);
  const auto read = [&](int t) {
    const auto at = static_cast<std::size_t>(places[t] * block.threads + t);
    if (!local.set[at]) [[unlikely]]
      block.wrong("thread ", t, " reads element ", places[t], " of local array ", step.place, ", which it never set");
    result[t] = data[at];
  };
  if (!places.in_line) return block.each(read);
  const std::int64_t row = places[0] * block.threads;
  const auto set = local.set.begin() + row;
  if (std::memchr(&*set, 0, static_cast<std::size_t>(block.threads))) [[unlikely]]
    block.each(read);
  std::copy_n(data + row, block.threads, result);
}

template <class T>
void write_local(Block& block, const Step& step) {
  const Places places = find_variable(block, step);
  LocalArray& local = block.locals[step.place];
  T* const data = reinterpret_cast<T*>(local.data.data());
  const T* const values = block.cells<T>(step.operands[1]);
  if (places.in_line) {
    const std::int64_t row = places[0] * block.threads;
    std::copy_n(values, block.threads, data + row);
    std::fill_n(local.set.begin() + row, block.threads, std::uint8_t{1});
    return;
  }
  block.each([&](int t) {
    const auto at = static_cast<std::size_t>(places[t] * block.threads + t);
    local.set[at] = 1;
    data[at] = values[t];
  });
}

/// The argument that holds number `which` of a table, for thread t.
std::size_t entry(const Block& block, std::uint16_t table, int t, std::int64_t which) {
  const std::size_t count = block.program.kernel.parameters[table].count;
  if (which < 0 || static_cast<std::size_t>(which) >= count) [[unlikely]]
    block.wrong("thread ", t, " chooses number ", which, " of a table of ", count);
  return block.program.words[table] + static_cast<std::size_t>(which);
}

void read_entry(Block& block, const Step& step) {
  const std::int64_t* const which = block.find_places(step);
  std::int64_t* const result = block.cells<std::int64_t>(step.result);
  block.each(
      [&](int t) { result[t] = static_cast<std::int64_t>(block.arguments[entry(block, step.place, t, which[t])]); });
}

void choose(Block& block, const Step& step) {
  const std::int64_t* const which = block.find_places(step);
  const std::uint16_t chosen = step.place - Kernel::kChosen;
  if (!block.full() || !are_in_line(which, block.threads, std::int64_t{0}))
    block.wrong("threads do not all choose the same buffer");
  block.chosen[chosen] = block.views[entry(block, block.program.kernel.chosen[chosen], 0, which[0])];
}

}  // namespace

Run run_entry() { return &read_entry; }
Run run_choose() { return &choose; }
Run run_load(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run { return &load<typename decltype(tag)::type>; });
}
Run run_store(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run { return &store<typename decltype(tag)::type>; });
}
Run run_update(DType dtype, Update update) {
  return visit_update(dtype, update, [](auto like, auto what) -> Run { return &update_buffer<decltype(like), what>; });
}
Run run_local(DType type) {
  return visit_type(type, [](auto like) -> Run { return &read_local<decltype(like)>; });
}
Run run_store_local(DType type) {
  return visit_type(type, [](auto like) -> Run { return &write_local<decltype(like)>; });
}

}  // namespace kiln::gpu::interpreted
