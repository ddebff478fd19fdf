// Y = 2 X. The lines below speak to the fake toolchain of the tests alone.
// FAKE: error when TILE=64
// FAKE: crash when TILE=512
#include <cuda_tile.h>

extern "C" __tile_global__ void tiny_tile(const DTYPE* X, DTYPE* Y, int M, int N)
{
}
