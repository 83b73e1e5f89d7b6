#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

Values both(const ValueWithIndices& result) { return {result.values, result.indices}; }
Values both(const HistogramValues& result) { return {result.counts, result.edges}; }
Values all_of(const Distinct& result) { return {result.values, result.inverse, result.counts}; }

const Rows kStatistics({
    {"logsumexp", [](In in) { return logsumexp(in[0], {0, 2}); }},
    {"variance_and_mean",
     [](In in) {
       const auto [variance, mean] = variance_and_mean(in[0], {1});
       return Values{variance, mean};
     }},
    {"aminmax",
     [](In in) {
       const auto [least, most] = aminmax(in[0], {1});
       return Values{least, most};
     }},
    {"count_nonzero", [](In in) { return count_nonzero(in[0], {1}); }},
    {"average", [](In in) { return average(in[0], in[1], {1}); }},
    {"nansum", [](In in) { return nansum(in[0], {1}); }},
    {"nanmean", [](In in) { return nanmean(in[0], {0}); }},
    {"nanmax", [](In in) { return nanmax(in[0], {1}); }},
    {"nanmin", [](In in) { return nanmin(in[0], {1}); }},
    {"nanvar", [](In in) { return nanvar(in[0], {1}); }},
    {"nanstd", [](In in) { return nanstd(in[0], {0}); }},
    {"cov", [](In in) { return cov(in[0]); }},
    {"cov.biased", [](In in) { return cov(in[0], 0); }},
    {"corrcoef", [](In in) { return corrcoef(in[0]); }},
    {"quantile.linear", [](In in) { return quantile(in[0], 0.3, 1); }},
    {"quantile.lower", [](In in) { return quantile(in[0], 0.3, 1, Between::Lower); }},
    {"quantile.higher", [](In in) { return quantile(in[0], 0.3, 1, Between::Higher); }},
    {"quantile.midpoint", [](In in) { return quantile(in[0], 0.3, 1, Between::Midpoint); }},
    {"quantile.nearest", [](In in) { return quantile(in[0], 0.3, 1, Between::Nearest); }},
    {"quantile.several",
     [](In in) {
       const double qs[] = {0, 0.4, 1};
       return quantile(in[0], qs, 1);
     }},
    {"nanquantile", [](In in) { return nanquantile(in[0], 0.6, 1); }},
    {"median", [](In in) { return both(median(in[0], 1)); }},
    {"median.of_all", [](In in) { return median(in[0]); }},
    {"nanmedian", [](In in) { return both(nanmedian(in[0], 1)); }},
});

const Rows kCounts({
    {"bincount", [](In in) { return bincount(in[0], {}, 7); }},
    {"bincount.weights", [](In in) { return bincount(in[0], in[1]); }},
    {"histc", [](In in) { return histc(in[0], 5, -2, 2); }},
    {"histogram", [](In in) { return both(histogram(in[0], 6)); }},
    {"histogram.density", [](In in) { return both(histogram(in[0], 4, -1, 2, {.density = true})); }},
    {"histogram.edges", [](In in) { return both(histogram(in[0], in[1])); }},
    {"unique", [](In in) { return all_of(unique(in[0])); }},
    {"unique_consecutive", [](In in) { return all_of(unique_consecutive(in[0])); }},
});

const Rows kCalculus({
    {"diff", [](In in) { return diff(in[0], 2, 1); }},
    {"diff.prepend", [](In in) { return diff(in[0], 1, 1, in[1]); }},
    {"trapezoid", [](In in) { return trapezoid(in[0], 0.5); }},
    {"trapezoid.places", [](In in) { return trapezoid(in[0], in[1]); }},
    {"cumulative_trapezoid", [](In in) { return cumulative_trapezoid(in[0], 0.5); }},
    {"interp", [](In in) { return interp(in[0], in[1], in[2]); }},
});

}  // namespace
}  // namespace kiln::golden
