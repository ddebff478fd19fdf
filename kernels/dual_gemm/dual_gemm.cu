// Y = silu(X G) * (X U) in CUDA Tile C++: the first half of a SwiGLU layer without its two
// intermediate matrices. Both products share the tile of X; fp32 accumulation.
//
// X is M x K, the weights G and U are stored N x K as linear layers keep them, Y is M x N,
// row-major. Every row starts at a multiple of 16 bytes, so a row of n elements occupies padded(n):
// ragged sizes take the same path as round ones. The padding of the inputs is never read; that of Y
// is written as zero.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);
constexpr int GROUP = 8; // rows of tiles that share the weights while these are in L2
constexpr float LOG2_E = 1.4426950408889634f;

__tile__ int padded(int n)
{
    return (n + ROW_ELEMENTS - 1) / ROW_ELEMENTS * ROW_ELEMENTS;
}

// Rows of `columns` elements that start `pitch` elements apart.
template <typename Size> __tile__ auto layout(int rows, Size columns, Size pitch)
{
    return ct::layout_strided_mapping{ct::extents{rows, columns},
                                      ct::strides{pitch, ct::integral_constant<1>{}}};
}

__tile__ void multiply(const DTYPE *X, const DTYPE *G, const DTYPE *U, DTYPE *Y, int M, int N,
                       int K, int pitch)
{
    auto x =
        ct::partition_view{ct::tensor_span{X, layout(M, K, pitch)}, ct::shape<TILE_M, TILE_K>{}};
    auto g =
        ct::partition_view{ct::tensor_span{G, layout(N, K, pitch)}, ct::shape<TILE_N, TILE_K>{}};
    auto u =
        ct::partition_view{ct::tensor_span{U, layout(N, K, pitch)}, ct::shape<TILE_N, TILE_K>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, ct::extents{M, padded(N)}},
                                ct::shape<TILE_M, TILE_N>{}};

    // The tile of this block: down the rows of a group, then to the next column. The last group may
    // be lower than the others.
    int tiles_m = (M + TILE_M - 1) / TILE_M;
    int tiles_n = (N + TILE_N - 1) / TILE_N;
    int id = ct::bid().x;
    int group_size = GROUP * tiles_n;
    int first = id / group_size * GROUP;
    int left = tiles_m - first;
    int height = left < GROUP ? left : GROUP;
    int row = first + id % group_size % height;
    int column = id % group_size / height;

    int steps = (K + TILE_K - 1) / TILE_K;
    auto gate = ct::full<ct::tile<float, ct::shape<TILE_M, TILE_N>>>(0.0f);
    auto up = gate;
    for (int t = 0; t < steps; ++t) {
        auto value = x.load_masked(row, t);
        gate = ct::mma(value, ct::transpose(g.load_masked(column, t)), gate);
        up = ct::mma(value, ct::transpose(u.load_masked(column, t)), up);
    }
    auto power = ct::exp2(gate * -LOG2_E,
                          to_zero{}); // infinite where the gate is far below 0: silu is then -0
    auto silu = ct::div(gate, 1.0f + power, ct::round_approximate_t{}, to_zero{});
    y.store_masked(ct::element_cast<DTYPE>(silu * up), row, column);
}

// Warps that compute. A block that has the multiprocessor to itself gets eight for a large tile:
// four would hold twice as much of it each, and spill. Where accumulators are not in registers
// (sm_100 and sm_103) four do.
constexpr int WARPS = OCCUPANCY == 1 && TILE_M * TILE_N >= 128 * 64 ? 8 : 4;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_cta_in_cga = NUM_CTAS,
                                num_worker_warps_per_cta = WARPS),
             hint(1000, num_worker_warps_per_cta = 4),
             hint(1030, num_worker_warps_per_cta = 4)]] __tile_global__ void
dual_gemm(const DTYPE *__restrict__ X, const DTYPE *__restrict__ G, const DTYPE *__restrict__ U,
          DTYPE *__restrict__ Y, int M, int N, int K)
{
    X = ct::assume_aligned<16>(X);
    G = ct::assume_aligned<16>(G);
    U = ct::assume_aligned<16>(U);
    Y = ct::assume_aligned<16>(Y);
    // The product tells the compiler that rows end at 16 bytes, so that archs without TMA need no
    // mask for each element; an assumption would leak into the other branch.
    if (K % ROW_ELEMENTS == 0)
        multiply(X, G, U, Y, M, N, K / ROW_ELEMENTS * ROW_ELEMENTS,
                 K / ROW_ELEMENTS * ROW_ELEMENTS);
    else
        multiply(X, G, U, Y, M, N, K, padded(K));
}
