"""One line of meaning for functions of tensors whose headers have no docstring of their own, because their names say it to those
who know mathematics. tools/functions_page.py prints them, and names those that are needless or missing."""

# What a method means where a function over Values of that name means something else.
METHODS = """
shape: The sizes of the dimensions.
value: The tensor without its rank and kind in the type.
empty: Whether it is no tensor, such as an absent bias.
dim: The size of dimension `i`.
numel: The number of elements.
dtype: The element type.
device: Where the elements are.
data: The elements on the host, with shape and type.
to_vector: The elements on the host, in row-major order.
read_async: Starts to read; `get()` of the result waits.
item_async: Starts to read the only element; `get()` of the result waits.
from_data: A tensor of elements on the host, of any source.
to_device: The same elements on another device.
to_float: Converts to floats.
to_bool: True where an element is not 0.
detach: The same elements, without a gradient.
tracked: Whether it has a gradient.
gelu: `x * (1 + erf(x / sqrt(2))) / 2`
gelu_tanh: gelu by its approximation with `tanh`.
silu: `x * sigmoid(x)`
mish: `x * tanh(softplus(x))`
hard_swish: `x * hard_sigmoid(x)`
hard_sigmoid: `x / 6 + 0.5`, brought into [0, 1].
hard_swish_slope: The slope of hard_swish.
gelu_slope: The slope of gelu.
selu: elu, scaled such that mean and variance stay 0 and 1.
logit: `log(x / (1 - x))`
round: The nearest whole number; halves go to the even one.
div: `x / y`
softplus: `log(1 + exp(x))`
softsign: `x / (1 + abs(x))`
logaddexp: `log(exp(x) + exp(y))`, without overflow.
log_sigmoid: `log(sigmoid(x))`, without overflow.
leaky_relu: x where it is positive, else `x * y`.
elu: x where it is positive, else `y * expm1(x)`.
celu: x where it is positive, else `y * expm1(x / y)`.
thresholded_relu: x where it is above y, else 0.
hard_shrink: x where its magnitude is above y, else 0.
soft_shrink: x moved towards 0 by y, at most to 0.
smooth_l1: The magnitude of x, less `y / 2`; a parabola below y.
heaviside: 0 for negative x, 1 for positive x, y at 0.
xlogy: `x * log(y)`, and 0 where x is 0.
signbit: Whether the sign is minus, also that of -0.
logical_and: Whether both are true.
logical_xor: Whether one of the two is true.
logical_not: True where x is false.
neg: `-x`
"""

# What methods and functions mean, where no header says it.
BOTH = """
abs: The magnitude.
sign: -1, 0 or 1.
sqrt: The square root.
exp: e to the power of x.
exp2: 2 to the power of x.
expm1: `exp(x) - 1`, exact near 0.
log: The natural logarithm.
log2: The logarithm to base 2.
log10: The logarithm to base 10.
log1p: `log(1 + x)`, exact near 0.
sin: The sine.
cos: The cosine.
tan: The tangent.
asin: The angle whose sine is x.
acos: The angle whose cosine is x.
atan: The angle whose tangent is x.
sinh: The hyperbolic sine.
cosh: The hyperbolic cosine.
tanh: The hyperbolic tangent.
asinh: The inverse of sinh.
acosh: The inverse of cosh.
atanh: The inverse of tanh.
erf: The error function.
erfc: `1 - erf(x)`, exact for large x.
erfinv: The inverse of erf.
lgamma: The logarithm of the magnitude of the Gamma function.
digamma: The derivative of lgamma.
i0: The modified Bessel function of the first kind, of order 0.
i1: The modified Bessel function of the first kind, of order 1.
sinc: `sin(pi * x) / (pi * x)`, and 1 at 0.
floor: The largest whole number that is not above x.
ceil: The smallest whole number that is not below x.
trunc: x without its fraction.
is_nan: Whether x is not a number.
is_inf: Whether x is infinite.
is_finite: Whether x is neither infinite nor NaN.
floor_divide: The quotient, rounded down.
remainder: What floor_divide leaves; it has the sign of y.
fmod: What a division rounded towards 0 leaves; it has the sign of x.
pow: x to the power of y.
atan2: The angle of the point (y, x), in [-pi, pi]: x is the ordinate.
hypot: `sqrt(x * x + y * y)`, without overflow.
copysign: The magnitude of x with the sign of y.
polygamma: The derivative of order x of digamma, at y.
bitwise_or: The bits that either has.
shift_left: The bits of x moved up by y places.
shift_right: The bits of x moved down by y places; the sign stays.
logical_or: Whether at least one is true.
clamp: x brought into [low, high].
sum: The sum.
prod: The product.
mean: The mean.
max: The greatest element.
min: The least element.
any: Whether any element is true, or not 0.
all: Whether all elements are true, or not 0.
nansum: The sum without NaN.
nanmean: The mean without NaN.
nanmax: The greatest element that is not NaN.
nanmin: The least element that is not NaN.
var: The variance; the squares are divided by count - 1, or as the `Correction` says.
std: The standard deviation, the root of `var`.
nanvar: The variance without NaN.
nanstd: The standard deviation without NaN.
argmin: The index of the first least element.
cumsum: Running sums.
cumprod: Running products.
cummin: The least element so far and its first index.
topk: The `k` greatest (or least) elements, and their indices.
argtopk: The indices of topk().
min_with_index: The least elements along `dim` and their indices.
nanmedian: median() without NaN.
nanquantile: quantile() without NaN.
reshape_as: The elements in the shape of another tensor.
transpose: Two dimensions change places.
t: The transposed matrix.
expand_as: expand() to the shape of another tensor.
flip: The elements along these dimensions in reverse order.
flipud: Rows (dimension 0) in reverse order.
tril: Zeros elements above a diagonal of the last two dimensions.
scatter_add: scatter() that adds.
index_select: select() with a list of indices.
index_add: Adds slices of `source` to the slices that the indices name.
index_copy: Replaces the slices that the indices name by those of `source`.
index_fill: Fills the slices that the indices name with a number.
softmax: `exp(x)`, divided by its sum along `dim`.
log_softmax: The logarithm of softmax, without overflow.
slice_scatter: x with a slice of `dim` replaced by `source`.
full: Every element is `value`.
zeros: Every element is 0.
ones: Every element is 1.
empty_like: empty() with shape, type and device of x.
full_like: full() with shape, type and device of x.
zeros_like: zeros() with shape, type and device of x.
ones_like: ones() with shape, type and device of x.
tril_mask: True on and below a diagonal.
diag_mask: True on a diagonal.
inverse: The inverse of a matrix.
masked_sum: The sum where the mask is true.
masked_prod: The product where the mask is true.
masked_mean: The mean where the mask is true.
masked_max: The greatest element where the mask is true.
masked_min: The least element where the mask is true.
masked_logsumexp: logsumexp() where the mask is true.
masked_var: The variance where the mask is true.
masked_std: The standard deviation where the mask is true.
masked_norm: The norm of order `p` where the mask is true.
masked_median: The median where the mask is true.
masked_argmin: The index of the least element where the mask is true.
masked_softmin: softmin() of what the mask keeps.
masked_log_softmax: log_softmax() of what the mask keeps.
masked_cumprod: Running products of what the mask keeps.
fmin: The smaller one; a number where the other is NaN.
clamp_min: x, and `low` where it is below.
clamp_max: x, and `high` where it is above.
deg2rad: Degrees to radians.
rad2deg: Radians to degrees.
is_posinf: Whether x is plus infinity.
is_neginf: Whether x is minus infinity.
max_pool: The greatest element of each window.
avg_pool: The mean of each window.
adaptive_max_pool: The greatest element of each of `sizes` parts.
bmm: The product of two batches of matrices.
addmm: `beta * c + alpha * (a matmul b)`.
baddbmm: addmm() of batches of matrices.
addr: `beta * c + alpha * outer(x, y)`.
rand_like: rand() with shape, type and device of x.
randn_like: randn() with shape, type and device of x.
uniform_like: uniform() with shape, type and device of x.
normal_like: normal() with shape, type and device of x.
bernoulli_like: bernoulli() with shape, type and device of x.
exponential_like: exponential() with shape, type and device of x.
randint_like: randint() with shape, type and device of x.
real: The real part.
imag: The imaginary part.
conj: The complex conjugate.
ifft: Undoes fft.
ifft2: Undoes fft2.
rfft2: rfft over two dimensions.
irfft2: Undoes rfft2.
ifftn: Undoes fftn.
rfftn: rfft over several dimensions.
irfftn: Undoes rfftn.
ihfft: Undoes hfft.
hfft2: hfft over two dimensions.
ihfft2: Undoes hfft2.
ihfftn: Undoes hfftn.
ifftshift: Undoes fftshift.
erfcx: `exp(x * x) * erfc(x)`
ndtr: The distribution function of the standard normal distribution.
log_ndtr: The logarithm of ndtr.
ndtri: The inverse of ndtr.
igamma: The regularised lower incomplete Gamma function, of shape x at y.
igammac: `1 - igamma(x, y)`
zeta: Hurwitz' zeta function of exponent x, from y.
bessel_j0: The Bessel function of the first kind, of order 0.
bessel_j1: The Bessel function of the first kind, of order 1.
bessel_y0: The Bessel function of the second kind, of order 0.
bessel_y1: The Bessel function of the second kind, of order 1.
i0e: `exp(-abs(x)) * i0(x)`
i1e: `exp(-abs(x)) * i1(x)`
modified_bessel_k0: The modified Bessel function of the second kind, of order 0.
modified_bessel_k1: The modified Bessel function of the second kind, of order 1.
scaled_modified_bessel_k0: `exp(x) * modified_bessel_k0(x)`
scaled_modified_bessel_k1: `exp(x) * modified_bessel_k1(x)`
spherical_bessel_j0: The spherical Bessel function of order 0: `sin(x) / x`.
chebyshev_t: The Chebyshev polynomial of the first kind, of degree y.
chebyshev_u: The Chebyshev polynomial of the second kind, of degree y.
chebyshev_v: The Chebyshev polynomial of the third kind, of degree y.
chebyshev_w: The Chebyshev polynomial of the fourth kind, of degree y.
shifted_chebyshev_u: chebyshev_u of `2 * x - 1`.
shifted_chebyshev_v: chebyshev_v of `2 * x - 1`.
shifted_chebyshev_w: chebyshev_w of `2 * x - 1`.
hermite_h: The physicists' Hermite polynomial of degree y.
hermite_he: The probabilists' Hermite polynomial of degree y.
legendre_p: The Legendre polynomial of degree y.
laguerre_l: The Laguerre polynomial of degree y.
gegenbauer_c: The Gegenbauer polynomial of degree y with parameter w.
generalized_laguerre_l: The generalised Laguerre polynomial of degree y with parameter w.
frexp: `x = mantissa * 2^exponent` with a mantissa in [0.5, 1) or (-1, -0.5].
frexp_mantissa: The mantissa of frexp().
frexp_exponent: The exponent of frexp().
next_number: nextafter() in a float type of `w` binary digits.
lcm: The least common multiple.
var_mean: Variance and mean in one pass.
aminmax: The least and the greatest element in one pass.
l1_norm: The sum of the magnitudes.
l2_norm: The root of the sum of the squares.
max_abs_norm: The greatest magnitude.
min_abs_norm: The least magnitude.
"""


def lines(text):
    """{name: meaning}"""
    return dict(line.split(": ", 1) for line in text.strip().split("\n"))
