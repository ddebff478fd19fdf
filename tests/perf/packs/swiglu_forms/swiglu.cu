// The swiglu pack with what it leaves fixed as knobs. SCHEDULE 0: a block per piece of a row; 1: as many blocks as
// fit walk over all.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t;

#define LOAD [[using cutile: hint(0, allow_tma = false)]]
#define STORE [[using cutile: hint(0, allow_tma = false)]]

constexpr float LOG2_E = 1.4426950408889634f;
constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_worker_warps_per_cta = WARPS)]]
__tile_global__ void swiglu(const DTYPE *__restrict__ X, DTYPE *__restrict__ Y, int M, int length)
{
    using namespace ct::literals;
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    int N = length / ROW_ELEMENTS * ROW_ELEMENTS; // whole rows of 16 bytes only
    auto x =
        ct::partition_view{ct::tensor_span{X, ct::extents{M, 2_ic, N}}, ct::shape<1, 1, BLOCK>{}};
    auto y =
        ct::partition_view{ct::tensor_span{Y, ct::extents{M, 1_ic, N}}, ct::shape<1, 1, BLOCK>{}};
    int blocks = (N + BLOCK - 1) / BLOCK;
    int count = M * blocks;
    int first = ct::bid().x;
#if SCHEDULE == 0
    int i = first;
    if (i < count) {
        LOAD auto gate = x.load_masked(i / blocks, 0, i % blocks);
        LOAD auto up = x.load_masked(i / blocks, 1, i % blocks);
#else
    int stride = ct::num_blocks().x;
    for (int i = first; i < count; i += stride) {
        LOAD auto gate = x.load_masked(i / blocks, 0, i % blocks);
        LOAD auto up = x.load_masked(i / blocks, 1, i % blocks);
#endif
        auto g = ct::element_cast<float>(gate);
        auto power = ct::exp2(g * -LOG2_E, to_zero{});
        auto silu = ct::div(g, 1.0f + power, ct::round_approximate_t{}, to_zero{});
        auto result = ct::element_cast<DTYPE>(silu * ct::element_cast<float>(up));
        STORE y.store_masked(result, i / blocks, 0, i % blocks);
    }
}
