// Q = X / S in fp8, S = max |X| / 448 over each BLOCK elements of a row, or 1 where all are zero:
// the activations of fp8_gemm, in CUDA Tile C++. Both divisions round to nearest: an approximate
// one would give another fp8 number where a quotient lies between two.
//
// X is M x K, Q is M x K of e4m3, S is M x (K / BLOCK rounded up), row-major. Rows of X start at a
// multiple of 8 elements, those of Q at one of 16, as fp8_gemm wants them; Q's padding is written
// as zero. A block has ROWS x BLOCK elements.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 128;
constexpr int ROWS = 16;
constexpr float LARGEST = 448.0f; // of e4m3

using columns = ct::integral_constant<1>;
using column_t = ct::tile<float, ct::shape<ROWS, 1>>;

template <int ELEMENTS> __tile__ int padded(int n)
{
    return (n + ELEMENTS - 1) / ELEMENTS * ELEMENTS;
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
fp8_quantize(const DTYPE *__restrict__ X, __nv_fp8_e4m3 *__restrict__ Q, float *__restrict__ S,
             int M, int K)
{
    X = ct::assume_aligned<16>(X);
    Q = ct::assume_aligned<16>(Q);
    int blocks = (K + BLOCK - 1) / BLOCK;
    auto layout = ct::layout_strided_mapping{ct::extents{M, K},
                                             ct::strides{padded<8>(K), ct::integral_constant<1>{}}};
    auto x = ct::partition_view{ct::tensor_span{X, layout}, ct::shape<ROWS, BLOCK>{}};
    auto q = ct::partition_view{ct::tensor_span{Q, ct::extents{M, padded<16>(K)}},
                                ct::shape<ROWS, BLOCK>{}};
    auto s = ct::partition_view{ct::tensor_span{S, ct::extents{M, blocks}}, ct::shape<ROWS, 1>{}};
    int row = ct::bid().x / blocks;
    int block = ct::bid().x % blocks;
    auto value = ct::element_cast<float>(x.load_masked(row, block));
    auto top = ct::reduce_max(ct::max(value, -value), columns{});
    auto scale = ct::select(top > 0.0f, top / LARGEST, ct::full<column_t>(1.0f));
    [[cutile::hint(0, allow_tma = false)]] q.store_masked(
        ct::element_cast<__nv_fp8_e4m3>(value / scale), row, block);
    s.store_masked(scale, row, block);
}
