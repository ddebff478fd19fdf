"""The matmul that cuda.tile.tune searches, as plain as the shipped pack's."""

import cuda.tile as ct


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    tiles_m = ct.cdiv(C.shape[0], tm)
    tiles_n = ct.cdiv(C.shape[1], tn)
    block = ct.bid(0)
    group = block // (8 * tiles_n)
    first = group * 8
    height = min(tiles_m - first, 8)
    row = first + block % (8 * tiles_n) % height
    column = block % (8 * tiles_n) // height
    total = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.cdiv(A.shape[1], tk)):
        a = ct.load(A, index=(row, k), shape=(tm, tk), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, column), shape=(tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, index=(row, column), tile=ct.astype(total, C.dtype))
