// The rope pack with what it leaves fixed as knobs. SCHEDULE 0: a block per step; 1: as many blocks as
// fit walk over all.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

#define LOAD [[using cutile: hint(0, allow_tma = false)]]
#define STORE [[using cutile: hint(0, allow_tma = false)]]

constexpr int HALF = DIM_D / 2; // a power of two here

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_worker_warps_per_cta = WARPS)]]
__tile_global__ void rope(const DTYPE *X, DTYPE *Y, const float *__restrict__ COS,
                          const float *__restrict__ SIN, int S, int H)
{
    using namespace ct::literals;
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    COS = ct::assume_aligned<16>(COS);
    SIN = ct::assume_aligned<16>(SIN);
    ct::integral_constant<HALF> half;
    auto heads = ct::extents{S, H, 2_ic, half};
    auto angles = ct::extents{S, 1_ic, 1_ic, half};
    auto x = ct::partition_view{ct::tensor_span{X, heads}, ct::shape<POSITIONS, HEADS, 1, HALF>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, heads}, ct::shape<POSITIONS, HEADS, 1, HALF>{}};
    auto cosines = ct::partition_view{ct::tensor_span{COS, angles}, ct::shape<POSITIONS, 1, 1, HALF>{}};
    auto sines = ct::partition_view{ct::tensor_span{SIN, angles}, ct::shape<POSITIONS, 1, 1, HALF>{}};
    int groups = (H + HEADS - 1) / HEADS;
    int count = (S + POSITIONS - 1) / POSITIONS * groups;
    int first = ct::bid().x;
#if SCHEDULE == 0
    int i = first;
    if (i < count) {
        LOAD auto left = x.load_masked(i / groups, i % groups, 0, 0);
        LOAD auto right = x.load_masked(i / groups, i % groups, 1, 0);
        LOAD auto c = cosines.load_masked(i / groups, 0, 0, 0);
        LOAD auto d = sines.load_masked(i / groups, 0, 0, 0);
#else
    int stride = ct::num_blocks().x;
    for (int i = first; i < count; i += stride) {
        LOAD auto left = x.load_masked(i / groups, i % groups, 0, 0);
        LOAD auto right = x.load_masked(i / groups, i % groups, 1, 0);
        LOAD auto c = cosines.load_masked(i / groups, 0, 0, 0);
        LOAD auto d = sines.load_masked(i / groups, 0, 0, 0);
#endif
        auto a = ct::element_cast<float>(left);
        auto b = ct::element_cast<float>(right);
        STORE y.store_masked(ct::element_cast<DTYPE>(a * c - b * d), i / groups, i % groups, 0, 0);
        STORE y.store_masked(ct::element_cast<DTYPE>(b * c + a * d), i / groups, i % groups, 1, 0);
    }
}
