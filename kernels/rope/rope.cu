// Rotary position embedding in CUDA Tile C++: in every head of D elements, element i of the first
// half and element i of the second are turned by the angle of their position. X and Y may be the
// same buffer: a block has read both halves of its heads before it writes them, and no other block
// touches these.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

static_assert(DIM_D % 2 == 0, "rope turns pairs: the head dim D must be even");

constexpr int HALF = DIM_D / 2;
constexpr int HEADS = 8; // of each position, per block

template <int N>
__tile__ constexpr int next_power_of_two()
{
    int p = 1;
    while (p < N)
        p *= 2;
    return p;
}

constexpr int WIDTH = next_power_of_two<HALF>();

// Positions of a block: 2048 elements of each half, so that enough loads are on their way, and no
// more than the registers of eight blocks bear.
constexpr int POSITIONS = WIDTH < 256 ? 256 / WIDTH : 1;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]]
__tile_global__ void rope(const DTYPE* X, DTYPE* Y, const float* __restrict__ COS, const float* __restrict__ SIN, int S, int H)
{
    using namespace ct::literals;
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    COS = ct::assume_aligned<16>(COS);
    SIN = ct::assume_aligned<16>(SIN);
    ct::integral_constant<HALF> half;
    auto heads = ct::extents{S, H, 2_ic, half};
    auto angles = ct::extents{S, 1_ic, 1_ic, half};
    auto x = ct::partition_view{ct::tensor_span{X, heads}, ct::shape<POSITIONS, HEADS, 1, WIDTH>{}};
    auto y = ct::partition_view{ct::tensor_span{Y, heads}, ct::shape<POSITIONS, HEADS, 1, WIDTH>{}};
    auto cosines = ct::partition_view{ct::tensor_span{COS, angles}, ct::shape<POSITIONS, 1, 1, WIDTH>{}};
    auto sines = ct::partition_view{ct::tensor_span{SIN, angles}, ct::shape<POSITIONS, 1, 1, WIDTH>{}};

    int groups = (H + HEADS - 1) / HEADS;
    int s = ct::bid().x / groups;
    int g = ct::bid().x % groups;
    auto c = cosines.load_masked(s, 0, 0, 0);
    auto d = sines.load_masked(s, 0, 0, 0);
    auto a = ct::element_cast<float>(x.load_masked(s, g, 0, 0));
    auto b = ct::element_cast<float>(x.load_masked(s, g, 1, 0));
    y.store_masked(ct::element_cast<DTYPE>(a * c - b * d), s, g, 0, 0);
    y.store_masked(ct::element_cast<DTYPE>(b * c + a * d), s, g, 1, 0);
}
