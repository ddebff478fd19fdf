// The softmax pack with what it leaves fixed as knobs. SCHEDULE 0: a block per row; 1: as many blocks as
// fit walk over all.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t;

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
constexpr float LOG2_E = 1.4426950408889634f;
using padding = ct::view_padding_negative_inf_t;
using columns = ct::integral_constant<1>;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_worker_warps_per_cta = WARPS)]]
__tile_global__ void softmax(const DTYPE *__restrict__ X, DTYPE *__restrict__ Y, int M, int length)
{
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    auto shape = ct::extents{M, ct::integral_constant<N>{}};
    auto x = ct::partition_view{ct::tensor_span{X, shape}, ct::shape<1, WIDTH>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, shape}, ct::shape<1, WIDTH>{}};
    int count = M;
    int first = ct::bid().x;
#if SCHEDULE == 0
    int i = first;
    if (i < count) {
        LOAD auto piece = x.load_masked(padding{}, i, 0);
#else
    int stride = ct::num_blocks().x;
    for (int i = first; i < count; i += stride) {
        LOAD auto piece = x.load_masked(padding{}, i, 0);
#endif
        auto value = ct::element_cast<float>(piece) * LOG2_E;
        auto power = ct::exp2(value - ct::reduce_max(value, columns{}), to_zero{});
        auto result = power * (1.0f / ct::sum(power, columns{}));
        STORE y.store_masked(ct::element_cast<DTYPE>(result), i, 0);
    }
}
