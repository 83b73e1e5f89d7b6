"""The functions of bench/sweep/functions.cpp in PyTorch: answers each line of standard input as bench_sweep does."""

import functools
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
TABLE = {}


def rows(functions):
    TABLE.update(functions)


def elementwise():
    other = {
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "recip": torch.reciprocal,
        "hard_sigmoid": F.hardsigmoid,
        "hard_swish": F.hardswish,
        "log_sigmoid": F.logsigmoid,
        "gelu": F.gelu,
        "mish": F.mish,
        "relu": torch.relu,
        "relu6": F.relu6,
        "selu": torch.selu,
        "silu": F.silu,
        "softplus": F.softplus,
        "softsign": F.softsign,
        "tanhshrink": F.tanhshrink,
        "is_nan": torch.isnan,
        "is_finite": torch.isfinite,
        "i0e": torch.special.i0e,
        "bessel_j0": torch.special.bessel_j0,
        "clamp": lambda x: x.clamp(0, 1),
        "mul_2": lambda x: x * 2,
        "glu": F.glu,
        "gelu_bias_residual": lambda x, b: F.gelu(x + b) + x,
    }
    same = (
        "abs atan ceil cos cosh digamma erf erfc exp exp2 expm1 floor frac i0 neg round sigmoid sign sin sinc sinh "
        "square tan tanh "
        "trunc asinh signbit lgamma log log10 log1p log2 rsqrt sqrt acos asin atanh erfinv add sub mul div maximum "
        "minimum atan2 "
        "fmod remainder hypot copysign lt eq floor_divide where lerp addcmul"
    )
    rows({**{name: getattr(torch, name) for name in same.split()}, **other})
    for exponent in (-1.0, 0.5, 2.0, 3.0, 2.5):
        TABLE[f"pow_{exponent}"] = functools.partial(lambda e, x: x**e, exponent)
    for dtype in TYPES.values():
        TABLE["to_" + str(dtype).split(".")[1]] = functools.partial(lambda d, x: x.to(d), dtype)


def reductions():
    over = {
        "sum": torch.sum,
        "mean": torch.mean,
        "max": torch.amax,
        "var": torch.var,
        "norm": torch.linalg.vector_norm,
        "logsumexp": torch.logsumexp,
        "nansum": torch.nansum,
        "any": torch.any,
        "count_nonzero": torch.count_nonzero,
    }
    places = {"_last": (-1,), "_first": (0,), "_outer": (0, 2), "_middle": (1,), "_image": (-2, -1)}
    for name, f in over.items():
        for place, dims in places.items():
            TABLE[name + place] = functools.partial(lambda f, d, x: f(x, dim=d), f, dims)
        TABLE[name + "_all"] = functools.partial(lambda f, x: f(x, dim=tuple(range(x.dim()))), f)
    one = {
        "prod": torch.prod,
        "argmax": torch.argmax,
        "max_with_index": lambda x, dim: torch.max(x, dim=dim),
        "softmax": torch.softmax,
        "log_softmax": torch.log_softmax,
        "cumsum": torch.cumsum,
        "cumprod": torch.cumprod,
        "logcumsumexp": torch.logcumsumexp,
        "diff": lambda x, dim: torch.diff(x, dim=dim),
        "flip": lambda x, dim: x.flip(dim),
        "roll": lambda x, dim: x.roll(3, dim),
        "cummax": torch.cummax,
        "sort": lambda x, dim: torch.sort(x, dim=dim),
        "topk_5": lambda x, dim: torch.topk(x, 5, dim=dim),
        "median": lambda x, dim: torch.median(x, dim=dim),
        "quantile": lambda x, dim: torch.quantile(x, 0.3, dim=dim),
    }
    for name, f in one.items():
        for place, dim in (("_last", -1), ("_first", 0)):
            TABLE[name + place] = functools.partial(lambda f, d, x: f(x, dim=d), f, dim)
    rows(
        {
            "unique": torch.unique,
            "unique_consecutive": torch.unique_consecutive,
            "bincount": torch.bincount,
            "isin": torch.isin,
            "histc": lambda x: torch.histc(x, 100),
            "searchsorted": torch.searchsorted,
            "cov": torch.cov,
            "trapezoid": torch.trapezoid,
        }
    )


def arrangements():
    rows(
        {
            "copy": lambda x: x + 0,
            "transpose": lambda x: x.mT.contiguous(),
            "permute_021": lambda x: x.permute(0, 2, 1).contiguous(),
            "permute_0213": lambda x: x.permute(0, 2, 1, 3).contiguous(),
            "permute_0231": lambda x: x.permute(0, 2, 3, 1).contiguous(),
            "permute_0312": lambda x: x.permute(0, 3, 1, 2).contiguous(),
            "every_second": lambda x: x[:, ::2].contiguous(),
            "cat_first": lambda *x: torch.cat(x, 0),
            "cat_last": lambda *x: torch.cat(x, -1),
            "stack_last": lambda *x: torch.stack(x, -1),
            "stack_first": lambda *x: torch.stack(x, 0),
            "pad_2": lambda x: F.pad(x, (2, 2, 2, 2)),
            "repeat_2_3": lambda x: x.repeat(2, 3),
            "repeat_interleave": lambda x: x.repeat_interleave(3, -1),
            "rot90": torch.rot90,
            "tril": torch.tril,
            "triu": torch.triu,
            "diag": torch.diag,
            "diag_embed": torch.diag_embed,
            "chunk_3": lambda x: torch.chunk(x, 3, -1),
            "gather_last": lambda x, i: x.gather(-1, i),
            "gather_first": lambda x, i: x.gather(0, i),
            "select_rows": lambda x, i: x.index_select(0, i),
            "select_columns": lambda x, i: x.index_select(1, i),
            "scatter_add_first": lambda x, i, s: x.scatter_add(0, i, s),
            "scatter_add_last": lambda x, i, s: x.scatter_add(-1, i, s),
            "index_add": lambda x, i, s: x.index_add(0, i, s),
            "mask_fill": lambda x, m: x.masked_fill(m, 0),
            "mask_select": torch.masked_select,
            "nonzero": lambda x: x.nonzero(as_tuple=True),
            "one_hot_100": lambda x: F.one_hot(x, 100),
            "embedding": lambda w, i: F.embedding(i, w),
            "embedding_bag": lambda w, i: F.embedding_bag(i, w, mode="sum"),
            "outer": torch.outer,
            "kron": torch.kron,
            "cartesian_prod": torch.cartesian_prod,
            "zeros": torch.zeros_like,
            "full": lambda x: torch.full_like(x, 3),
            "arange": lambda x: torch.arange(x.shape[0], dtype=x.dtype),
            "linspace": lambda x: torch.linspace(0, 1, x.shape[0]),
            "eye": lambda x: torch.eye(*x.shape),
            "uniform": torch.rand_like,
            "normal": torch.randn_like,
            "bernoulli": lambda x: torch.empty_like(x).bernoulli_(0.3),
            "exponential": lambda x: torch.empty_like(x).exponential_(),
            "randperm": lambda x: torch.randperm(x.shape[0]),
            "dropout": lambda x: F.dropout(x, 0.1),
            "multinomial": lambda x: torch.multinomial(x, 5, True),
        }
    )


def products():
    rows(
        {
            "matmul": torch.matmul,
            "linear": F.linear,
            "einsum_bhqd": lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k),
            "attention": F.scaled_dot_product_attention,
            "attention_causal": functools.partial(F.scaled_dot_product_attention, is_causal=True),
            "cdist": lambda x, y: torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"),
            "pairwise_distance": F.pairwise_distance,
            "cosine_similarity": lambda x, y: F.cosine_similarity(x, y, dim=-1),
            "cross": torch.linalg.cross,
            "conv1d": lambda x, w: F.conv1d(x, w, padding=1),
            "conv1d_depthwise": lambda x, w: F.conv1d(x, w, padding=1, groups=x.shape[1]),
            "conv2d": lambda x, w: F.conv2d(x, w, padding=1),
            "conv2d_1x1": F.conv2d,
            "conv2d_stride_2": lambda x, w: F.conv2d(x, w, stride=2, padding=1),
            "conv2d_dilated": lambda x, w: F.conv2d(x, w, padding=2, dilation=2),
            "conv2d_groups_4": lambda x, w: F.conv2d(x, w, padding=1, groups=4),
            "conv2d_depthwise": lambda x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]),
            "conv2d_depthwise_stride_2": lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=x.shape[1]),
            "conv3d": lambda x, w: F.conv3d(x, w, padding=1),
            "conv3d_depthwise": lambda x, w: F.conv3d(x, w, padding=1, groups=x.shape[1]),
            "conv_transpose2d": lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1),
            "lstm": recurrent(torch.lstm, 2),
            "gru": recurrent(torch.gru, 1),
        }
    )


def recurrent(function, states):
    def run(x, w, u):
        state = [torch.zeros(1, x.shape[0], u.shape[1])] * states
        return function(
            x, state if states > 1 else state[0], [w, u], False, 1, 0.0, torch.is_grad_enabled(), False, True
        )[0]

    return run


def layers():
    rows(
        {
            "layer_norm": lambda x, w, b: F.layer_norm(x, w.shape, w, b),
            "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
            "group_norm_8": lambda x, w, b: F.group_norm(x, 8, w, b),
            "instance_norm": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
            "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
            "local_response_norm": lambda x: F.local_response_norm(x, 5),
            "max_pool1d": lambda x: F.max_pool1d(x, 3, 2, 1),
            "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
            "max_pool3d": lambda x: F.max_pool3d(x, 2),
            "avg_pool1d": lambda x: F.avg_pool1d(x, 3, 2, 1),
            "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1),
            "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 7),
            "unfold": lambda x: F.unfold(x, 3, padding=1),
            "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
            "interpolate_nearest": lambda x: F.interpolate(x, scale_factor=2),
            "interpolate_linear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
            "interpolate_cubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
            "grid_sample": lambda x, g: F.grid_sample(x, g, align_corners=False),
            "cross_entropy": F.cross_entropy,
            "nll_loss": F.nll_loss,
            "mse_loss": F.mse_loss,
            "l1_loss": F.l1_loss,
            "smooth_l1_loss": F.smooth_l1_loss,
            "bce_with_logits": F.binary_cross_entropy_with_logits,
            "kl_div": lambda x, y: F.kl_div(x, y, reduction="batchmean"),
        }
    )


def algebra():
    linalg = torch.linalg
    complex_of = torch.view_as_complex
    rows(
        {
            "inverse": linalg.inv,
            "solve": linalg.solve,
            "det": linalg.det,
            "cholesky": linalg.cholesky,
            "qr": lambda x: linalg.qr(x)[0],
            "svdvals": linalg.svdvals,
            "eigh": lambda x: linalg.eigh(x)[1],
            "matrix_exp": linalg.matrix_exp,
            "triangular_solve": lambda a, b: linalg.solve_triangular(a, b, upper=False),
            "fft": lambda x: torch.view_as_real(torch.fft.fft(complex_of(x))),
            "rfft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
            "irfft": lambda x: torch.fft.irfft(complex_of(x)),
        }
    )


def operand(text):
    word, rest = text.split("[")
    sizes, kind = rest.split("]")
    dtype, shape = TYPES[word], [int(size) for size in sizes.split(",")]
    if turned := kind.endswith("t"):
        shape[-1], shape[-2] = shape[-2], shape[-1]
    if kind.startswith("<"):
        x = torch.randint(0, int(kind[1:]), shape)
    elif dtype == torch.bool:
        x = torch.rand(shape) < 0.5
    elif not dtype.is_floating_point:
        x = torch.randint(0, 100, shape)
    elif kind.startswith("+"):
        x = torch.rand(shape) + 0.1
    elif kind.startswith("~"):
        x = torch.rand(shape) * 1.8 - 0.9
    else:
        x = torch.randn(shape)
    if kind.startswith("s"):
        x = x.sort().values
    if kind.startswith("d"):
        x = x @ x.mT / shape[-1] + torch.eye(shape[-1])
    x = x.to(dtype)
    return x.mT if turned else x


def prepared(line):
    name, *words = line.split()
    function, backward = TABLE[name], words[-1] == "backward"
    x = [operand(word) for word in words if word != "backward"]
    if not backward:

        def run():
            with torch.no_grad():
                function(*x)

        return run
    leaves = [t.requires_grad_() for t in x if t.is_floating_point()]

    def forward():
        y = function(*x)
        return y if isinstance(y, torch.Tensor) else y[0]

    seed = torch.randn_like(forward())
    return lambda: torch.autograd.grad(forward(), leaves, seed)


def measure(run, seconds):
    for _ in range(3):
        run()
    times, count, start = [], 1, time.process_time()
    while time.process_time() - start < seconds or len(times) < 3:
        begin = time.process_time()
        for _ in range(count):
            run()
        elapsed = 1e3 * (time.process_time() - begin)
        if elapsed < 1 and not times:
            count *= 2
        else:
            times.append(elapsed / count)
    return statistics.median(times)


def main():
    torch.set_num_threads(1)
    for add in (elementwise, reductions, arrangements, products, layers, algebra):
        add()
    for line in sys.stdin:
        seconds, call = line.split(" ", 1)
        try:
            answer = {"ms": measure(prepared(call), float(seconds))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(answer), flush=True)


main()
