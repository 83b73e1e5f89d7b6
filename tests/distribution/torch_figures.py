"""Writes torch.safetensors: parameters and numbers, and what PyTorch's distributions make of them in float64, for the tests
beside it. Needs torch and safetensors:  python3 torch_figures.py torch.safetensors

normal.parameter.0, .1, ... are the parameters of one distribution and normal.other.0, ... of another; normal.x are numbers.
normal.log_prob, normal.cdf, normal.mean, normal.variance, normal.entropy and normal.divergence are PyTorch's."""
import sys

import torch
from safetensors.torch import save_file
from torch import distributions as D

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
FIGURES = {}


def between(low, high, *shape):
    return low + (high - low) * torch.rand(*shape)


def keep(name, tensor):
    FIGURES[name] = tensor.detach().clone().contiguous()


def case(name, make, parameters, x, others=None):
    p = make(*parameters)
    for kind, tensors in (("parameter", parameters), ("other", others or ())):
        for i, tensor in enumerate(tensors):
            keep(f"{name}.{kind}.{i}", tensor)
    keep(f"{name}.x", x)
    keep(f"{name}.log_prob", p.log_prob(x))
    for kind, function in (("cdf", lambda: p.cdf(x)), ("mean", lambda: p.mean), ("variance", lambda: p.variance),
                           ("entropy", lambda: p.entropy()), ("divergence", lambda: D.kl_divergence(p, make(*others)))):
        try:
            keep(f"{name}.{kind}", function())
        except (NotImplementedError, AttributeError, TypeError):
            pass


def triangle(*shape):
    return torch.tril(torch.randn(*shape), -1) + torch.diag_embed(between(0.5, 2, *shape[:-1]))


def mixture(logits, location, scale):
    return D.MixtureSameFamily(D.Categorical(logits=logits), D.Normal(location, scale))


def mixture_of_vectors(logits, location, factor):
    return D.MixtureSameFamily(D.Categorical(logits=logits), D.MultivariateNormal(location, scale_tril=factor))


def transformed(*transforms):
    return lambda location, scale: D.TransformedDistribution(D.Normal(location, scale), list(transforms))


n, k = 5, (4, 5)
real = lambda: [torch.randn(n), between(0.3, 3, n)]
case("normal", D.Normal, real(), torch.randn(k) * 3, real())
case("log_normal", D.LogNormal, real(), between(0.01, 9, *k), real())
case("uniform", lambda a, b: D.Uniform(a, b, validate_args=False), [between(-1, 0, n), between(1, 2, n)], between(-2, 3, *k),
     [between(-2, -1, n), between(1.5, 3, n)])
case("exponential", D.Exponential, [between(0.2, 4, n)], between(0, 4, *k), [between(0.2, 4, n)])
case("laplace", D.Laplace, real(), torch.randn(k) * 3, real())
positive = lambda count: [torch.tensor([0.05, 0.6, 1, 3.5, 40.0]) * between(0.9, 1.1, n) for _ in range(count)]
case("gamma", D.Gamma, positive(2), between(0.01, 9, *k), positive(2))
case("beta", D.Beta, positive(2), between(0.01, 0.99, *k), positive(2))
case("student_t", D.StudentT, [torch.tensor([0.7, 1.5, 2.5, 6, 40.0]), *real()], torch.randn(k) * 4)
shares = between(0.1, 1, 4, 2, 3)
case("dirichlet", D.Dirichlet, [between(0.1, 6, 2, 3)], shares / shares.sum(-1, keepdim=True), [between(0.1, 6, 2, 3)])
case("multivariate_normal", lambda location, factor: D.MultivariateNormal(location, scale_tril=factor),
     [torch.randn(2, 3), triangle(2, 3, 3)], torch.randn(4, 2, 3), [torch.randn(2, 3), triangle(2, 3, 3)])
case("bernoulli", lambda l: D.Bernoulli(logits=l), [torch.randn(n) * 3], torch.bernoulli(torch.full(k, 0.5)), [torch.randn(n)])
case("binomial", lambda l: D.Binomial(9, logits=l), [torch.randn(n) * 2], torch.randint(0, 10, k).double(), [torch.randn(n)])
case("poisson", D.Poisson, [between(0.1, 20, n)], torch.randint(0, 30, k).double(), [between(0.1, 20, n)])
case("categorical", lambda l: D.Categorical(logits=l), [torch.randn(5, 4) * 2], torch.randint(0, 4, k), [torch.randn(5, 4)])
case("mixture", mixture, [torch.randn(5, 3), torch.randn(5, 3), between(0.3, 3, 5, 3)], torch.randn(k) * 3)
case("mixture_of_vectors", mixture_of_vectors, [torch.randn(2, 3), torch.randn(2, 3, 2), triangle(2, 3, 2, 2)],
     torch.randn(4, 2, 2))
case("tanh_of_normal", transformed(D.TanhTransform()), real(), between(-0.999, 0.999, *k))
case("sigmoid_of_normal", transformed(D.SigmoidTransform()), real(), between(0.001, 0.999, *k))
case("exp_of_falling", transformed(D.AffineTransform(0.5, -2), D.ExpTransform()), real(), between(0.01, 9, *k))

save_file(FIGURES, sys.argv[1], metadata={"made_with": f"PyTorch {torch.__version__}"})
