/* Writes a small HDF5 file for cases with dataset fills: make_numbers OUT.h5
 *   x        128 numbers of f16
 *   lengths  4 of i32, big-endian
 *   wide     4 of i64 */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>

#define MOST 128

static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

static bool put(hid_t file, const char *name, hid_t type, hsize_t count)
{
    int values[MOST];
    for (int i = 0; i < MOST; i++)
        values[i] = i;
    hid_t space = H5Screate_simple(1, &count, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    H5Dclose(dataset);
    H5Sclose(space);
    return ok;
}

int main(int argc, char **argv)
{
    hid_t file = argc == 2 ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : -1;
    if (file < 0) {
        fprintf(stderr, "usage: make_numbers OUT.h5\n");
        return 2;
    }
    hid_t half = half_type();
    bool ok = put(file, "x", half, MOST) && put(file, "lengths", H5T_STD_I32BE, 4) &&
              put(file, "wide", H5T_STD_I64LE, 4);
    H5Tclose(half);
    H5Fclose(file);
    return ok ? 0 : 1;
}
