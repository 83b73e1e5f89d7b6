"""The calls of a sweep: functions of docs/ops.md with operands of many element types, shapes and layouts.

A call is a line, `FUNCTION OPERAND ... [backward]`, which both sides read. An operand is an element type, a shape and
what it holds: `f32[1000,100]` normal numbers, `+` after it numbers from 0.1 to 1.1, `~` from -0.9 to 0.9, `<N` whole
numbers below N, `s` ascending ones, `d` a symmetric positive definite matrix, `t` that its last two dimensions lie the
other way in memory; integers are below 100, booleans a coin's."""

import itertools

FLOATS = ["f32", "f64", "f16", "bf16"]
INTS = ["i64", "i32", "i16", "i8", "u8"]
MILLION = "[1000,1000]"

UNARY = {
    "": "abs atan ceil cos cosh digamma erf erfc exp exp2 expm1 floor frac gelu gelu_tanh hard_sigmoid hard_swish i0 "
    "log_sigmoid mish neg recip relu relu6 round selu sigmoid sign silu sin sinc sinh softplus softsign square "
    "tan tanh tanhshrink trunc asinh is_nan is_finite signbit",
    "+": "lgamma log log10 log1p log2 rsqrt sqrt i0e bessel_j0",
    "~": "acos asin atanh erfinv",
}
WITHOUT_GRADIENT = {"ceil", "floor", "round", "sign", "trunc", "is_nan", "is_finite", "signbit", "i0e", "bessel_j0"}
SELDOM = {"i0e", "bessel_j0", "i0", "digamma", "lgamma"}  # of 10^5 elements, as they take long
BINARY = "add sub mul div maximum minimum atan2 fmod remainder hypot copysign lt eq floor_divide"
POWERS = ["pow_-1.0", "pow_0.5", "pow_2.0", "pow_3.0", "pow_2.5"]


def elementwise():
    for kind, names in UNARY.items():
        for name in names.split():
            most = "[100000]" if name in SELDOM else MILLION
            for shape in ("[1]", "[1000]", most):
                yield f"{name} f32{shape}{kind}"
            for dtype in FLOATS[1:]:
                yield f"{name} {dtype}{most}{kind}"
            if name not in WITHOUT_GRADIENT:
                yield f"{name} f32{most}{kind} backward"
    for name in "abs neg sign square".split():
        yield from (f"{name} {dtype}{MILLION}" for dtype in INTS[:-1])
    for name in BINARY.split():
        kind = "+" if name in ("div", "fmod", "remainder", "floor_divide") else ""
        for a, b in (
            ("[1]", "[1]"),
            ("[1000]", "[1000]"),
            (MILLION, MILLION),
            (MILLION, "[1000]"),
            (MILLION, "[1000,1]"),
            (MILLION, MILLION + "t"),
        ):
            yield f"{name} f32{a} f32{b[:-1] + kind + 't' if b.endswith('t') else b + kind}"
        for dtype in FLOATS[1:]:
            yield f"{name} {dtype}{MILLION} {dtype}{MILLION}{kind}"
        if name not in ("lt", "eq", "floor_divide", "fmod", "remainder"):
            yield f"{name} f32{MILLION} f32{MILLION}{kind} backward"
            yield f"{name} f32{MILLION} f32[1000]{kind} backward"
    for name in "add sub mul maximum lt eq".split():
        yield from (f"{name} {dtype}{MILLION} {dtype}{MILLION}" for dtype in INTS)
    for name in POWERS:
        yield from (f"{name} {dtype}{MILLION}+" for dtype in FLOATS)
        yield f"{name} f32{MILLION}+ backward"
    for name in ("clamp", "mul_2"):
        yield from (f"{name} {dtype}{MILLION}" for dtype in FLOATS + INTS)
    for dtype in ("f32", "f64", "bf16", "i64", "u8"):
        yield f"where bool{MILLION} {dtype}{MILLION} {dtype}{MILLION}"
    for name in ("lerp", "addcmul"):
        yield f"{name} f32{MILLION} f32{MILLION} f32{MILLION}"
        yield f"{name} f32{MILLION} f32{MILLION} f32{MILLION} backward"
    yield f"gelu_bias_residual f32{MILLION} f32[1000]"
    yield f"gelu_bias_residual f32{MILLION} f32[1000] backward"
    yield f"glu f32{MILLION}"
    yield f"glu f32{MILLION} backward"
    names = {
        "f64": "float64",
        "f32": "float32",
        "f16": "float16",
        "bf16": "bfloat16",
        "i64": "int64",
        "i32": "int32",
        "i16": "int16",
        "i8": "int8",
        "u8": "uint8",
        "bool": "bool",
    }
    for a, b in itertools.permutations(names, 2):
        yield f"to_{names[b]} {a}{MILLION}"


def reductions():
    shapes = {
        "_all": ["[1000]", "[1000000]", "[3000000]"],
        "_last": ["[60000,16]", "[10000,96]", "[4000,300]", "[1000,1000]", "[8,100000]"],
        "_first": ["[16,60000]", "[1000,1000]", "[100000,8]"],
        "_outer": ["[100,100,100]", "[32,64,512]"],
        "_middle": ["[100,100,100]", "[64,16,1000]"],
        "_image": ["[32,512,7,7]", "[8,64,56,56]"],
    }
    for name in "sum mean max var norm logsumexp nansum".split():
        for place, all_shapes in shapes.items():
            yield from (f"{name}{place} f32{shape}" for shape in all_shapes)
            if name != "nansum":
                yield f"{name}{place} f32{all_shapes[-1]} backward"
        for place, dtype in itertools.product(("_all", "_last", "_first"), FLOATS[1:]):
            yield f"{name}{place} {dtype}{MILLION}"
    for name, place, dtype in itertools.product(("sum", "max"), ("_all", "_last", "_first"), ("i64", "i32", "u8")):
        yield f"{name}{place} {dtype}{MILLION}"
    for name, place in itertools.product(("any", "count_nonzero"), ("_all", "_last", "_first")):
        yield f"{name}{place} bool{MILLION}"
    for name, place in itertools.product(
        (
            "prod",
            "argmax",
            "max_with_index",
            "softmax",
            "log_softmax",
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "diff",
            "flip",
            "roll",
            "cummax",
        ),
        ("_last", "_first"),
    ):
        yield from (f"{name}{place} f32{shape}" for shape in ("[30000,32]", "[1000,1000]"))
        yield from (f"{name}{place} {dtype}{MILLION}" for dtype in ("f64", "bf16", "f16"))
        if name in ("prod", "softmax", "log_softmax", "cumsum", "logcumsumexp", "flip"):
            yield from (
                f"{name}{place} f32{shape}{'+' if name == 'prod' else ''} backward"
                for shape in ("[30000,32]", "[1000,1000]")
            )
    for name in ("sort", "topk_5", "median", "quantile"):
        yield from (f"{name}_last f32{shape}" for shape in ("[30000,32]", "[1000,1000]", "[1000000]"))
        yield from (f"{name}_first f32{shape}" for shape in ("[1000,1000]",))
    yield from (f"sort_last {dtype}[1000,1000]" for dtype in ("i64", "i32", "f64", "bf16"))
    yield from ("sort_last f32[1000,1000] backward", "topk_5_last f32[1000,1000] backward")
    yield from (f"{name} i64[1000000]<1000" for name in ("unique", "unique_consecutive", "bincount"))
    yield from (
        "unique f32[1000000]",
        "histc f32[1000000]",
        "isin i64[1000000]<1000 i64[50]<1000",
        "searchsorted f32[1000]s f32[1000000]",
        "cov f32[100,10000]",
        "trapezoid f32[1000,1000]",
    )


def arrangements():
    for dtype in ("f32", "f64", "bf16", "u8"):
        yield f"copy {dtype}{MILLION}t"
        yield f"transpose {dtype}{MILLION}"
        yield f"permute_021 {dtype}[100,100,100]"
        yield f"permute_0213 {dtype}[8,128,12,64]"
        yield f"permute_0231 {dtype}[8,3,224,224]"
        yield f"permute_0312 {dtype}[8,224,224,3]"
        yield f"every_second {dtype}{MILLION}"
        yield f"cat_first {dtype}[500,1000] {dtype}[500,1000]"
        yield f"cat_last {dtype}[1000,500] {dtype}[1000,500]"
        yield f"gather_last {dtype}{MILLION} i64{MILLION}<1000"
        yield f"gather_first {dtype}{MILLION} i64{MILLION}<1000"
        yield f"select_rows {dtype}[50000,100] i64[10000]<50000"
        yield f"select_columns {dtype}[1000,1000] i64[500]<1000"
        yield f"mask_fill {dtype}{MILLION} bool{MILLION}"
        yield f"mask_select {dtype}{MILLION} bool{MILLION}"
        yield from (f"{name} {dtype}{MILLION}" for name in ("pad_2", "rot90", "tril", "triu", "zeros", "full"))
    yield from (f"stack_{end} " + " ".join(["f32[1000,10]"] * 64) for end in ("last", "first"))
    yield from (
        "cat_last " + " ".join(["f32[1000,16]"] * 64),
        "repeat_2_3 f32[300,300]",
        "repeat_interleave " "f32[1000,300]",
        "diag f32[1000]",
        "diag_embed f32[100,100]",
        "chunk_3 f32[1000,999]",
        "chunk_3 f32[1000,999] backward",
        "cat_last f32[1000,500] f32[1000,500] backward",
        "pad_2 f32[1000,1000] backward",
        "gather_last f32[1000,1000] i64[1000,1000]<1000 backward",
        "select_rows f32[50000,100] i64[10000]<50000 backward",
        "permute_0213 f32[8,128,12,64] backward",
        "scatter_add_first f32[1000,100] i64[10000,100]<1000 f32[10000,100]",
        "scatter_add_last f32[1000,100] i64[1000,1000]<100 f32[1000,1000]",
        "index_add f32[1000,100] i64[10000]<1000 f32[10000,100]",
        "nonzero bool[1000,1000]",
        "one_hot_100 i64[10000]<100",
        "embedding f32[50000,512] i64[32,128]<50000",
        "embedding f32[50000,512] i64[32,128]<50000 backward",
        "embedding f32[100000,64] i64[100]<100000 " "backward",
        "embedding_bag f32[50000,64] i64[1000,20]<50000",
        "outer f32[1000] f32[1000]",
        "outer f32[1000] " "f32[1000] backward",
        "kron f32[30,30] f32[30,30]",
        "cartesian_prod f32[1000] f32[1000]",
    )
    for dtype in ("i64", "i32", "f32"):
        yield f"arange {dtype}[1000000]"
    yield from ("linspace f32[1000000]", "eye f32[1000,1000]", "randperm i64[1000000]")
    for name, dtype in itertools.product(("uniform", "normal", "bernoulli", "exponential"), FLOATS):
        yield f"{name} {dtype}{MILLION}"
    for dtype in FLOATS:
        yield f"dropout {dtype}{MILLION}"
    yield from (f"dropout f32{MILLION} backward", "multinomial f32[1000,100]+")


def products():
    shapes = [
        ("[64,64]", "[64,64]"),
        ("[256,256]", "[256,256]"),
        ("[512,512]", "[512,512]"),
        ("[1024,1024]", "[1024,1024]"),
        ("[1,1024]", "[1024,1024]"),
        ("[3,1024]", "[1024,1024]"),
        ("[1,1024]", "[1024,1024]t"),
        ("[4,1024]", "[1024,1024]t"),
        ("[1000,16]", "[16,1000]"),
        ("[16,10000]", "[10000,16]"),
        ("[8,64,64]", "[8,64,64]"),
        ("[1000,8,8]", "[1000,8,8]"),
        ("[10000,4,4]", "[10000,4,4]"),
        ("[512,512]t", "[512,512]"),
        ("[33,77]", "[77,55]"),
        ("[1024,1024]", "[1024,1]"),
    ]
    for (a, b), dtype in itertools.product(shapes, FLOATS):
        yield f"matmul {dtype}{a} {dtype}{b}"
    for a, b in shapes[1:4] + shapes[8:12]:
        yield f"matmul f32{a} f32{b} backward"
    yield from (f"matmul {dtype}[256,256] {dtype}[256,256]" for dtype in ("i64", "i32", "i8"))
    for rows in (1, 32, 1000):
        for end in ("", " backward"):
            yield f"linear f32[{rows},512] f32[2048,512] f32[2048]{end}"
    for name, size in itertools.product(
        ("attention", "attention_causal"), ("[4,8,128,64]", "[2,8,512,64]", "[1,12,1,64]")
    ):
        for dtype in ("f32", "bf16"):
            yield f"{name} {dtype}{size} {dtype}{size} {dtype}{size}"
        yield f"{name} f32{size} f32{size} f32{size} backward"
    yield from (
        "einsum_bhqd f32[4,128,8,64] f32[4,128,8,64]",
        "cdist f32[500,16] f32[500,16]",
        "cdist f32[500,128] " "f32[500,128]",
        "cdist f32[500,16] f32[500,16] backward",
        "pairwise_distance f32[10000,64] f32[10000,64]",
        "cosine_similarity f32[10000,64] f32[10000,64]",
        "cosine_similarity f32[10000,64] f32[10000,64] " "backward",
        "cross f32[100000,3] f32[100000,3]",
    )
    convolutions = [
        ("conv1d", "[8,64,512]", "[64,64,3]"),
        ("conv1d_depthwise", "[8,256,512]", "[256,1,3]"),
        ("conv2d", "[8,3,64,64]", "[32,3,3,3]"),
        ("conv2d", "[8,64,28,28]", "[64,64,3,3]"),
        ("conv2d", "[1,256,14,14]", "[256,256,3,3]"),
        ("conv2d", "[8,8,28,28]", "[8,8,3,3]"),
        ("conv2d_1x1", "[8,64,28,28]", "[256,64,1,1]"),
        ("conv2d_1x1", "[8,64,28,28]", "[1,64,1,1]"),
        ("conv2d_stride_2", "[8,64,56,56]", "[128,64,3,3]"),
        ("conv2d_dilated", "[4,64,28,28]", "[64,64,3,3]"),
        ("conv2d_groups_4", "[8,64,28,28]", "[64,16,3,3]"),
        ("conv2d_depthwise", "[8,96,56,56]", "[96,1,3,3]"),
        ("conv2d_depthwise_stride_2", "[8,96,56,56]", "[96,1,3,3]"),
        ("conv3d", "[2,16,8,28,28]", "[16,16,3,3,3]"),
        ("conv3d_depthwise", "[2,32,8,28,28]", "[32,1,3,3,3]"),
        ("conv_transpose2d", "[8,64,14,14]", "[64,32,4,4]"),
    ]
    for name, x, w in convolutions:
        for end in ("", " backward"):
            yield f"{name} f32{x} f32{w}{end}"
        yield f"{name} bf16{x} bf16{w}"
    yield from (f"conv2d f64[4,32,28,28] f64[32,32,3,3]{end}" for end in ("", " backward"))
    for name, gates in (("lstm", 4), ("gru", 3)):
        for end in ("", " backward"):
            yield f"{name} f32[16,32,64] f32[{gates * 128},64] f32[{gates * 128},128]{end}"


def layers():
    for dtype in FLOATS:
        yield f"layer_norm {dtype}[1000,768] {dtype}[768] {dtype}[768]"
        yield f"rms_norm {dtype}[1000,768] {dtype}[768]"
        yield f"group_norm_8 {dtype}[8,64,28,28] {dtype}[64] {dtype}[64]"
        yield f"batch_norm {dtype}[8,64,28,28] {dtype}[64] {dtype}[64]"
        yield f"max_pool2d {dtype}[8,64,56,56]"
        yield f"avg_pool2d {dtype}[8,64,56,56]"
    for end in ("", " backward"):
        yield from (
            f"{line}{end}"
            for line in (
                "layer_norm f32[10000,64] f32[64] f32[64]",
                "layer_norm f32[1000,768] f32[768] f32[768]",
                "rms_norm " "f32[10000,64] " "f32[64]",
                "instance_norm f32[8,64,28,28] f32[64] f32[64]",
                "group_norm_8 f32[8,64,28,28] f32[64] f32[64]",
                "batch_norm f32[8,64,28,28] f32[64] f32[64]",
                "batch_norm f32[256,512] f32[512] f32[512]",
                "local_response_norm f32[4,64,28,28]",
                "max_pool1d f32[8,64,2000]",
                "max_pool2d f32[8,64,56,56]",
                "max_pool3d f32[2,32,16,28,28]",
                "avg_pool1d " "f32[8,64,2000]",
                "avg_pool2d f32[8,64,56,56]",
                "adaptive_avg_pool2d f32[8,64,56,56]",
                "unfold f32[4,16,28,28]",
                "pixel_shuffle f32[4,64,28,28]",
                "interpolate_nearest f32[4,16,56,56]",
                "interpolate_linear f32[4,16,56,56]",
                "interpolate_cubic " "f32[4,3,56,56]",
                "grid_sample f32[4,3,64,64] f32[4,64,64,2]~",
                "grid_sample f32[4,32,64,64] f32[4,64,64,2]~",
                "cross_entropy f32[1000,1000] i64[1000]<1000",
                "cross_entropy f32[64,10] i64[64]<10",
                "nll_loss " "f32[1000,1000] " "i64[1000]<1000",
                "mse_loss f32[1000,1000] f32[1000,1000]",
                "l1_loss f32[1000,1000] f32[1000,1000]",
                "smooth_l1_loss " "f32[1000,1000] " "f32[1000,1000]",
                "bce_with_logits f32[1000,1000] f32[1000,1000]+",
                "kl_div f32[1000,1000] f32[1000,1000]+",
            )
        )


def algebra():
    for size in ("[4,4]", "[100,100]", "[400,400]", "[1000,4,4]", "[100,16,16]"):
        yield from (
            f"{name} f32{size}d" for name in ("inverse", "det", "qr", "svdvals", "eigh", "matrix_exp", "cholesky")
        )
        yield f"solve f32{size}d f32{size}"
        yield f"triangular_solve f32{size}d f32{size}"
    yield from (
        "inverse f32[100,100]d backward",
        "solve f32[100,100]d f32[100,100] backward",
        "cholesky " "f32[100,100]d backward",
        "eigh f32[50,50]d backward",
    )
    for shape in ("[1000000,2]", "[1000,1024,2]", "[1000,1000,2]", "[10000,64,2]", "[100,997,2]"):
        yield f"fft f32{shape}"
        yield f"rfft f32{shape.replace(',2]', ']')}"
    yield from ("irfft f32[1000,513,2]", "fft f64[1000,1024,2]", "fft f32[1000,1024,2] backward")


def calls():
    seen = {}
    for family in (elementwise, reductions, arrangements, products, layers, algebra):
        seen.update(dict.fromkeys(family()))
    return list(seen)
