// Y = X / rms(X) * W over rows of N elements, in CUDA Tile C++, fp32 throughout. A row of
// up to LIMIT elements is one tile: it is read once and stays in registers. A longer one is read
// twice, piece by piece; the second time it is in L2. A block has one row, or several short ones:
// the multiprocessors take the next block while others wait for memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

template <int SIZE> __tile__ constexpr int next_power_of_two()
{
    int p = 1;
    while (p < SIZE)
        p *= 2;
    return p;
}

constexpr int N = DIM_N;
constexpr int LIMIT = 16384;   // elements of a row that is one tile
constexpr int BLOCK = 2048;    // elements of a step over a longer one
constexpr int ELEMENTS = 2048; // of a tile of several short rows

constexpr int WIDTH = N <= LIMIT ? next_power_of_two<N>() : BLOCK;
constexpr int ROWS = N <= LIMIT && WIDTH < ELEMENTS ? ELEMENTS / WIDTH : 1;

using columns = ct::integral_constant<1>;
using rows_t = ct::tile<float, ct::shape<ROWS, WIDTH>>;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
rmsnorm(const DTYPE *__restrict__ X, const DTYPE *__restrict__ W, DTYPE *__restrict__ Y, int M,
        int length, float EPS)
{
    X = ct::assume_aligned<16>(X);
    W = ct::assume_aligned<16>(W);
    Y = ct::assume_aligned<16>(Y);
    ct::integral_constant<N> width;
    auto x =
        ct::partition_view{ct::tensor_span{X, ct::extents{M, width}}, ct::shape<ROWS, WIDTH>{}};
    auto w = ct::partition_view{ct::tensor_span{W, ct::extents{ct::integral_constant<1>{}, width}},
                                ct::shape<1, WIDTH>{}};
    auto y =
        ct::partition_view{ct::tensor_span{Y, ct::extents{M, width}}, ct::shape<ROWS, WIDTH>{}};
    int place = ct::bid().x;
    if constexpr (N <= LIMIT) {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load_masked(place, 0);
        [[cutile::hint(0, allow_tma = false)]] auto weight = w.load_masked(0, 0);
        auto value = ct::element_cast<float>(piece);
        auto mean = ct::sum(value * value, columns{}) * (1.0f / N);
        auto result = value * ct::rsqrt(mean + EPS) * ct::element_cast<float>(weight);
        [[cutile::hint(0, allow_tma = false)]] y.store_masked(ct::element_cast<DTYPE>(result),
                                                              place, 0);
    } else {
        int blocks = (length + WIDTH - 1) / WIDTH; // a constant would be unrolled into huge code
        auto squares = ct::full<rows_t>(0.0f);
        for (int i = 0; i < blocks; ++i) {
            auto value = ct::element_cast<float>(x.load_masked(place, i));
            squares = squares + value * value;
        }
        auto scale = ct::rsqrt(ct::sum(squares, columns{}) * (1.0f / N) + EPS);
        for (int i = 0; i < blocks; ++i) {
            auto value = ct::element_cast<float>(x.load_masked(place, i));
            auto weight = ct::element_cast<float>(w.load_masked(0, i));
            auto result = ct::element_cast<DTYPE>(value * scale * weight);
            [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, place, i);
        }
    }
}
