// Functions of single elements: values and slopes by <cmath> and textbook formulas.
#include <cmath>

#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double bell(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }  // the normal density

struct Curve {
  const char* name;
  Value (*run)(const Value&);
  double (*f)(double);
  double (*slope)(double);
  std::vector<double> kinks{};  // where the slope jumps
};

using D = double;
const std::vector<Curve>& curves() {
  static const std::vector<Curve> all = {
      {"neg", kiln::neg, [](D x) { return -x; }, [](D) { return -1.0; }},
      {"abs", kiln::abs, [](D x) { return std::fabs(x); }, [](D x) { return x < 0 ? -1.0 : 1.0; }, {0}},
      {"square", kiln::square, [](D x) { return x * x; }, [](D x) { return 2 * x; }},
      {"recip", kiln::recip, [](D x) { return 1 / x; }, [](D x) { return -1 / (x * x); }},
      {"sqrt", kiln::sqrt, [](D x) { return std::sqrt(x); }, [](D x) { return 0.5 / std::sqrt(x); }},
      {"exp", kiln::exp, [](D x) { return std::exp(x); }, [](D x) { return std::exp(x); }},
      {"expm1", kiln::expm1, [](D x) { return std::expm1(x); }, [](D x) { return std::exp(x); }},
      {"log", kiln::log, [](D x) { return std::log(x); }, [](D x) { return 1 / x; }},
      {"log1p", kiln::log1p, [](D x) { return std::log1p(x); }, [](D x) { return 1 / (1 + x); }},
      {"sin", kiln::sin, [](D x) { return std::sin(x); }, [](D x) { return std::cos(x); }},
      {"cos", kiln::cos, [](D x) { return std::cos(x); }, [](D x) { return -std::sin(x); }},
      {"tanh", kiln::tanh, [](D x) { return std::tanh(x); }, [](D x) { return 1 - std::pow(std::tanh(x), 2); }},
      {"atan", kiln::atan, [](D x) { return std::atan(x); }, [](D x) { return 1 / (1 + x * x); }},
      {"asinh", kiln::asinh, [](D x) { return std::asinh(x); }, [](D x) { return 1 / std::sqrt(1 + x * x); }},
      {"erf", kiln::erf, [](D x) { return std::erf(x); }, [](D x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }},
      {"sigmoid", kiln::sigmoid, logistic, [](D x) { return logistic(x) * logistic(-x); }},
      {"log_sigmoid", kiln::log_sigmoid, [](D x) { return -std::log1p(std::exp(-x)); },
       [](D x) { return logistic(-x); }},
      {"softplus", kiln::softplus, [](D x) { return std::log1p(std::exp(x)); }, logistic},
      {"relu", kiln::relu, [](D x) { return x > 0 ? x : 0; }, [](D x) { return x > 0 ? 1.0 : 0.0; }, {0}},
      {"gelu", kiln::gelu, [](D x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; },
       [](D x) { return std::erfc(-x / std::sqrt(2.0)) / 2 + x * bell(x); }},
      {"silu", kiln::silu, [](D x) { return x * logistic(x); },
       [](D x) { return logistic(x) * (1 + x * logistic(-x)); }},
      {"softsign", kiln::softsign, [](D x) { return x / (1 + std::fabs(x)); },
       [](D x) { return 1 / std::pow(1 + std::fabs(x), 2); }},
      {"hard_sigmoid",
       kiln::hard_sigmoid,
       [](D x) { return std::fmin(1, std::fmax(0, x / 6 + 0.5)); },
       [](D x) { return std::fabs(x) < 3 ? 1.0 / 6 : 0.0; },
       {-3, 3}},
  };
  return all;
}

struct Surface {
  const char* name;
  Value (*run)(const Value&, const Value&);
  double (*f)(double, double);
  double (*along_x)(double, double);
  double (*along_y)(double, double);
  double (*decision)(double, double) = nullptr;  // 0 where the slopes jump
};

const std::vector<Surface>& surfaces() {
  static const std::vector<Surface> all = {
      {"add", kiln::add, [](D x, D y) { return x + y; }, [](D, D) { return 1.0; }, [](D, D) { return 1.0; }},
      {"sub", kiln::sub, [](D x, D y) { return x - y; }, [](D, D) { return 1.0; }, [](D, D) { return -1.0; }},
      {"mul", kiln::mul, [](D x, D y) { return x * y; }, [](D, D y) { return y; }, [](D x, D) { return x; }},
      {"div", kiln::div, [](D x, D y) { return x / y; }, [](D, D y) { return 1 / y; },
       [](D x, D y) { return -x / (y * y); }},
      {"maximum", kiln::maximum, [](D x, D y) { return std::fmax(x, y); }, [](D x, D y) { return x > y ? 1.0 : 0.0; },
       [](D x, D y) { return x > y ? 0.0 : 1.0; }, [](D x, D y) { return x - y; }},
      {"minimum", kiln::minimum, [](D x, D y) { return std::fmin(x, y); }, [](D x, D y) { return x < y ? 1.0 : 0.0; },
       [](D x, D y) { return x < y ? 0.0 : 1.0; }, [](D x, D y) { return x - y; }},
      {"hypot", kiln::hypot, [](D x, D y) { return std::sqrt(x * x + y * y); },
       [](D x, D y) { return x / std::sqrt(x * x + y * y); }, [](D x, D y) { return y / std::sqrt(x * x + y * y); },
       [](D x, D y) { return std::fmax(std::fabs(x), std::fabs(y)); }},
      {"atan2", kiln::atan2, [](D x, D y) { return std::atan2(x, y); }, [](D x, D y) { return y / (x * x + y * y); },
       [](D x, D y) { return -x / (x * x + y * y); }, [](D x, D y) { return y < 0 ? x : 1; }},
      {"logaddexp", kiln::logaddexp, [](D x, D y) { return std::log(std::exp(x) + std::exp(y)); },
       [](D x, D y) { return logistic(x - y); }, [](D x, D y) { return logistic(y - x); }},
      {"pow", kiln::pow, [](D x, D y) { return std::exp(y * std::log(x)); },
       [](D x, D y) { return y * std::exp((y - 1) * std::log(x)); },
       [](D x, D y) { return std::log(x) * std::exp(y * std::log(x)); }},
      {"leaky_relu", kiln::leaky_relu, [](D x, D y) { return x > 0 ? x : x * y; },
       [](D x, D y) { return x > 0 ? 1 : y; }, [](D x, D) { return x > 0 ? 0 : x; }, [](D x, D) { return x; }},
      {"remainder", kiln::remainder, [](D x, D y) { return x - y * std::floor(x / y); }, [](D, D) { return 1.0; },
       [](D x, D y) { return -std::floor(x / y); }, [](D x, D y) { return x / y - std::nearbyint(x / y); }},
  };
  return all;
}

struct Test {
  const char* name;
  Value (*run)(const Value&, const Value&);
  bool (*holds)(double, double);
};
constexpr Test kTests[] = {
    {"lt", kiln::lt, [](D x, D y) { return x < y; }},  {"le", kiln::le, [](D x, D y) { return x <= y; }},
    {"gt", kiln::gt, [](D x, D y) { return x > y; }},  {"ge", kiln::ge, [](D x, D y) { return x >= y; }},
    {"eq", kiln::eq, [](D x, D y) { return x == y; }}, {"ne", kiln::ne, [](D x, D y) { return x != y; }}};

const Dual& broadcast_at(const Grid& x, const Dims& index) {
  Dims own;
  for (int i = 0; i < x.rank(); ++i) own.push_back(x.shape[i] == 1 ? 0 : index[i + index.size() - x.rank()]);
  return x(own);
}

Grid combined(const Grids& in, Type type, const std::function<Dual(const std::vector<Dual>&)>& f) {
  Shape shape;
  for (const Grid* x : in) {  // NumPy's rule, once more
    Shape longer = shape.size() > x->rank() ? shape : x->shape;
    const Shape& shorter = shape.size() > x->rank() ? x->shape : shape;
    for (int i = 1; i <= shorter.size(); ++i)
      if (longer[longer.size() - i] == 1) longer[longer.size() - i] = shorter[shorter.size() - i];
    shape = longer;
  }
  Grid result(shape, {}, type);
  each(shape, [&](const Dims& index) {
    std::vector<Dual> elements;
    for (const Grid* x : in) elements.push_back(broadcast_at(*x, index));
    result(index) = f(elements);
  });
  return result;
}

bool takes_one(Draft& draft) { return draft.take(Type::Real); }
bool takes_two(Draft& draft) {
  if (!draft.take(Type::Real)) return false;
  draft.take_broadcasting();
  if (draft.coin()) std::swap(draft.in[0], draft.in[1]);
  return true;
}

}  // namespace

std::vector<Instruction> elementwise_instructions() {
  std::vector<Instruction> list;
  for (const Curve& curve : curves())
    list.push_back({.name = curve.name,
                    .propose = takes_one,
                    .run = [f = curve.run](const Operands& in, const Attributes&) { return f(in[0]); },
                    .code = std::string(curve.name) + "(x)",
                    .meaning =
                        [&curve](const Grids& in, const Attributes&, Margin& margin) {
                          return combined(in, Type::Real, [&](const std::vector<Dual>& e) {
                            for (const double kink : curve.kinks) margin.decided_by(e[0].v - kink);
                            return Dual{curve.f(e[0].v), curve.slope(e[0].v) * e[0].d};
                          });
                        }});
  for (const Surface& surface : surfaces())
    list.push_back({.name = surface.name,
                    .propose = takes_two,
                    .run = [f = surface.run](const Operands& in, const Attributes&) { return f(in[0], in[1]); },
                    .code = std::string(surface.name) + "(x, y)",
                    .meaning =
                        [&surface](const Grids& in, const Attributes&, Margin& margin) {
                          return combined(in, Type::Real, [&](const std::vector<Dual>& e) {
                            const auto [x, dx] = e[0];
                            const auto [y, dy] = e[1];
                            if (surface.decision) margin.decided_by(surface.decision(x, y));
                            return Dual{surface.f(x, y), surface.along_x(x, y) * dx + surface.along_y(x, y) * dy};
                          });
                        }});
  for (const Test& test : kTests)
    list.push_back({.name = test.name,
                    .propose = takes_two,
                    .run = [f = test.run](const Operands& in, const Attributes&) { return f(in[0], in[1]); },
                    .code = std::string(test.name) + "(x, y)",
                    .meaning =
                        [test](const Grids& in, const Attributes&, Margin& margin) {
                          return combined(in, Type::Flag, [&](const std::vector<Dual>& e) {
                            margin.decided_by(e[0].v - e[1].v);
                            return Dual{test.holds(e[0].v, e[1].v) ? 1.0 : 0.0};
                          });
                        }});

  const auto takes_condition = [](Draft& draft) {
    if (!draft.take(Type::Flag)) return false;
    draft.take_broadcasting();
    draft.make(draft.grid(0).shape);
    return true;
  };
  for (int times = 0; times < 4; ++times)  // what needs a condition is possible seldom enough
    list.push_back({.name = "where",
                    .propose = takes_condition,
                    KILN_RUN(where(x, y, z)),
                    .meaning = [](const Grids& in, const Attributes&, Margin&) {
                      return combined(in, Type::Real,
                                      [](const std::vector<Dual>& e) { return e[0].v != 0 ? e[1] : e[2]; });
                    }});
  list.push_back(
      {.name = "cast",
       .propose = [](Draft& draft) { return draft.take(Type::Flag); },
       KILN_RUN(cast(x, DType::F64)),
       .meaning = [](const Grids& in, const Attributes&,
                     Margin&) { return combined(in, Type::Real, [](const std::vector<Dual>& e) { return e[0]; }); }});
  list.push_back({.name = "logical_not",
                  .propose = [](Draft& draft) { return draft.take(Type::Flag); },
                  KILN_RUN(logical_not(x)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        return combined(in, Type::Flag, [](const std::vector<Dual>& e) { return Dual{1 - e[0].v}; });
                      }});
  list.push_back({.name = "clamp",
                  .propose =
                      [](Draft& draft) {
                        draft.s.low = -1.5 + 0.25 * static_cast<double>(draft.below(5));
                        draft.s.high = draft.s.low + 0.5 + static_cast<double>(draft.below(3));
                        return draft.take(Type::Real);
                      },
                  KILN_RUN(clamp(x, s.low, s.high)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin& margin) {
                        return combined(in, Type::Real, [&](const std::vector<Dual>& e) {
                          margin.decided_by(e[0].v - s.low);
                          margin.decided_by(e[0].v - s.high);
                          return e[0].v < s.low ? Dual{s.low} : e[0].v > s.high ? Dual{s.high} : e[0];
                        });
                      }});
  list.push_back({.name = "scale",
                  .propose =
                      [](Draft& draft) {
                        draft.s.low = -2 + 0.5 * static_cast<double>(draft.below(9));
                        draft.s.high = -1 + 0.25 * static_cast<double>(draft.below(9));
                        return draft.take(Type::Real);
                      },
                  KILN_RUN(x * s.low + s.high),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        return combined(in, Type::Real,
                                        [&](const std::vector<Dual>& e) { return e[0] * Dual{s.low} + Dual{s.high}; });
                      }});
  return list;
}

}  // namespace kiln::programs
