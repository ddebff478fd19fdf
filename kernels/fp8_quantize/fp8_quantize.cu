// Q = X / S in fp8, S = max |X| / 448 over each BLOCK elements of a row, or 1 where that maximum is
// next to 0: the activations of fp8_gemm, in CUDA Tile C++. Both divisions round to nearest: an
// approximate one would give another fp8 number where a quotient lies between two.
//
// X is M x K, Q is M x K of e4m3, S is M x (K / BLOCK rounded up), row-major. Rows of X start at a
// multiple of 8 elements, those of Q at one of 16, as fp8_gemm wants them; Q's padding is written
// as zero. A block has ROWS pieces of BLOCK elements: neighbours in memory where BLOCK divides K,
// else one of each of ROWS rows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 128;
constexpr int ROWS = 32;
constexpr float LARGEST = 448.0f; // of e4m3
constexpr float LEAST = 0x1p-80f; // maximum of a piece that is not taken for zero

using columns = ct::integral_constant<1>;
using value_t = ct::tile<float, ct::shape<ROWS, BLOCK>>;
using quotients_t = ct::tile<__nv_fp8_e4m3, ct::shape<ROWS, BLOCK>>;
using column_t = ct::tile<float, ct::shape<ROWS, 1>>;

template <int ELEMENTS> __tile__ int padded(int n)
{
    return (n + ELEMENTS - 1) / ELEMENTS * ELEMENTS;
}

// value / divisor to nearest by the divisor's reciprocal to nearest: the product is off by one
// place at most, and its excess, which fma gives exactly, corrects it. A zero keeps its sign.
template <typename Tile, typename Divisor>
__tile__ Tile quotient(Tile value, Divisor divisor, Divisor inverse)
{
    auto near = value * inverse;
    auto excess = ct::fma(near, divisor, -value);
    return ct::fma(-excess, inverse, near);
}

struct result {
    quotients_t quotients;
    column_t scales;
};

__tile__ result scaled(value_t value)
{
    auto one = ct::full<column_t>(1.0f);
    auto top = ct::reduce_max(ct::abs(value), columns{});
    auto scale = ct::select(top >= LEAST, quotient(top, LARGEST, 1.0f / LARGEST), one);
    auto inverse = one / scale;
    return {ct::element_cast<__nv_fp8_e4m3>(quotient(value, scale, inverse)), scale};
}

// PX and PQ are what rows of X and Q take.
template <typename Size, typename SizeX, typename SizeQ>
__tile__ void quantize(const DTYPE *X, __nv_fp8_e4m3 *Q, float *S, int M, Size K, SizeX PX,
                       SizeQ PQ)
{
    using shape_t = ct::shape<ROWS, BLOCK>;
    int blocks = (K + BLOCK - 1) / BLOCK;
    auto x = ct::partition_view{ct::tensor_span{X, ct::extents{M, PX}}, shape_t{}};
    auto q = ct::partition_view{ct::tensor_span{Q, ct::extents{M, PQ}}, shape_t{}};
    auto s = ct::partition_view{ct::tensor_span{S, ct::extents{M, blocks}}, ct::shape<ROWS, 1>{}};
    int row = ct::bid().x / blocks;
    int block = ct::bid().x % blocks;
    // Loads without a mask are under way together; with one, each waits for the one before.
    if (M - row * ROWS >= ROWS && K - block * BLOCK >= BLOCK) {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load(row, block);
        auto y = scaled(ct::element_cast<float>(piece));
        [[cutile::hint(0, allow_tma = false)]] q.store(y.quotients, row, block);
        s.store(y.scales, row, block);
    } else {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load_masked(row, block);
        auto column = block * BLOCK +
                      ct::reshape<ct::shape<1, BLOCK>>(ct::iota<ct::tile<int, ct::shape<BLOCK>>>());
        auto value = ct::select(ct::full<ct::tile<int, shape_t>>(0) + column < int(K),
                                ct::element_cast<float>(piece), ct::full<value_t>(0.0f));
        auto y = scaled(value);
        [[cutile::hint(0, allow_tma = false)]] q.store_masked(y.quotients, row, block);
        s.store_masked(y.scales, row, block);
    }
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
fp8_quantize(const DTYPE *__restrict__ X, __nv_fp8_e4m3 *__restrict__ Q, float *__restrict__ S,
             int M, int K)
{
    X = ct::assume_aligned<16>(X);
    Q = ct::assume_aligned<16>(Q);
    S = ct::assume_aligned<16>(S);
    ct::integral_constant<BLOCK> one;
    if (K % BLOCK == 0)
        quantize(X, Q, S, M * (K / BLOCK), one, one, one);
    else
        quantize(X, Q, S, M, K, padded<8>(K), padded<16>(K));
}
