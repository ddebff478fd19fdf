// C = A B with fp8 operands that carry a scale per block, in CUDA Tile C++, fp32 accumulation.
//
// A is M x K with one scale for BLOCK elements of a row, B is stored N x K with one scale for
// BLOCK x BLOCK elements, C is M x N of bf16, row-major. Every row of A, B and C starts at a
// multiple of 16 bytes: ragged sizes take the same path as round ones. The padding of the inputs is
// never read; that of C is written as zero. The tiles of N and K are the blocks of the scales, so
// that each step has one scale for all of B's tile and one column of scales for A's.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 128;
constexpr int GROUP = 8; // rows of tiles that share the columns of B while these are in L2

template <int ELEMENTS> __tile__ int padded(int n)
{
    return (n + ELEMENTS - 1) / ELEMENTS * ELEMENTS;
}

// A matrix of padded rows, of which only the first `columns` elements are there.
__tile__ auto matrix(const DTYPE *data, int rows, int columns)
{
    return ct::tensor_span{data, ct::layout_strided_mapping{
                                     ct::extents{rows, columns},
                                     ct::strides{padded<16>(columns), ct::integral_constant<1>{}}}};
}

// Warps that compute. A block that has the multiprocessor to itself gets eight for a large tile:
// four would hold twice as much of it each, and spill. Where accumulators are not in registers
// (sm_100 and sm_103) four do.
constexpr int WARPS = OCCUPANCY == 1 && TILE_M >= 64 ? 8 : 4;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_cta_in_cga = NUM_CTAS,
                                num_worker_warps_per_cta = WARPS),
             hint(1000, num_worker_warps_per_cta = 4),
             hint(1030, num_worker_warps_per_cta = 4)]] __tile_global__ void
fp8_gemm(const DTYPE *__restrict__ A, const DTYPE *__restrict__ B,
         const float *__restrict__ A_SCALE, const float *__restrict__ B_SCALE,
         __nv_bfloat16 *__restrict__ C, int M, int N, int K)
{
    A = ct::assume_aligned<16>(A);
    B = ct::assume_aligned<16>(B);
    C = ct::assume_aligned<16>(C);
    int steps = (K + BLOCK - 1) / BLOCK;
    auto a = ct::partition_view{matrix(A, M, K), ct::shape<TILE_M, BLOCK>{}};
    auto b = ct::partition_view{matrix(B, N, K), ct::shape<BLOCK, BLOCK>{}};
    auto a_scale =
        ct::partition_view{ct::tensor_span{A_SCALE, ct::extents{M, steps}}, ct::shape<TILE_M, 1>{}};
    auto c = ct::partition_view{ct::tensor_span{C, ct::extents{M, padded<8>(N)}},
                                ct::shape<TILE_M, BLOCK>{}};

    // The tile of this block: down the rows of a group, then to the next column. The last group may
    // be lower than the others.
    int tiles_m = (M + TILE_M - 1) / TILE_M;
    int tiles_n = (N + BLOCK - 1) / BLOCK;
    int id = ct::bid().x;
    int group_size = GROUP * tiles_n;
    int first = id / group_size * GROUP;
    int left = tiles_m - first;
    int height = left < GROUP ? left : GROUP;
    int row = first + id % group_size % height;
    int column = id % group_size / height;

    auto zero = ct::full<ct::tile<float, ct::shape<TILE_M, BLOCK>>>(0.0f);
    auto sum = zero;
    for (int t = 0; t < steps; ++t) {
        auto part = ct::mma(a.load_masked(row, t), ct::transpose(b.load_masked(column, t)), zero);
        auto scale = a_scale.load_masked(row, t) * B_SCALE[column * steps + t];
        sum = sum + part * scale;
    }
    c.store_masked(ct::element_cast<__nv_bfloat16>(sum), row, column);
}
