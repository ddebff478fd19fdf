// Y = X / rms(X) * W over rows of N elements, in CUDA Tile C++. A fixed number of blocks walks over
// all rows. A row is read twice; the second time it is still in L1 or L2.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 1024;
constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);

using block_t = ct::tile<float, ct::shape<1, BLOCK>>;

template <typename Size>
__tile__ void normalize(const DTYPE* X, const DTYPE* W, DTYPE* Y, int M, Size N, float EPS)
{
    auto x = ct::partition_view{ct::tensor_span{X, ct::extents{M, N}}, ct::shape<1, BLOCK>{}};
    auto w = ct::partition_view{ct::tensor_span{W, ct::extents{1, N}}, ct::shape<1, BLOCK>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, ct::extents{M, N}}, ct::shape<1, BLOCK>{}};
    int blocks = (N + BLOCK - 1) / BLOCK;
    int first = ct::bid().x;
    int stride = ct::num_blocks().x;
    for (int row = first; row < M; row += stride) {
        auto squares = ct::full<block_t>(0.0f);
        for (int i = 0; i < blocks; ++i) {
            auto value = ct::element_cast<float>(x.load_masked(row, i));
            squares = squares + value * value;
        }
        auto mean = ct::sum(squares, ct::integral_constant<1>{}) / float(N);
        auto scale = ct::rsqrt(mean + EPS);
        for (int i = 0; i < blocks; ++i) {
            auto value = ct::element_cast<float>(x.load_masked(row, i));
            auto weight = ct::element_cast<float>(w.load_masked(0, i));
            auto result = ct::element_cast<DTYPE>(value * scale * weight);
            [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, row, i);
        }
    }
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]]
__tile_global__ void rmsnorm(const DTYPE* __restrict__ X, const DTYPE* __restrict__ W,
                             DTYPE* __restrict__ Y, int M, int N, float EPS)
{
    X = ct::assume_aligned<16>(X);
    W = ct::assume_aligned<16>(W);
    Y = ct::assume_aligned<16>(Y);
    // The product tells the compiler that all rows are aligned; an assumption would leak into the
    // other branch.
    if (N % ROW_ELEMENTS == 0)
        normalize(X, W, Y, M, N / ROW_ELEMENTS * ROW_ELEMENTS, EPS);
    else
        normalize(X, W, Y, M, N, EPS);
}
