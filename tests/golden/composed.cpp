#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Rows kComposed({
    {"deg2rad", [](In in) { return deg2rad(in[0]); }},
    {"rad2deg", [](In in) { return rad2deg(in[0]); }},
    {"trigamma", [](In in) { return trigamma(in[0]); }},
    {"float_power", [](In in) { return float_power(in[0], in[1]); }},
    {"threshold", [](In in) { return threshold(in[0], 0.3, -7); }},
    {"hardtanh", [](In in) { return hardtanh(in[0], -0.4, 1.2); }},
    {"softplus.beta", [](In in) { return softplus(in[0], 3, 12); }},
    {"prelu", [](In in) { return prelu(in[0], in[1]); }},
    {"glu", [](In in) { return glu(in[0], 1); }},
    {"clamp_min", [](In in) { return clamp_min(in[0], 0.2); }},
    {"clamp_max", [](In in) { return clamp_max(in[0], 0.2); }},
    {"lerp", [](In in) { return lerp(in[0], in[1], in[2]); }},
    {"addcmul", [](In in) { return addcmul(in[0], in[1], in[2], 0.5); }},
    {"addcdiv", [](In in) { return addcdiv(in[0], in[1], in[2], 0.5); }},
    {"is_posinf", [](In in) { return is_posinf(in[0]); }},
    {"is_neginf", [](In in) { return is_neginf(in[0]); }},
    {"nan_to_num", [](In in) { return nan_to_num(in[0], 0.5, 9.0, -9.0); }},
    {"is_close", [](In in) { return is_close(in[0], in[1]); }},
    {"softmin", [](In in) { return softmin(in[0], 1); }},
    {"quiet_softmax", [](In in) { return quiet_softmax(in[0], 1); }},
});

}  // namespace
}  // namespace kiln::golden
