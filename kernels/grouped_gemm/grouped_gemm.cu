// C = A B[e] for each group e of rows of A, in CUDA Tile C++, fp32 accumulation: the matmul of a
// mixture of experts. Rows OFFSETS[e] up to OFFSETS[e + 1] of A belong to group e; a group may have
// none.
//
// A is T x K, B is E x K x N, C is T x N, row-major. Every row starts at a multiple of 16 bytes, so
// a row of n elements occupies padded(n): ragged sizes take the same path as round ones. Padding
// columns of A meet rows of B that do not exist and read as zero, so A's padding must be finite;
// C's padding columns get the product with B's. As many blocks as the device holds at once walk
// over the tiles of all groups.
//
// A group starts at any row, so A is seen as tiles that start at every row: one view of all of A,
// whose descriptor comes with the launch. A view of each group's own would have to be described on
// the device, by every block for every group, which takes longer than many a product. The rows
// that a tile of A has of the next group are not stored.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);

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
grouped_gemm(const DTYPE *__restrict__ A, const DTYPE *__restrict__ B,
             const int *__restrict__ OFFSETS, DTYPE *__restrict__ C, int E, int T, int N, int K)
{
    A = ct::assume_aligned<16>(A);
    B = ct::assume_aligned<16>(B);
    C = ct::assume_aligned<16>(C);
    auto a =
        ct::strided_view{ct::tensor_span{A, ct::extents{T, padded(K)}}, ct::shape<TILE_M, TILE_K>{},
                         ct::strides{ct::integral_constant<1>{}, ct::integral_constant<TILE_K>{}}};
    auto b = ct::partition_view{ct::tensor_span{B, ct::extents{E, K, padded(N)}},
                                ct::shape<1, TILE_K, TILE_N>{}};
    int tiles_n = (N + TILE_N - 1) / TILE_N;
    int steps = (K + TILE_K - 1) / TILE_K;
    int stride = ct::num_blocks().x;
    int id = ct::bid().x; // of a tile, counted from the first one of the group
    int begin = OFFSETS[0];
    int next_end = OFFSETS[1];
    for (int e = 0; e < E; ++e) {
        int end = next_end;
        next_end = OFFSETS[e + 2 <= E ? e + 2 : E]; // ahead: its way is longer than this step
        int tiles_m = (end - begin + TILE_M - 1) / TILE_M;
        int count = tiles_m * tiles_n;
        for (; id < count; id += stride) {
            // Down the rows first: they share the columns of the group's matrix.
            int row = begin + id % tiles_m * TILE_M;
            int column = id / tiles_m;
            auto sum = ct::full<ct::tile<float, ct::shape<TILE_M, TILE_N>>>(0.0f);
            for (int t = 0; t < steps; ++t)
                sum = ct::mma(a.load_masked(row, t),
                              ct::reshape<ct::shape<TILE_K, TILE_N>>(b.load_masked(e, t, column)),
                              sum);
            // Described on the device as well if it were stored by TMA.
            auto c = ct::partition_view{
                ct::tensor_span{C + (long long)row * padded(N), ct::extents{end - row, padded(N)}},
                ct::shape<TILE_M, TILE_N>{}};
            [[cutile::hint(0, allow_tma = false)]] c.store_masked(ct::element_cast<DTYPE>(sum), 0,
                                                                  column);
        }
        id -= count;
        begin = end;
    }
}
