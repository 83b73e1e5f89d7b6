// A device that sends every call over the wire to itself, and runs the call that arrives.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kiln/wire/call.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

/// Composite ops are sent whole.
class Courier final : public Forwarding {
 public:
  explicit Courier(const Device& inner) : Forwarding(inner.handle()) {}

  std::string name() const override { return "courier"; }
  void run(const op::Op& op, Call call) override {
    std::vector<Desc> known, results;
    std::vector<wire::CallOperand> operands;
    for (const Value& value : call.in) {
      if (value.empty()) {
        operands.push_back({});
      } else if (value.is_scalar()) {
        operands.push_back({wire::CallOperand::kNumber, value.scalar()});
      } else {
        operands.push_back({static_cast<std::int64_t>(known.size()), {}});
        known.push_back(value.node()->desc);
      }
    }
    for (const Value& value : call.out) results.push_back(value.node()->desc);

    wire::write_call(writer_, op, operands, results);
    const std::vector<std::byte> message = writer_.take();
    reader_.open(message);
    const wire::CallOf arrived = wire::read_call(reader_, [&](std::int64_t id) {
      return id < std::ssize(known) ? &known[static_cast<std::size_t>(id)] : nullptr;
    });
    reader_.finish();

    // Planned ops are equal only if they share a program, and custom ops only if they are the same object.
    const bool compared =
        op::visit(op, []<class T>(const T&) { return !op::Planned<T> && !std::is_same_v<T, op::Custom>; });
    EXPECT_TRUE(!compared || arrived.op == op) << text(op, " arrived as ", arrived.op);
    EXPECT_EQ(bytes_of(arrived.op, arrived.in, arrived.out), bytes_of(op, operands, results)) << op::display_name(op);
    sent.insert(std::string(op::name(op)));
    ++calls;
    bytes += message.size();
    inner_->run(arrived.op, call);
  }
  bool has_kernel(const op::Op&) const override { return true; }

  std::set<std::string> sent;  // by op::name
  std::size_t calls = 0, bytes = 0;

 private:
  static std::vector<std::byte> bytes_of(const op::Op& op, std::span<const wire::CallOperand> in,
                                         std::span<const Desc> results) {
    wire::Writer out;
    wire::write_call(out, op, in, results);
    return out.take();
  }

  wire::Writer writer_;
  wire::Reader reader_{"courier", {.planned = true}};
};

}  // namespace kiln::test
