// The matmul pack with what it leaves fixed as knobs: WARPS that compute, rows of a GROUP, blocks
// that walk over tiles (PERSISTENT).
//
// C = A B in CUDA Tile C++, fp32 accumulation.
//
// A is M x K, B is K x N, C is M x N, row-major. Every row starts at a multiple of 16 bytes, so a
// row of n elements occupies padded(n). This keeps ragged sizes (127, 4095) on the same TMA path as
// round ones: no shape needs another kernel. Padding columns of A meet rows of B that do not exist
// and read as zero, so A's padding must be finite; C's padding columns get the product with B's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);

__tile__ int padded(int n)
{
    return (n + ROW_ELEMENTS - 1) / ROW_ELEMENTS * ROW_ELEMENTS;
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_cta_in_cga = NUM_CTAS,
                                num_worker_warps_per_cta = WARPS)]]
__tile_global__ void matmul(const DTYPE* __restrict__ A, const DTYPE* __restrict__ B,
                            DTYPE* __restrict__ C, int M, int N, int K)
{
    A = ct::assume_aligned<16>(A);
    B = ct::assume_aligned<16>(B);
    C = ct::assume_aligned<16>(C);
    auto a = ct::partition_view{ct::tensor_span{A, ct::extents{M, padded(K)}},
                                ct::shape<TILE_M, TILE_K>{}};
    auto b = ct::partition_view{ct::tensor_span{B, ct::extents{K, padded(N)}},
                                ct::shape<TILE_K, TILE_N>{}};
    auto c = ct::partition_view{ct::tensor_span{C, ct::extents{M, padded(N)}},
                                ct::shape<TILE_M, TILE_N>{}};

    int tiles_m = (M + TILE_M - 1) / TILE_M;
    int tiles_n = (N + TILE_N - 1) / TILE_N;
    int group_size = GROUP * tiles_n;
    int steps = (K + TILE_K - 1) / TILE_K;
#if PERSISTENT
    int start = ct::bid().x;
    int stride = ct::num_blocks().x;
    int count = tiles_m * tiles_n;
    for (int id = start; id < count; id += stride)
#else
    int id = ct::bid().x;
#endif
    {
        // Down the rows of a group, then to the next column. The last group may be lower.
        int first = id / group_size * GROUP;
        int left = tiles_m - first;
        int height = left < GROUP ? left : GROUP;
        int row = first + id % group_size % height;
        int column = id % group_size / height;
        auto sum = ct::full<ct::tile<float, ct::shape<TILE_M, TILE_N>>>(0.0f);
        for (int t = 0; t < steps; ++t)
            sum = ct::mma(a.load_masked(row, t), b.load_masked(t, column), sum);
        c.store_masked(ct::element_cast<DTYPE>(sum), row, column);
    }
}
