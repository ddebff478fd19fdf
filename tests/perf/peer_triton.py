"""Triton's usual matmul, for its autotuner."""

import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * tiles_n)
    first = group * GROUP
    height = min(tiles_m - first, GROUP)
    row = first + (pid % (GROUP * tiles_n)) % height
    column = (pid % (GROUP * tiles_n)) // height
    rows = (row * BM + tl.arange(0, BM)) % M
    columns = (column * BN + tl.arange(0, BN)) % N
    steps = tl.arange(0, BK)
    a_at = A + rows[:, None] * sam + steps[None, :] * sak
    b_at = B + steps[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=steps[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_at, mask=steps[:, None] < K - k * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_at += BK * sak
        b_at += BK * sbk
    rows = row * BM + tl.arange(0, BM)
    columns = column * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * scm + columns[None, :] * scn, total.to(tl.float16), mask=mask)
