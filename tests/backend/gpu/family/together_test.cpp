// What an optimizer does to its parameters is a kernel or two, however many there are.
#include "kiln/ops/collective/collective.hpp"
#include "tests/backend/gpu/family/watched.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::test {
namespace {

/// A step with momentum on each parameter: two take p, 0 to 0.75 p, p and then to 0.4375 p, 1.25 p, all exact.
struct Momentum {
  Values parameters, velocities, before;

  Momentum(const WatchedDevice& on, const std::vector<Shape>& shapes, DType dtype = DType::F32) {
    for (const Shape& shape : shapes) {
      before.push_back(on.of(shape, dtype, static_cast<unsigned>(parameters.size())));
      parameters.push_back(before.back());
      velocities.push_back(from_data(whole_numbers(shape, dtype, 1), on.device));
    }
  }
  void step() {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocities[i] = velocities[i] * 0.5 + parameters[i];
      parameters[i] = parameters[i] - velocities[i] * 0.25;
    }
  }
  void expect_two_steps() const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      std::vector<double> wanted = before[i].data().to_vector<double>();
      for (double& each : wanted) each *= 0.4375;
      expect_numbers(parameters[i].data(), wanted, text("parameter ", i));
    }
  }
};

const std::vector<Shape> kShapes{{3, 5}, {5}, {}, {64, 64}, {2, 2, 2}, {7}, {1}, {3000}, {1023}, {0, 4}, {4, 256}};

TEST(SideBySide, GoTheParametersOfAnOptimizer) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F64}) {
    const WatchedDevice on;
    Momentum momentum(on, kShapes, dtype);
    for (int i = 0; i < 2; ++i) {
      momentum.step();
      EXPECT_EQ(on.launches(), Names{"together"}) << dtype;
    }
    momentum.expect_two_steps();
  }
}

TEST(SideBySide, AreComputedOnceWhereTheDeviceLacksTheTypeOfSome) {
  const gpu::Profile& profile = *std::ranges::find(gpu::profiles(), "simulated:vulkan8", &gpu::Profile::name);
  const Device device(make_ref<fusion::Fusion>(make_ref<gpu::Gpu>(gpu::make_simulated(profile))));
  constexpr DType kTypes[] = {DType::F32, DType::F64, DType::F32, DType::F64};
  Values parameters;
  for (const DType dtype : kTypes) parameters.push_back(from_data(whole_numbers({4, 6}, dtype, 9, 1), device));
  device.flush();
  for (int i = 0; i < 2; ++i) {
    for (Value& each : parameters) each = each - each * 0.25;
    device.flush();
  }
  for (const Value& each : parameters) {
    std::vector<double> wanted = whole_numbers({4, 6}, each.dtype(), 9, 1).to_vector<double>();
    for (double& number : wanted) number *= 0.5625;
    expect_numbers(each.data(), wanted, text("of ", each.dtype()));
  }
}

/// Has a compiler that does not take kernels of that name with buffers of a type.
class Refusing final : public ForwardingDriver {
 public:
  Refusing(std::string_view name, DType dtype) : name_(name), dtype_(dtype) {}
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override {
    if (kernel.name == name_ && std::ranges::count(kernel.parameters, dtype_, &gpu::Parameter::dtype)) {
      ++refused;
      throw gpu::Refused({gpu::Refusal::Reason::Limit, text("no ", name_)});
    }
    return ForwardingDriver::compile(kernel);
  }
  int refused = 0;

 private:
  const std::string name_;
  const DType dtype_;
};

TEST(SideBySide, AreComputedOnceWhereTheCompilerDoesNotTakeTheKernelOfSome) {
  const auto driver = make_ref<Refusing>("together", DType::F16);
  const Device device(make_ref<fusion::Fusion>(make_ref<gpu::Gpu>(driver)));
  constexpr DType kTypes[] = {DType::F32, DType::F16, DType::F32, DType::F16, DType::BF16, DType::BF16};
  Values parameters;
  for (const DType dtype : kTypes) parameters.push_back(from_data(whole_numbers({4, 6}, dtype, 9, 1), device));
  device.flush();
  for (int i = 0; i < 2; ++i) {
    for (Value& each : parameters) each = each - each * 0.25;
    device.flush();
  }
  for (const Value& each : parameters) {
    std::vector<double> wanted = whole_numbers({4, 6}, each.dtype(), 9, 1).to_vector<double>();
    for (double& number : wanted) number *= 0.5625;
    expect_numbers(each.data(), wanted, text("of ", each.dtype()));
  }
  EXPECT_EQ(driver->refused, 1) << "it is asked once";
}

TEST(SideBySide, GoThoseWhoseGradientsRanksHaveAddedUp) {
  const WatchedDevice on;
  const Shape shape{4, 4};
  const auto wanted_of = [](const Value& parameter, const std::vector<double>& gradient) {
    std::vector<double> wanted = parameter.data().to_vector<double>();
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] -= gradient[i] * 0.5;
    return wanted;
  };
  Values parameters, gradients;
  for (unsigned i = 0; i < 4; ++i) parameters.push_back(on.of(shape, DType::F32, i));
  (void)on.launches();
  // The last two are added up first.
  for (const unsigned i : {7u, 6u}) gradients.push_back(all_reduce(on.of({2, 4, 4}, DType::F32, i), alone()));
  Values after;
  for (std::int64_t i = 0; i < 4; ++i)
    after.push_back(parameters[std::size_t(i)] - reshape(narrow(gradients[i < 2 ? 1 : 0], 0, i % 2, 1), shape) * 0.5);
  const Value other = parameters[0] - parameters[1] * 0.5;  // waits for nobody
  EXPECT_EQ(on.launches(), (Names{"elementwise", "await", "together", "await", "together"}));
  expect_numbers(other.data(), wanted_of(parameters[0], parameters[1].data().to_vector<double>()), "other");
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<double> both = on.of({2, 4, 4}, DType::F32, i < 2 ? 6 : 7).data().to_vector<double>();
    const auto first = both.begin() + (i % 2 ? 16 : 0);
    expect_numbers(after[i].data(), wanted_of(parameters[i], {first, first + 16}), text(i));
  }
}

TEST(SideBySide, GoAsManyAsArgumentsHold) {
  const WatchedDevice on;
  std::vector<Shape> shapes;
  for (std::int64_t i = 0; i < 150; ++i) shapes.push_back({1 + i * 7 % 300});
  Momentum momentum(on, shapes);
  for (int i = 0; i < 2; ++i) {
    momentum.step();
    EXPECT_EQ(on.launches(), (Names{"together", "together"}));
  }
  momentum.expect_two_steps();
}

TEST(SideBySide, GoWhatHasOneScaleForAll) {
  const WatchedDevice on;
  const Value scale = reshape(on.of({1}), {}) + 3, half = scale * 0.5;
  Values before, after;
  for (const Shape& shape : kShapes) before.push_back(on.of(shape));
  (void)on.launches();
  for (const Value& each : before) after.push_back(each * half - 1);
  EXPECT_EQ(on.launches(), (Names{"elementwise", "together", "elementwise"}));  // tensors of one element by themselves
  const double by = half.data().to_vector<double>()[0];
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<double> wanted = before[i].data().to_vector<double>();
    for (double& each : wanted) each = each * by - 1;
    expect_numbers(after[i].data(), wanted, text(i));
  }
}

TEST(SideBySide, GoThoseInOneOrderAlone) {
  const WatchedDevice on;
  const Value turned = permute(on.of({6, 40}), {1, 0}), straight = on.of({40, 6}, DType::F32, 2), flat = on.of({33}),
              row = on.of({6}, DType::F32, 3), columns = permute(on.of({9, 5}), {1, 0});
  (void)on.launches();
  // Rows that are turned in both operands stay so.
  const Value a = turned * 2 + straight, b = straight * 2 + row, c = flat * 2 + flat, d = columns * 2 + columns,
              e = straight * 2 + straight;
  EXPECT_EQ(on.launches(), (Names{"elementwise", "elementwise", "together"}));
  const auto expect = [&](const Value& found, const Value& x, const Value& y) {
    const std::vector<double> p = expand(x, found.shape()).data().to_vector<double>(),
                              q = expand(y, found.shape()).data().to_vector<double>();
    std::vector<double> wanted(p.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = p[i] * 2 + q[i];
    expect_numbers(found.data(), wanted, text(found.shape()));
  };
  expect(a, turned, straight);
  expect(b, straight, row);
  expect(c, flat, flat);
  expect(d, columns, columns);
  expect(e, straight, straight);
}

TEST(SideBySide, GoViewsThatLieAnywhere) {
  const WatchedDevice on;
  const Value all = on.of({64});
  (void)on.launches();
  Values parts, after;
  for (std::int64_t i = 1; i < 8; ++i) parts.push_back(narrow(all, 0, i, i * 7));
  for (const Value& part : parts) after.push_back(part * 3 + part * part);
  EXPECT_EQ(on.launches(), (Names{"together", "elementwise"}));  // one begins where 16 bytes do
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<double> wanted = parts[i].data().to_vector<double>();
    for (double& each : wanted) each = each * 3 + each * each;
    expect_numbers(after[i].data(), wanted, text(i));
  }
}

TEST(SideBySide, LooksAsStored) {
  if (!expr::kOrderIsThatOfStoredTexts) GTEST_SKIP() << expr::kOtherOrder;
  const WatchedDevice on;
  Momentum momentum(on, {{5}, {300}, {64}});
  momentum.step();
  (void)on.launches();
  expr::expect_stored("cuda_together.txt", on.driver->texts.at("together"));
}

}  // namespace
}  // namespace kiln::test
