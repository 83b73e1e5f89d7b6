#include "tests/programs/stateful/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kiln/fusion/fusion.hpp"

namespace kiln::stateful {
namespace {

// ---- errors --------------------------------------------------------------------------------------------------------

/// What a type allows beside a few times the error of the plain kernels in that type.
struct Allowance {
  double share;  // of the tensor's norm
  double noise;  // of the largest of its kind: where terms cancel, what is left is rounding
  double epsilon;
};
Allowance allowance_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return {1e-11, 1e-13, 0x1p-53};
    case DType::F32: return {1e-5, 1e-6, 0x1p-24};
    case DType::F16: return {4e-3, 5e-4, 0x1p-11};
    default: return {3e-2, 4e-3, 0x1p-8};
  }
}
constexpr double kTimes = 6;       // what we may be off by, of what the plain kernels are off by in the same type
constexpr double kPerturbed = 20;  // and of what numbers that were rounded differently make of it
constexpr double kRunaway = 1e4;   // elements this large
constexpr int kPerturbations = 6;

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum);
}
double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}
std::vector<double> numbers(const Observation& seen) { return seen.data.to_vector<double>(); }

bool alike(const Trace& a, const Trace& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].step != b[i].step || a[i].name != b[i].name || a[i].data.shape() != b[i].data.shape()) return false;
  return true;
}

class Judge {
 public:
  Judge(const Program& program, const Trace& exact, const Trace& plain)
      : program_(program), exact_(exact), plain_(plain) {
    for (const Observation& seen : exact) {
      values_.push_back(numbers(seen));
      double& scale = scales_[group(seen)];
      scale = std::max(scale, norm(values_.back()) / root(values_.back()));
    }
  }

  Report judge(const Trace& trace) {
    Report report;
    const Allowance allowance = allowance_of(program_.autocast != DType::F32 ? program_.autocast : program_.dtype);
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const double size = norm(values_[i]), scale = root(values_[i]) * scales_[group(exact_[i])];
      const double least = allowance.share * size + allowance.noise * scale;
      const double error = distance(numbers(trace[i]), values_[i]), own = distance(numbers(plain_[i]), values_[i]);
      // What overflows on the plain kernels, and a training that runs away, prove nothing.
      const bool hopeless = !std::isfinite(own) || scale > kRunaway * root(values_[i]);
      double allowed = hopeless ? HUGE_VAL : least + kTimes * own, allowed_own = 10 * least;
      if (!hopeless && !(error <= allowed && own <= allowed_own)) {
        allowed = std::max(allowed, kPerturbed * spread(i, allowance.epsilon));
        allowed_own = std::max(allowed_own, kPerturbed * spread(i, allowance.epsilon));
      }
      report.judged.push_back({trace[i].step, trace[i].name, size, scale, error, own, allowed});
      if (report.wrong || hopeless || (error <= allowed && own <= allowed_own)) continue;
      const char* const whose = error <= allowed ? " is off on the plain kernels by " : " is off by ";
      report.wrong = {trace[i].step,
                      text(trace[i].name, " ", trace[i].data.shape(), whose, (error <= allowed ? own : error) / size,
                           " of its norm (the plain kernels: ", own / size, "), what may be is ",
                           (error <= allowed ? allowed_own : allowed) / size),
                      error <= allowed};
    }
    return report;
  }

 private:
  /// How far values move when what they are made of is rounded otherwise: the exact ones, and those of the plain kernels
  /// in the program's own type, where what cancels in theory leaves noise.
  double spread(std::size_t i, double epsilon) {
    if (spreads_.empty()) {
      spreads_.resize(values_.size());
      for (int n = 1; n <= kPerturbations; ++n) {
        const Device reference = Device::parse("reference");
        const Trace moved = run(program_, {reference, DType::F64, DType::F32, n * epsilon});
        const Trace rounded = run(program_, {reference, program_.dtype, program_.autocast, n * epsilon});
        for (std::size_t j = 0; j < values_.size(); ++j)
          for (const double way :
               {distance(numbers(moved[j]), values_[j]), distance(numbers(rounded[j]), numbers(plain_[j]))})
            spreads_[j] = std::max(spreads_[j], way);
      }
    }
    return spreads_[i];
  }

  /// What is of one order of magnitude: the gradients of a step, the parameters, a slot of the optimizer.
  static std::string group(const Observation& seen) {
    const bool is_slot = seen.name.starts_with("optimizer");
    return text(seen.step, seen.name.substr(0, seen.name.find(' ')),
                is_slot ? seen.name.substr(seen.name.rfind('.')) : std::string());
  }
  static double root(const std::vector<double>& x) {
    return std::sqrt(static_cast<double>(std::max(x.size(), std::size_t{1})));
  }

  const Program& program_;
  const Trace &exact_, &plain_;
  std::vector<std::vector<double>> values_;  // of exact_
  std::map<std::string, double> scales_;     // of each group
  std::vector<double> spreads_;
};

// ---- bits ----------------------------------------------------------------------------------------------------------

void mix(std::uint64_t& hash, std::uint64_t word) { hash = Key{hash}.split(word).bits; }

std::uint64_t bits_of(const Trace& trace) {
  std::uint64_t hash = trace.size();
  for (const Observation& seen : trace) {
    std::uint64_t own = 0xcbf29ce484222325u;  // FNV-1a
    for (const std::byte byte : seen.data.bytes()) own = (own ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
    mix(hash, own);
  }
  return hash;
}

std::optional<Finding> first_difference(const Trace& one, const Trace& two) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto a = one[i].data.bytes(), b = two[i].data.bytes();
    if (std::equal(a.begin(), a.end(), b.begin(), b.end())) continue;
    const double off = distance(numbers(one[i]), numbers(two[i])) / norm(numbers(one[i]));
    return Finding{one[i].step, text(one[i].name, " ", one[i].data.shape(), " has other bits in the second run (", off,
                                     " of its norm)")};
  }
  return std::nullopt;
}

Device& replaced() {
  static Device device;
  return device;
}
Setting as_asked(const Program& program) {
  return {replaced() ? replaced() : processor(program.fused), program.dtype, program.autocast};
}

}  // namespace

Device processor(bool fused) {
  static const Device plain = [] {
    setenv("KILN_FUSION", "0", 1);
    return Device::cpu();
  }();
  static const Device gathering(make_ref<fusion::Fusion>(plain.handle()));
  return fused ? gathering : plain;
}

void set_processor(const Device& device) { replaced() = device; }

std::uint64_t bits_of(const Program& program) { return bits_of(run(program, as_asked(program))); }

Report check(const Program& program) {
  Report report;
  try {
    const Trace first = run(program, as_asked(program)), second = run(program, as_asked(program));
    report.bits = bits_of(first);
    const Device reference = Device::parse("reference");
    const Trace exact = run(program, {reference, DType::F64});
    const bool is_exact = program.dtype == DType::F64;
    const Trace plain = is_exact ? exact : run(program, {reference, program.dtype, program.autocast});
    if (!alike(first, second) || !alike(first, exact) || !alike(first, plain)) {
      report.wrong = {static_cast<int>(program.steps.size()), "two runs saw different things"};
      return report;
    }
    const std::uint64_t bits = report.bits;
    report = Judge(program, exact, plain).judge(first);
    report.bits = bits;
    if (const auto differs = first_difference(first, second); differs && !report.wrong) report.wrong = differs;
  } catch (const Error& error) { report.wrong = {static_cast<int>(program.steps.size()), error.what()}; }
  return report;
}

Program shrink(Program program) {
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    Program shorter = program;
    shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(i));
    if (check(shorter).wrong) program = std::move(shorter);
  }
  return program;
}

}  // namespace kiln::stateful
