// Y = softmax(X) over rows of N elements, in CUDA Tile C++, fp32 throughout. A row of up to LIMIT
// elements is one tile: it is read once and stays in registers. A longer one is read twice, piece
// by piece: first for its maximum and sum, which are corrected as the maximum grows, then for the
// result. A block has one row, or several short ones: the multiprocessors take the next block while
// others wait for memory.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

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
constexpr float LOG2_E = 1.4426950408889634f;

// exp2 of a padding element, minus infinity, is 0: it adds nothing to a sum.
using padding = ct::view_padding_negative_inf_t;
using columns = ct::integral_constant<1>;

__tile__ void whole_rows(const DTYPE *X, DTYPE *Y, int M)
{
    constexpr int WIDTH = next_power_of_two<N>();
    constexpr int ROWS = WIDTH < ELEMENTS ? ELEMENTS / WIDTH : 1;
    auto shape = ct::extents{M, ct::integral_constant<N>{}};
    auto x = ct::partition_view{ct::tensor_span{X, shape}, ct::shape<ROWS, WIDTH>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, shape}, ct::shape<ROWS, WIDTH>{}};
    int place = ct::bid().x;
    [[cutile::hint(0, allow_tma = false)]] auto piece = x.load_masked(padding{}, place, 0);
    auto value = ct::element_cast<float>(piece) * LOG2_E;
    auto power = ct::exp2(value - ct::reduce_max(value, columns{}), to_zero{});
    auto result = ct::element_cast<DTYPE>(power * (1.0f / ct::sum(power, columns{})));
    [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, place, 0);
}

__tile__ void long_rows(const DTYPE *X, DTYPE *Y, int M, int length)
{
    auto shape = ct::extents{M, ct::integral_constant<N>{}};
    auto x = ct::partition_view{ct::tensor_span{X, shape}, ct::shape<1, BLOCK>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, shape}, ct::shape<1, BLOCK>{}};
    int blocks = (length + BLOCK - 1) / BLOCK; // a constant would be unrolled into huge code
    int row = ct::bid().x;
    // The first block always has elements of the row, so the maximum is finite from there on.
    auto value = ct::element_cast<float>(x.load_masked(padding{}, row, 0)) * LOG2_E;
    auto top = ct::reduce_max(value, columns{});
    auto total = ct::sum(ct::exp2(value - top, to_zero{}), columns{});
    for (int i = 1; i < blocks; ++i) {
        auto next = ct::element_cast<float>(x.load_masked(padding{}, row, i)) * LOG2_E;
        auto higher = ct::max(top, ct::reduce_max(next, columns{}));
        total = total * ct::exp2(top - higher, to_zero{}) +
                ct::sum(ct::exp2(next - higher, to_zero{}), columns{});
        top = higher;
    }
    auto scale = 1.0f / total;
    for (int i = 0; i < blocks; ++i) {
        auto next = ct::element_cast<float>(x.load_masked(padding{}, row, i)) * LOG2_E;
        auto result = ct::element_cast<DTYPE>(ct::exp2(next - top, to_zero{}) * scale);
        [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, row, i);
    }
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
softmax(const DTYPE *__restrict__ X, DTYPE *__restrict__ Y, int M, int length)
{
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    if constexpr (N <= LIMIT)
        whole_rows(X, Y, M);
    else
        long_rows(X, Y, M, length);
}
