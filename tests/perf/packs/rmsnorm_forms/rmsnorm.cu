// The rmsnorm pack with what it leaves fixed as knobs. SCHEDULE 0: a block per row; 1: as many blocks as
// fit walk over all.
// WEIGHT_ONCE: the weights stay in registers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

#define LOAD [[using cutile: hint(0, allow_tma = LOAD_TMA)]]
#define STORE [[using cutile: hint(0, allow_tma = false)]]

template <int SIZE> __tile__ constexpr int next_power_of_two()
{
    int p = 1;
    while (p < SIZE)
        p *= 2;
    return p;
}

constexpr int N = DIM_N;
constexpr int WIDTH = next_power_of_two<N>();
using columns = ct::integral_constant<1>;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_worker_warps_per_cta = WARPS)]]
__tile_global__ void rmsnorm(const DTYPE *__restrict__ X, const DTYPE *__restrict__ W,
                             DTYPE *__restrict__ Y, int M, int length, float EPS)
{
    X = ct::assume_aligned<16>(X);
    W = ct::assume_aligned<16>(W);
    Y = ct::assume_aligned<16>(Y);
    auto shape = ct::extents{M, ct::integral_constant<N>{}};
    auto x = ct::partition_view{ct::tensor_span{X, shape}, ct::shape<1, WIDTH>{}};
    auto w = ct::partition_view{ct::tensor_span{W, ct::extents{1, ct::integral_constant<N>{}}},
                                ct::shape<1, WIDTH>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, shape}, ct::shape<1, WIDTH>{}};
    int count = M;
    int first = ct::bid().x;
#if WEIGHT_ONCE
    LOAD auto weight = w.load_masked(0, 0);
#endif
#if SCHEDULE == 0
    int i = first;
    if (i < count) {
        LOAD auto piece = x.load_masked(i, 0);
#else
    int stride = ct::num_blocks().x;
    for (int i = first; i < count; i += stride) {
        LOAD auto piece = x.load_masked(i, 0);
#endif
        auto value = ct::element_cast<float>(piece);
        auto mean = ct::sum(value * value, columns{}) * (1.0f / N);
#if !WEIGHT_ONCE
        LOAD auto weight = w.load_masked(0, 0);
#endif
        auto result = value * ct::rsqrt(mean + EPS) * ct::element_cast<float>(weight);
        STORE y.store_masked(ct::element_cast<DTYPE>(result), i, 0);
    }
}
