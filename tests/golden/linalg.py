"""Linear algebra: products, factorisations, equations, norms."""
import torch
import torch.nn.functional as F

from golden import case

L = torch.linalg


def definite(x):
    return x @ x.mT + torch.eye(x.shape[-2])


def oriented(first, *with_it):
    """Columns whose sign makes the first of the elements within a tenth of the largest positive; `with_it` turn too."""
    size = first.detach().abs()
    at = (size >= 0.9 * size.amax(-2, keepdim=True)).to(torch.int8).argmax(-2, keepdim=True)
    sign = first.detach().gather(-2, at).sign()
    return (first * sign, *(x * sign.mT for x in with_it))


def svd(a):
    u, s, vt = L.svd(a, full_matrices=False)
    u, vt = oriented(u, vt)
    return u, s, vt


def eigh(a):
    w, v = L.eigh(a)
    return w, *oriented(v)


def qr(a):
    q, r = L.qr(a)
    sign = r.detach().diagonal(dim1=-2, dim2=-1).sign()
    return q * sign[..., None, :], r * sign[..., None]


case("cholesky", lambda r: r.real(2, 3, 3), lambda x: L.cholesky(definite(x)))
case("cholesky.upper", lambda r: r.real(3, 4), lambda x: L.cholesky(definite(x), upper=True))
case("cholesky_solve", lambda r: [r.real(3, 3), r.real(3, 2)],
     lambda x, b: torch.cholesky_solve(b, L.cholesky(definite(x))))
case("qr", lambda r: r.real(2, 4, 3), qr)
case("qr.wide", lambda r: r.real(2, 4), qr)
case("svd", lambda r: r.real(2, 4, 3), svd)
case("svd.wide", lambda r: r.real(2, 3), svd)
case("svdvals", lambda r: r.real(3, 3), L.svdvals)
case("eigh", lambda r: r.real(2, 4, 4), lambda x: eigh(x + x.mT))
case("eigvalsh", lambda r: r.real(3, 3), lambda x: L.eigvalsh(x + x.mT))
case("lu", lambda r: r.real(2, 3, 3), lambda x: tuple(L.lu(x)))
case("lu.tall", lambda r: r.real(4, 2), lambda x: tuple(L.lu(x)))
case("lu.wide", lambda r: r.real(2, 4), lambda x: tuple(L.lu(x)))
case("lu_factor", lambda r: r.real(3, 3), lambda x: L.lu_factor(x)[0])
case("lu_solve", lambda r: [r.real(2, 3, 3), r.real(2, 3, 2)], lambda a, b: L.lu_solve(*L.lu_factor(a), b))
case("solve", lambda r: [r.real(2, 3, 3), r.real(2, 3, 2)], L.solve)
case("solve.vector", lambda r: [r.real(3, 3), r.real(3)], L.solve)
case("inverse", lambda r: r.real(2, 3, 3), L.inv)
case("triangular_solve", lambda r: [r.real(3, 3), r.real(3, 2)],
     lambda a, b: L.solve_triangular(a, b, upper=False))
case("triangular_solve.right", lambda r: [r.real(3, 3), r.real(2, 3)],
     lambda a, b: L.solve_triangular(a, b, upper=True, left=False, unitriangular=True))
case("lstsq", lambda r: [r.real(4, 2), r.real(4, 3)], lambda a, b: L.lstsq(a, b).solution)
case("lstsq.wide", lambda r: [r.real(2, 4), r.real(2, 3)], lambda a, b: L.pinv(a) @ b)
case("pinv", lambda r: r.real(2, 4, 3), L.pinv)
case("det", lambda r: r.real(2, 3, 3), L.det)
case("slogdet", lambda r: r.real(2, 3, 3), lambda x: tuple(L.slogdet(x)))
case("matrix_power", lambda r: r.real(3, 3), lambda x: L.matrix_power(x, 5))
case("matrix_power.inverse", lambda r: r.real(3, 3), lambda x: L.matrix_power(x, -2))
case("matrix_exp", lambda r: r.real(2, 3, 3), L.matrix_exp)
case("matrix_rank", lambda r: [r.real(4, 2), r.real(2, 4)], lambda x, y: L.matrix_rank(x @ y), grad=False)
case("cond", lambda r: r.real(3, 3), L.cond)
for name, order in (("frobenius", "fro"), ("nuclear", "nuc"), ("spectral", 2), ("one", 1), ("infinity", torch.inf)):
    case(f"matrix_norm.{name}", lambda r: r.real(2, 3, 4), lambda x: L.matrix_norm(x, order))
for name, order in (("2", 2), ("3", 3), ("0", 0), ("half", 0.5), ("infinity", torch.inf), ("minus_infinity", -torch.inf)):
    case(f"vector_norm.{name}", lambda r: r.real(3, 4), lambda x: L.vector_norm(x, order, dim=1))
case("vector_normalize", lambda r: r.real(3, 4), lambda x: F.normalize(x, dim=1))
case("cosine_similarity", lambda r: [r.real(3, 4), r.real(3, 4)], F.cosine_similarity)
case("cdist", lambda r: [r.real(2, 3, 4), r.real(2, 5, 4)], torch.cdist)
case("cdist.1", lambda r: [r.real(3, 4), r.real(2, 4)], lambda x, y: torch.cdist(x, y, p=1))
case("pairwise_distance", lambda r: [r.real(3, 4), r.real(3, 4)], lambda x, y: F.pairwise_distance(x, y, eps=0))

for name, expression, shapes in (
        ("bilinear", "bi,oij,bj->bo", [(3, 2), (4, 2, 3), (3, 3)]),
        ("ellipsis", "...ij,jk->...ki", [(2, 2, 3, 2), (2, 4)]),
        ("diagonal", "iij->ji", [(3, 3, 2)]),
        ("trace", "ii", [(3, 3)]),
        ("implicit", "ca,ab", [(3, 2), (2, 4)]),
        ("chain", "ab,bc,cd,da->", [(2, 3), (3, 4), (4, 2), (2, 2)])):
    case(f"einsum.{name}", lambda r: [r.real(*shape) for shape in shapes], lambda *x: torch.einsum(expression, *x))
case("tensordot", lambda r: [r.real(2, 3, 4), r.real(4, 2, 3)],
     lambda a, b: torch.tensordot(a, b, dims=([0, 2], [1, 0])))
case("kron", lambda r: [r.real(2, 3), r.real(3, 2)], torch.kron)
case("outer", lambda r: [r.real(3), r.real(4)], torch.outer)
case("cross", lambda r: [r.real(2, 3), r.real(2, 3)], lambda x, y: L.cross(x, y))
case("vecdot", lambda r: [r.real(2, 3), r.real(2, 3)], lambda x, y: L.vecdot(x, y))
case("matvec", lambda r: [r.real(2, 3), r.real(3)], torch.mv)
case("addmm", lambda r: [r.real(3, 2), r.real(3, 4), r.real(4, 2)],
     lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2))
case("baddbmm", lambda r: [r.real(2, 3, 2), r.real(2, 3, 4), r.real(2, 4, 2)], torch.baddbmm)
case("multi_dot", lambda r: [r.real(2, 3), r.real(3, 4), r.real(4)], lambda *x: L.multi_dot(x))
