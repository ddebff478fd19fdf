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
constexpr int HEADS = 8;       // of each position, per block
constexpr int ELEMENTS = 1024; // of each half, per block

template <int N> __tile__ constexpr int next_power_of_two()
{
    int p = 1;
    while (p < N)
        p *= 2;
    return p;
}

constexpr int WIDTH = next_power_of_two<HALF>();
// Neighbours that lie in one thread: a load of f16, two of f32.
constexpr int GROUP = HALF % 8 == 0 ? 8 : 1;
constexpr int POSITIONS = WIDTH * HEADS < ELEMENTS ? ELEMENTS / HEADS / WIDTH : 1;

using heads_t = ct::shape<POSITIONS, HEADS, 1, WIDTH / GROUP, GROUP>;
using angles_t = ct::shape<POSITIONS, 1, 1, WIDTH / GROUP, GROUP>;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
rope(const DTYPE *X, DTYPE *Y, const float *__restrict__ COS, const float *__restrict__ SIN, int S,
     int H)
{
    using namespace ct::literals;
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    COS = ct::assume_aligned<16>(COS);
    SIN = ct::assume_aligned<16>(SIN);
    ct::integral_constant<HALF / GROUP> half;
    ct::integral_constant<GROUP> group;
    auto heads = ct::extents{S, H, 2_ic, half, group};
    auto angles = ct::extents{S, 1_ic, 1_ic, half, group};
    auto x = ct::partition_view{ct::tensor_span{X, heads}, heads_t{}};
    auto y = ct::partition_view{ct::tensor_span{Y, heads}, heads_t{}};
    auto cosines = ct::partition_view{ct::tensor_span{COS, angles}, angles_t{}};
    auto sines = ct::partition_view{ct::tensor_span{SIN, angles}, angles_t{}};

    int groups = (H + HEADS - 1) / HEADS;
    int s = ct::bid().x / groups;
    int g = ct::bid().x % groups;
    // Loads without a mask are under way together; with one, each waits for the one before.
    if (HALF == WIDTH && S - s * POSITIONS >= POSITIONS && H - g * HEADS >= HEADS) {
        [[cutile::hint(0, allow_tma = false)]] auto c = cosines.load(s, 0, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto d = sines.load(s, 0, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto left = x.load(s, g, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto right = x.load(s, g, 1, 0, 0);
        auto a = ct::element_cast<float>(left);
        auto b = ct::element_cast<float>(right);
        [[cutile::hint(0, allow_tma = false)]] y.store(ct::element_cast<DTYPE>(a * c - b * d), s, g,
                                                       0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] y.store(ct::element_cast<DTYPE>(b * c + a * d), s, g,
                                                       1, 0, 0);
    } else {
        [[cutile::hint(0, allow_tma = false)]] auto c = cosines.load_masked(s, 0, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto d = sines.load_masked(s, 0, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto left = x.load_masked(s, g, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] auto right = x.load_masked(s, g, 1, 0, 0);
        auto a = ct::element_cast<float>(left);
        auto b = ct::element_cast<float>(right);
        [[cutile::hint(0, allow_tma = false)]] y.store_masked(
            ct::element_cast<DTYPE>(a * c - b * d), s, g, 0, 0, 0);
        [[cutile::hint(0, allow_tma = false)]] y.store_masked(
            ct::element_cast<DTYPE>(b * c + a * d), s, g, 1, 0, 0);
    }
}
