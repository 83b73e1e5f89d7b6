// Transfers of numbers between the program and a device, and changes of layout that go along with arithmetic.
#include "bench/suite/workload.hpp"

namespace bench {
namespace {

constexpr std::int64_t kCount = 1 << 24;  // 64 MiB of float32

Work moves(double read, double written) { return {.read = read, .written = written}; }

TensorData ramp(std::int64_t count) {
  TensorData data({count}, DType::F32);
  float next = 0;
  for (float& each : data.as<float>()) each = next++;
  return data;
}

/// Asks for the elements of `values`, one after the other.
Workload read(std::string name, const Work& work, std::function<Values()> values) {
  return {.name = std::move(name), .work = work, .make = [values = std::move(values)] {
            const Values all = values();
            device().sync();
            return timed([all] {
              for (const Value& each : all) static_cast<void>(each.data());
            });
          }};
}

Workload laid_out(std::string name, const Work& work, std::function<Values()> operands,
                  std::function<Value(const Values&)> f) {
  return {.name = std::move(name), .work = work, .make = [operands = std::move(operands), f = std::move(f)] {
            const Values in = operands();
            device().sync();
            return timed(device(), [=] { return Values{f(in)}; });
          }};
}

/// The elements in row-major order, in memory of their own.
Value contiguous(const Value& x) { return reshape(x, {x.numel()}); }

}  // namespace

std::vector<Workload> transfer_workloads() {
  constexpr double kBytes = 4.0 * kCount;
  std::vector<Workload> all = {
      {.name = "from_data_64mib",
       .work = moves(kBytes, kBytes),
       .make =
           [] {
             const TensorData data = ramp(kCount);
             return timed(device(), [data] { return Values{from_data(data, device())}; });
           }},
      read("data_64mib", moves(kBytes, kBytes), [] { return Values{normals({kCount})}; }),
      read("data_1000_scalars", {},
           [] {
             Values scalars;
             for (int i = 0; i < 1000; ++i) scalars.push_back(normals({}));
             return scalars;
           }),
  };
  if (on_gpu()) {  // from the processor to itself nothing moves
    all.push_back({.name = "to_device_64mib", .work = moves(kBytes, kBytes), .make = [] {
                     const Value x = normals({kCount}, DType::F32, Device::cpu());
                     Device::cpu().sync();
                     return timed(device(), [x] { return Values{to_device(x, device())}; });
                   }});
    all.push_back({.name = "to_host_64mib", .work = moves(kBytes, kBytes), .make = [] {
                     const Value x = normals({kCount});
                     device().sync();
                     return timed(Device::cpu(), [x] { return Values{to_device(x, Device::cpu())}; });
                   }});
  }
  return all;
}

std::vector<Workload> layout_workloads() {
  constexpr double kPixels = 32.0 * 224 * 224 * 3, kChannels = 4.0 * 32 * 16 * 56 * 56, kMatrix = 4.0 * 2048 * 2048;
  return {
      laid_out(
          "layout_pictures_to_float", moves(kPixels, 4 * kPixels),
          [] { return Values{cast(uniform(Shape{32, 224, 224, 3}, 0, 255, device()), DType::U8)}; },
          [](const Values& in) { return contiguous(permute(cast(in[0], DType::F32) * (1 / 255.0), {0, 3, 1, 2})); }),
      laid_out(
          "layout_relu_channels_last", moves(kChannels, kChannels),
          [] { return Values{normals({32, 16, 56, 56}), normals({16, 1, 1})}; },
          [](const Values& in) { return contiguous(permute(relu(in[0] + in[1]), {0, 2, 3, 1})); }),
      laid_out(
          "layout_add_transposed", moves(2 * kMatrix, kMatrix),
          [] { return Values{normals({2048, 2048}), normals({2048, 2048})}; },
          [](const Values& in) { return in[0] + transpose(in[1]); }),
  };
}

}  // namespace bench
