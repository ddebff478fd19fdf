// C = A B for every matrix of a batch, in CUDA Tile C++, fp32 accumulation, with as many blocks as
// the device holds at once: each walks over output tiles, so that the stores of one tile overlap
// the loads of the next.
//
// A is G x M x K, B is G x K x N, C is G x M x N, row-major. Every row starts at a multiple of 16
// bytes, so a row of n elements occupies padded(n): ragged sizes take the same path as round ones.
// Padding columns of A meet rows of B that do not exist and read as zero, so A's padding must be
// finite; C's padding columns get the product with B's.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);
constexpr int GROUP = 8; // rows of tiles that share the columns of B while these are in L2

__tile__ int padded(int n)
{
    return (n + ROW_ELEMENTS - 1) / ROW_ELEMENTS * ROW_ELEMENTS;
}

// Warps that compute. A block that has the multiprocessor to itself gets eight for a large tile:
// four would hold twice as much of it each, and spill. Where accumulators are not in registers
// (sm_100 and sm_103) four do.
constexpr int WARPS = OCCUPANCY == 1 && TILE_M * TILE_N >= 128 * 128 ? 8 : 4;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_cta_in_cga = NUM_CTAS,
                                num_worker_warps_per_cta = WARPS),
             hint(1000, num_worker_warps_per_cta = 4),
             hint(1030, num_worker_warps_per_cta = 4)]] __tile_global__ void
bmm(const DTYPE *__restrict__ A, const DTYPE *__restrict__ B, DTYPE *__restrict__ C, int G, int M,
    int N, int K)
{
    A = ct::assume_aligned<16>(A);
    B = ct::assume_aligned<16>(B);
    C = ct::assume_aligned<16>(C);
    auto a = ct::partition_view{ct::tensor_span{A, ct::extents{G, M, padded(K)}},
                                ct::shape<1, TILE_M, TILE_K>{}};
    auto b = ct::partition_view{ct::tensor_span{B, ct::extents{G, K, padded(N)}},
                                ct::shape<1, TILE_K, TILE_N>{}};
    auto c = ct::partition_view{ct::tensor_span{C, ct::extents{G, M, padded(N)}},
                                ct::shape<1, TILE_M, TILE_N>{}};

    int tiles_m = (M + TILE_M - 1) / TILE_M;
    int tiles_n = (N + TILE_N - 1) / TILE_N;
    int group_size = GROUP * tiles_n;
    int matrix_size = tiles_m * tiles_n;
    int count = G * matrix_size;
    int steps = (K + TILE_K - 1) / TILE_K;
    int start = ct::bid().x;
    int stride = ct::num_blocks().x;
    for (int tile = start; tile < count; tile += stride) {
        // The tiles of one matrix lie together; in it down the rows of a group, then to the next
        // column. The last group may be lower than the others.
        int matrix = tile / matrix_size;
        int id = tile % matrix_size;
        int first = id / group_size * GROUP;
        int left = tiles_m - first;
        int height = left < GROUP ? left : GROUP;
        int row = first + id % group_size % height;
        int column = id % group_size / height;
        auto sum = ct::full<ct::tile<float, ct::shape<TILE_M, TILE_N>>>(0.0f);
        for (int t = 0; t < steps; ++t)
            sum = ct::mma(ct::reshape<ct::shape<TILE_M, TILE_K>>(a.load_masked(matrix, row, t)),
                          ct::reshape<ct::shape<TILE_K, TILE_N>>(b.load_masked(matrix, t, column)),
                          sum);
        auto result = ct::reshape<ct::shape<1, TILE_M, TILE_N>>(ct::element_cast<DTYPE>(sum));
        c.store_masked(result, matrix, row, column);
    }
}
