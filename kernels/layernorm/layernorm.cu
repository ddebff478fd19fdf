// Y = (X - mean) / sqrt(variance + EPS) * W + B over rows of N elements, in CUDA Tile C++, fp32
// throughout. A row of up to LIMIT elements is one tile: it is read once and stays in registers. A
// longer one is read three times, piece by piece: for the mean, for the variance around it, and for
// the result. A block has one row, or several short ones: the multiprocessors take the next block
// while others wait for memory.
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
using row_t = ct::tile<float, ct::shape<1, WIDTH>>;
using rows_t = ct::tile<float, ct::shape<ROWS, WIDTH>>;

// 1 where block i of a row has an element, else 0: elements past the end have a difference from the
// mean that must not count.
__tile__ auto inside(int i)
{
    auto column = ct::reshape<ct::shape<1, WIDTH>>(ct::iota<ct::tile<int, ct::shape<WIDTH>>>());
    return ct::select(column < N - i * WIDTH, ct::full<row_t>(1.0f), ct::full<row_t>(0.0f));
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
layernorm(const DTYPE *__restrict__ X, const DTYPE *__restrict__ W, const DTYPE *__restrict__ B,
          DTYPE *__restrict__ Y, int M, int length, float EPS)
{
    X = ct::assume_aligned<16>(X);
    W = ct::assume_aligned<16>(W);
    B = ct::assume_aligned<16>(B);
    Y = ct::assume_aligned<16>(Y);
    ct::integral_constant<N> width;
    auto x =
        ct::partition_view{ct::tensor_span{X, ct::extents{M, width}}, ct::shape<ROWS, WIDTH>{}};
    auto w = ct::partition_view{ct::tensor_span{W, ct::extents{ct::integral_constant<1>{}, width}},
                                ct::shape<1, WIDTH>{}};
    auto b = ct::partition_view{ct::tensor_span{B, ct::extents{ct::integral_constant<1>{}, width}},
                                ct::shape<1, WIDTH>{}};
    auto y =
        ct::partition_view{ct::tensor_span{Y, ct::extents{M, width}}, ct::shape<ROWS, WIDTH>{}};
    int place = ct::bid().x;
    if constexpr (N <= LIMIT) {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load_masked(place, 0);
        [[cutile::hint(0, allow_tma = false)]] auto weight = w.load_masked(0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto bias = b.load_masked(0, 0);
        auto value = ct::element_cast<float>(piece);
        auto centred = value - ct::sum(value, columns{}) * (1.0f / N);
        if constexpr (N < WIDTH)
            centred = centred * inside(0);
        auto variance = ct::sum(centred * centred, columns{}) * (1.0f / N);
        auto result = centred * ct::rsqrt(variance + EPS) * ct::element_cast<float>(weight) +
                      ct::element_cast<float>(bias);
        [[cutile::hint(0, allow_tma = false)]] y.store_masked(ct::element_cast<DTYPE>(result),
                                                              place, 0);
    } else {
        int blocks = (length + WIDTH - 1) / WIDTH; // a constant would be unrolled into huge code
        auto total = ct::full<rows_t>(0.0f);
        for (int i = 0; i < blocks; ++i)
            total = total + ct::element_cast<float>(x.load_masked(place, i));
        auto mean = ct::sum(total, columns{}) * (1.0f / N);
        auto squares = ct::full<rows_t>(0.0f);
        for (int i = 0; i < blocks; ++i) {
            auto centred = (ct::element_cast<float>(x.load_masked(place, i)) - mean) * inside(i);
            squares = squares + centred * centred;
        }
        auto scale = ct::rsqrt(ct::sum(squares, columns{}) * (1.0f / N) + EPS);
        for (int i = 0; i < blocks; ++i) {
            auto centred = ct::element_cast<float>(x.load_masked(place, i)) - mean;
            auto weight = ct::element_cast<float>(w.load_masked(0, i));
            auto bias = ct::element_cast<float>(b.load_masked(0, i));
            auto result = ct::element_cast<DTYPE>(centred * scale * weight + bias);
            [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, place, i);
        }
    }
}
