#!/usr/bin/env python3
"""The suite's workloads in PyTorch. bench/suite.py runs it beside bench_suite.

usage: torch_suite.py [OPTIONS] NAME SECONDS   measures for about so long and prints the samples, in ms
       torch_suite.py [OPTIONS] -              the same for each line "SECONDS NAME" of standard input

With --compile, what is measured went through torch.compile; workloads for which that is not done have no samples.
With --device cuda, workloads are those of bench_suite --device=cuda, larger than the processor's; with --graph all that one
run asks a GPU for is one CUDA graph.
With --busy, samples are processor time rather than the clock's."""
import argparse
import functools
import json
import math
import sys
import time

import torch
from torch.nn import functional as F

import torch_models as models
import torch_yolox

FEWEST, MOST = 3, 2000  # samples of a burst
# Known before there are workloads, whose sizes depend on it.
devices = argparse.ArgumentParser(add_help=False)
devices.add_argument("--device", default="cpu")
DEVICE = devices.parse_known_args()[0].device
GPU = DEVICE != "cpu"
COUNT, SIDE = (2**28, 2**14) if GPU else (2**24, 2**12)
workloads = {}  # name: a function of `compiled` that gives what is to be timed


def workload(name, compiles=False):
    def add(make):
        workloads[name] = (make, compiles)
        return make
    return add


def random(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, dtype=dtype, requires_grad=grad)


# ---- matrix products
def product(a_shape, b_shape, dtype, compiled):
    a, b = random(*a_shape, dtype=dtype), random(*b_shape, dtype=dtype)
    return lambda: a @ b


for dtype, label in ((torch.float32, "float32"), (torch.bfloat16, "bfloat16")):
    for m, k, n in (((1024,) * 3, (4096,) * 3, (8192,) * 3) if GPU else
                    ((64,) * 3, (256,) * 3, (512,) * 3, (1024,) * 3, (2048,) * 3, (4096, 768, 3072))):
        workload(f"matmul_{m}x{k}x{n}_{label}")(functools.partial(product, (m, k), (k, n), dtype))
batched = ((256, 512, 64), (256, 64, 512)) if GPU else ((64, 128, 64), (64, 64, 128))
workload("matmul_batched")(functools.partial(product, *batched, torch.float32))


# ---- elementwise work, reductions, normalisations, rearrangements
def of_tensors(name, function, *shapes):
    def make(compiled):
        tensors = [random(*shape) for shape in shapes]
        called = torch.compile(function) if compiled else function
        return lambda: called(*tensors)
    workload(name, compiles=True)(make)


def softmax_composed(x):
    e = torch.exp(x - x.amax(1, True))
    return e / e.sum(1, True)


LINE, SQUARE, ROW = (COUNT,), (SIDE, SIDE), (SIDE,)
of_tensors("copy", lambda x: x.clone(), LINE)
of_tensors("add", lambda x, y: x + y, LINE, LINE)
of_tensors("gelu_composed", lambda x: x * (torch.erf(x / math.sqrt(2)) + 1) / 2, LINE)
of_tensors("gelu_builtin", F.gelu, LINE)
of_tensors("bias_gelu_residual", lambda x, bias: F.gelu(x + bias) * 0.5 + x, SQUARE, ROW)
of_tensors("sum_all", lambda x: x.sum(), SQUARE)
of_tensors("sum_rows(last dim)", lambda x: x.sum(1), SQUARE)
of_tensors("sum_cols(first dim)", lambda x: x.sum(0), SQUARE)
of_tensors("argmax_last", lambda x: x.argmax(1), SQUARE)
of_tensors("softmax_last", lambda x: torch.softmax(x, 1), SQUARE)
of_tensors("layernorm_last", lambda x, weight, bias: F.layer_norm(x, ROW, weight, bias), SQUARE, ROW, ROW)
of_tensors("softmax_composed", softmax_composed, SQUARE)
of_tensors("rmsnorm_composed", lambda x, weight: x * torch.rsqrt((x * x).mean(1, True) + 1e-5) * weight, SQUARE, ROW)
of_tensors("transpose_copy", lambda x: x.t().contiguous(), SQUARE)


@workload("gather_rows", compiles=True)
def gather_rows(compiled):
    x, rows = random(*SQUARE), torch.randint(0, SIDE, (SIDE,))
    select = (lambda x, rows: x.index_select(0, rows))
    called = torch.compile(select) if compiled else select
    return lambda: called(x, rows)


# ---- calls in shapes and element types beside those that models are made of
def summed(name, shape, dims):
    of_tensors(name, lambda x: x.sum(dims), shape)


summed("sum_rows_of_16", (65536, 16), 1)
summed("sum_rows_of_96", (10000, 96), 1)
summed("sum_rows_of_200", (5000, 200), 1)
summed("sum_first_of_3", (2**18, 3), 0)
summed("sum_first_of_16", (65536, 16), 0)
summed("sum_middle", (100, 100, 100), 1)
summed("sum_outer_dims", (100, 100, 100), (0, 2))
summed("sum_channels_last", (32, 28, 28, 64), (0, 1, 2))
of_tensors("max_rows_of_96", lambda x: x.amax(1), (10000, 96))
of_tensors("global_average_7x7", lambda x: x.mean((2, 3)), (32, 512, 7, 7))
of_tensors("norm_rows_of_96", lambda x: x.norm(dim=1), (10000, 96))
of_tensors("zeros_4mb", lambda: torch.zeros(2**20))
of_tensors("outer_product_1024", lambda x, y: x * y, (1024, 1), (1, 1024))


def whole_numbers(dtype):
    return torch.empty(2**20).uniform_(-100, 100).to(torch.int32).to(dtype)


def cast(name, before, after):
    def make(compiled):
        x = whole_numbers(before)
        return lambda: x.to(after)
    workload(name)(make)


cast("cast_f64_f16", torch.float64, torch.float16)
cast("cast_f64_f32", torch.float64, torch.float32)
cast("cast_f32_bf16", torch.float32, torch.bfloat16)
cast("cast_f32_i32", torch.float32, torch.int32)
cast("cast_i32_bf16", torch.int32, torch.bfloat16)
cast("cast_i64_f16", torch.int64, torch.float16)
cast("cast_bool_f16", torch.bool, torch.float16)
cast("cast_f16_i32", torch.float16, torch.int32)


@workload("clamp_i8")
def clamp_i8(compiled):
    x = whole_numbers(torch.int8)
    return lambda: x.clamp(-20, 20)


@workload("add_i16")
def add_i16(compiled):
    x = whole_numbers(torch.int16)
    y = x + 1
    return lambda: x + y


def permuted(name, shape, order):
    of_tensors(name, lambda x: x.permute(order).contiguous(), shape)


permuted("permute_3_channels_last", (8, 3, 224, 224), (0, 2, 3, 1))
permuted("permute_3_channels_first", (8, 224, 224, 3), (0, 3, 1, 2))
permuted("permute_16_channels_last", (32, 16, 56, 56), (0, 2, 3, 1))
permuted("permute_16_channels_first", (32, 56, 56, 16), (0, 3, 1, 2))
permuted("permute_heads", (8, 128, 8, 32), (0, 2, 1, 3))


# ---- transfers
@workload("from_data_64mib")
def from_data(compiled):
    x = torch.arange(2**24, dtype=torch.float32)
    return lambda: x.to(DEVICE, copy=True)


@workload("data_64mib")
def data(compiled):
    x = random(2**24)
    return lambda: x.to("cpu", copy=True)


@workload("data_1000_scalars")
def data_of_scalars(compiled):
    scalars = [random() for _ in range(1000)]
    return lambda: [x.item() for x in scalars] and None


if GPU:
    @workload("to_device_64mib")
    def to_device(compiled):
        x = torch.randn(2**24, device="cpu")
        return lambda: x.to(DEVICE)

    @workload("to_host_64mib")
    def to_host(compiled):
        x = random(2**24)
        return lambda: x.to("cpu")


# ---- layouts
@workload("layout_pictures_to_float", compiles=True)
def pictures_to_float(compiled):
    x = (torch.rand(32, 224, 224, 3) * 255).to(torch.uint8)
    to_float = (lambda x: (x.to(torch.float32) * (1 / 255)).permute(0, 3, 1, 2).contiguous())
    called = torch.compile(to_float) if compiled else to_float
    return lambda: called(x)


of_tensors("layout_relu_channels_last", lambda x, b: torch.relu(x + b).permute(0, 2, 3, 1).contiguous(),
           (32, 16, 56, 56), (16, 1, 1))
of_tensors("layout_add_transposed", lambda x, y: x + y.t(), (2048, 2048), (2048, 2048))


# ---- overhead
def chain(t):
    y = t
    for _ in range(1000):
        y = y + t
    return y


@workload("small_add_chain_1000")
def small_add_chain(compiled):
    t = random(32, 32)
    return lambda: chain(t)


@workload("small_add_chain_1000_fwd_bwd")
def small_add_chain_both_ways(compiled):
    t = random(32, 32, grad=True)
    return lambda: torch.autograd.grad(chain(t).sum(), t)


# ---- attention
def attention(causal, backward, compiled):
    shape, dtype = ((8, 16, 2048, 64), torch.bfloat16) if GPU else ((2, 8, 512, 64), torch.float32)
    q, k, v = (random(*shape, dtype=dtype, grad=backward) for _ in range(3))
    seed = random(*shape, dtype=dtype)

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return (lambda: torch.autograd.grad(forward(), (q, k, v), seed)) if backward else forward


for causal in (False, True):
    for backward in (False, True):
        name = f"sdpa_fwd{'_bwd' if backward else ''}{'_causal' if causal else ''}"
        workload(name)(functools.partial(attention, causal, backward))


# ---- models
def training(make_model, make_batch, compiled, products=None):
    inputs, targets = make_batch()
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=GPU or None, capturable=GPU)
    called = torch.compile(model) if compiled else model

    def step():
        with torch.autocast(DEVICE, dtype=products or torch.bfloat16, enabled=products is not None):
            logits = called(inputs)
            loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def inference(make_model, shape, compiled):
    model, x = make_model().eval(), random(*shape)

    def run():
        with torch.no_grad():
            return model(x)

    return run


def tokens():
    batch = torch.randint(0, 50304, (8, 1024)) if GPU else torch.randint(0, 8192, (8, 128))
    return batch, batch.roll(-1, 1)


def images(count, pixels):
    x, classes = labelled(count, 3, pixels, pixels, classes=1000)
    return x.to(memory_format=LAYOUT), classes


def labelled(*shape, classes):
    return random(*shape), torch.randint(0, classes, shape[:1])


def trained(name, *args, **options):
    workload(name, compiles=True)(lambda compiled: training(*args, compiled, **options))


trained("mnist_guide_train_b64", models.Guide, lambda: labelled(64, 1, 28, 28, classes=10))
# As PyTorch advises for GPUs.
LAYOUT = torch.channels_last if GPU else torch.contiguous_format
gpt = functools.partial(models.Gpt, 50304, 1024, 768, 12, 12) if GPU else models.Gpt
size = "124M" if GPU else "5M"
trained(f"gpt_{size}_train", gpt, tokens)
trained(f"gpt_{size}_train_bf16", gpt, tokens, products=torch.bfloat16)
if GPU:
    trained(f"gpt_{size}_train_f16", gpt, tokens, products=torch.float16)
count, pixels = (64, 224) if GPU else (8, 64)
for products, label in ((None, "f32"), (torch.bfloat16, "bf16")) if GPU else ((None, "f32"),):
    trained(f"resnet50_train_b{count}_{pixels}px_{label}", lambda: models.resnet50().to(memory_format=LAYOUT),
            functools.partial(images, count, pixels), products=products)
sequences = ((512, 512), (64, 128, 512)) if GPU else ((128, 256), (32, 64, 128))
trained("lstm_train", functools.partial(models.SequenceClassifier, *sequences[0]),
        lambda: labelled(*sequences[1], classes=10))
workload("mnist_guide_infer_b1")(functools.partial(inference, models.Guide, (1, 1, 28, 28)))
workload("resnet50_infer_b1_224px_f32")(functools.partial(inference, models.resnet50, (1, 3, 224, 224)))


def detection(pictures, pixels, compiled):
    """The boxes are those of bench/suite/detection.cpp."""
    side = torch.tensor([0.1 + 0.03 * j for j in range(8)])
    corner = torch.tensor([[j % 4 / 4, j // 4 / 2] for j in range(8)])
    boxes = torch.cat([corner, corner + side[:, None]], 1) * pixels
    truth = [(boxes, (i + torch.arange(8)) % 80) for i in range(pictures)]
    model = torch_yolox.Yolox(*torch_yolox.SIZES["nano"]).to(memory_format=LAYOUT)
    seen = (random(pictures, 3, pixels, pixels) * 60 + 120).to(memory_format=LAYOUT)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=GPU or None, capturable=GPU)
    called = torch.compile(model) if compiled else model

    def step():
        loss = torch_yolox.losses(called(seen), pixels, pixels, truth)[0]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


pictures, pixels = (64, 416) if GPU else (8, 256)
workload(f"yolox_nano_train_b{pictures}_{pixels}px", compiles=True)(functools.partial(detection, pictures, pixels))


# ---- decoding with a static cache: 32 tokens after a prompt of 32
def decoding(dtype, compiled):
    prompt, count = 32, 32
    model = models.Gpt2(prompt + count).eval().to(dtype)
    called = torch.compile(model) if compiled else model
    with torch.inference_mode():
        places = [torch.tensor([place]) for place in range(prompt + count)]
        first = model(torch.randint(0, 50257, (1, prompt)), torch.arange(prompt))

    def run():
        with torch.inference_mode():
            token = first
            for place in places[prompt:]:
                token = called(token, place)
                token.item()

    return run


for dtype, name in ((torch.float32, "gpt2_124M_decode"), (torch.bfloat16, "gpt2_124M_decode_bf16")):
    workload(name, compiles=True)(functools.partial(decoding, dtype))


# ---- steps of optimizers: in one kernel where PyTorch has one for the processor, else one operation for all parameters
def steps(make, matrices, compiled):
    params = [p for p in models.Gpt().parameters() if p.dim() == 2 or not matrices]
    optimizer = make(params)
    for p in params:
        p.grad = random(*p.shape)
    return optimizer.step


def stepped(name, make, matrices=False):
    workload(f"step_{name}")(functools.partial(steps, make, matrices))


o = torch.optim
stepped("sgd", lambda p: o.SGD(p, lr=1e-4, momentum=0.9, fused=True))
stepped("adam", lambda p: o.Adam(p, lr=1e-4, fused=True))
stepped("adamw", lambda p: o.AdamW(p, lr=1e-4, fused=True))
stepped("adamw_amsgrad", lambda p: o.AdamW(p, lr=1e-4, amsgrad=True, fused=True))
stepped("adagrad", lambda p: o.Adagrad(p, lr=1e-4, fused=True))
stepped("adadelta", lambda p: o.Adadelta(p, lr=1e-4, foreach=True))
stepped("rmsprop_centered", lambda p: o.RMSprop(p, lr=1e-4, momentum=0.9, centered=True, foreach=True))
stepped("nadam", lambda p: o.NAdam(p, lr=1e-4, foreach=True))
stepped("radam", lambda p: o.RAdam(p, lr=1e-4, foreach=True))
stepped("adafactor", lambda p: o.Adafactor(p, lr=1e-4, foreach=True))
stepped("muon", lambda p: o.Muon(p, lr=1e-4), matrices=True)


# ---- measuring
@functools.lru_cache(maxsize=1)  # the bursts of one workload follow each other
def ready(name, compiled, graph):
    """What is to be timed, warmed up; None where there is none."""
    make, compiles = workloads.get(name, (None, False))
    if make is None or (compiled and not compiles):
        return None
    torch.manual_seed(0)
    run = make(compiled)
    for _ in range(3):
        run()
    return recorded(run) if graph else run


def recorded(run):
    """All that it asks the device for, as one graph."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def several(run):
    """As bench_suite asks a GPU: ten times, and then waits, which takes as long as many a workload."""
    def runs():
        for _ in range(10):
            run()
        torch.cuda.synchronize()
    return runs


def burst(run, seconds, clock):
    """Samples in ms; results are released within the time."""
    times, run = (10, several(run)) if GPU else (1, run)
    run()
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < FEWEST or (time.perf_counter() < end and len(samples) < MOST):
        start = clock()
        run()
        samples.append((clock() - start) * 1e3 / times)
    return samples


def answer(name, seconds, options):
    try:
        run = ready(name, options.compile, options.graph)
        clock = time.process_time if options.busy else time.perf_counter
        said = {"samples": burst(run, seconds, clock) if run else []}
    except Exception as error:  # whatever a compiler may throw
        said = {"samples": [], "error": f"{type(error).__name__}: {error}".split("\n")[0]}
    print(json.dumps(said), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     parents=[devices])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("name")
    parser.add_argument("seconds", nargs="?", type=float, default=1)
    options = parser.parse_args()
    torch.set_default_device(DEVICE)
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.name != "-":
        answer(options.name, options.seconds, options)
        return
    for line in sys.stdin:
        seconds, name = line.rstrip("\n").split(" ", 1)
        answer(name, float(seconds), options)


if __name__ == "__main__":
    main()
