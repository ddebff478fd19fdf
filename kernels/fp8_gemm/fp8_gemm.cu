// C = A B with fp8 operands that carry a scale per block, in CUDA Tile C++, fp32 accumulation.
//
// A is M x K with one scale for BLOCK elements of a row, B is stored N x K with one scale for
// BLOCK x BLOCK elements, C is M x N of bf16, row-major. Every row of A, B and C starts at a
// multiple of 16 bytes: ragged sizes take the same path as round ones. The padding of the inputs is
// never read; that of C is written as zero. A's scales stand by blocks of K, each with those of all
// rows: a tile's scales for one step lie together, and are loaded as its operands are.
//
// A step goes through one block of K: it has one scale for each row of A's tile. A tile has the
// columns of one block of B's scales, or half of them if it has few rows, since there would be few
// tiles: a step has one scale for B's tile.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 128;
constexpr int TILE_N = TILE_M < 64 ? BLOCK / 2 : BLOCK;
constexpr int GROUP = 2048 / TILE_M; // rows of tiles that share the columns of B in L2

template <int ELEMENTS> __tile__ int padded(int n)
{
    return (n + ELEMENTS - 1) / ELEMENTS * ELEMENTS;
}

// Rows of `pitch` elements, of which only the first `columns` are there.
template <typename T> __tile__ auto matrix(T *data, int rows, int columns, int pitch)
{
    return ct::tensor_span{
        data, ct::layout_strided_mapping{ct::extents{rows, columns},
                                         ct::strides{pitch, ct::integral_constant<1>{}}}};
}

// Warps that compute. A block that has the multiprocessor to itself gets eight for a large tile:
// four would hold twice as much of it each, and spill. Where accumulators are not in registers
// (sm_100 and sm_103) four do.
constexpr int WARPS = OCCUPANCY == 1 && TILE_M >= 64 ? 8 : 4;

// From sm_90 to sm_103 the tensor cores take 64 rows at a time, but any few columns: a tile of
// fewer rows is made as its transpose.
constexpr bool SWAP = TILE_M < 64 && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200;

template <bool TURN, typename T> __tile__ auto turned(T tile)
{
    if constexpr (TURN)
        return ct::transpose(tile);
    else
        return tile;
}

template <typename A, typename B, typename Sum> __tile__ Sum product(A a, B b, Sum sum)
{
    if constexpr (SWAP)
        return ct::mma(b, ct::transpose(a), sum);
    else
        return ct::mma(a, ct::transpose(b), sum);
}

// Steps at a time. Where products run beside other work, the second's is made while the first's is
// scaled and added; elsewhere two would but need more registers.
constexpr int STEPS = __CUDA_ARCH__ == 900 ? 2 : 1;

// How far loads run ahead on sm_90, in the compiler's measure. By itself it has but one step in
// flight, or makes the products wait for each other. With the first pair it makes products overlap.
constexpr bool OVERLAPS = TILE_M == 128 && OCCUPANCY == 1 && NUM_CTAS == 1;
constexpr int AHEAD = OVERLAPS ? 2 : 8;
constexpr int SCALES_AHEAD = OVERLAPS ? 4 : 8;

// Those of one step, beside the rows of a tile of C or of its transpose.
template <int STEP, typename Scales> __tile__ auto scales_of(Scales scales)
{
    return turned<!SWAP>(ct::extract(scales, ct::shape<1, TILE_M>{}, STEP, 0));
}

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
    A_SCALE = ct::assume_aligned<16>(A_SCALE);
    C = ct::assume_aligned<16>(C);
    int steps = (K + BLOCK - 1) / BLOCK;
    auto a = ct::partition_view{matrix(A, M, K, padded<16>(K)), ct::shape<TILE_M, BLOCK>{}};
    auto b = ct::partition_view{matrix(B, N, K, padded<16>(K)), ct::shape<TILE_N, BLOCK>{}};
    auto a_scale =
        ct::partition_view{matrix(A_SCALE, steps, M, padded<4>(M)), ct::shape<STEPS, TILE_M>{}};
    auto c = ct::partition_view{ct::tensor_span{C, ct::extents{M, padded<8>(N)}},
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
    const float *b_scale = B_SCALE + column * TILE_N / BLOCK * steps;

    // To add a product of fp8 to 0 takes an addition for each element, to -0 none: x + -0 is x.
    using sum_t = ct::tile<float, ct::shape<SWAP ? TILE_N : TILE_M, SWAP ? TILE_M : TILE_N>>;
    auto zero = ct::full<sum_t>(-0.0f);
    auto sum = ct::full<sum_t>(0.0f);
    int iterations = (steps + STEPS - 1) / STEPS;
    for (int i = 0; i < iterations; ++i) {
        int t = STEPS * i;
        int u = t + 1; // past the end it is all zeros
        [[cutile::hint(900, latency = AHEAD)]] auto at = a.load_masked(row, t);
        [[cutile::hint(900, latency = AHEAD)]] auto bt = b.load_masked(column, t);
        [[cutile::hint(900, latency = SCALES_AHEAD)]] auto scales = a_scale.load_masked(i, row);
        auto first_part = product(at, bt, zero);
        if constexpr (STEPS == 2) {
            [[cutile::hint(900, latency = AHEAD)]] auto au = a.load_masked(row, u);
            [[cutile::hint(900, latency = AHEAD)]] auto bu = b.load_masked(column, u);
            auto second_part = product(au, bu, zero);
            sum = sum + first_part * (scales_of<0>(scales) * b_scale[t]);
            sum = sum + second_part * (scales_of<1>(scales) * b_scale[u < steps ? u : t]);
        } else {
            sum = sum + first_part * (scales_of<0>(scales) * b_scale[t]);
        }
    }
    c.store_masked(turned<SWAP>(ct::element_cast<__nv_bfloat16>(sum)), row, column);
}
