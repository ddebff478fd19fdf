// A matmul that, for PAST_BYTES > 0, also stores one tile that far past the end of C, through a view (by
// TMA on sm_90): memcheck does not see such stores, fences do.
#include <cuda_tile.h>
#include <cuda_fp16.h>
namespace ct = cuda::tiles;

extern "C" [[using cutile : hint(0, occupancy = OCCUPANCY)]]
__tile_global__ void tile_faults(const DTYPE *__restrict__ a, const DTYPE *__restrict__ b,
                                 DTYPE *__restrict__ c, int M, int N, int K)
{
    a = ct::assume_aligned<16>(a);
    b = ct::assume_aligned<16>(b);
    c = ct::assume_aligned<16>(c);
    auto m = ct::assume_divisible<16>(M);
    auto n = ct::assume_divisible<16>(N);
    auto k = ct::assume_divisible<16>(K);
    auto a_tiles = ct::partition_view{ct::tensor_span{a, ct::extents{m, k}}, ct::shape<64, 64>{}};
    auto b_tiles = ct::partition_view{ct::tensor_span{b, ct::extents{k, n}}, ct::shape<64, 64>{}};
    auto c_tiles = ct::partition_view{ct::tensor_span{c, ct::extents{m, n}}, ct::shape<64, 64>{}};
    int i = ct::bid().x;
    int j = ct::bid().y;
    auto sum = ct::full<ct::tile<float, ct::shape<64, 64>>>(0.0f);
    int steps = (K + 63) / 64;
    for (int t = 0; t < steps; ++t)
        sum = ct::mma(a_tiles.load_masked(i, t), b_tiles.load_masked(t, j), sum);
    auto result = ct::element_cast<DTYPE>(sum);
    c_tiles.store_masked(result, i, j);
    if constexpr (PAST_BYTES > 0) {
        DTYPE *end = ct::assume_aligned<16>(c + (long long)M * N + PAST_BYTES / sizeof(DTYPE));
        auto beyond = ct::partition_view{ct::tensor_span{end, ct::extents{m, n}}, ct::shape<64, 64>{}};
        if (i == 0 && j == 0)
            beyond.store_masked(result, 0, 0);
    }
}
