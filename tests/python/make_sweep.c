/* Writes a made-up sweep for the tests of analysis/: make_sweep OUT.h5. Cells 0 and 1 have one
 * shape and stand on two nodes. */
#include "dataset_maker.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_sweep OUT.h5\n");
        return 2;
    }
    const tsw_make_t make = {
        .seed = 21, .cells = 4, .configs = 5, .rounds = 12, .nodes = 2, .attempt = 1};
    tsw_dataset_t dataset = tsw_make_dataset(&make);
    memcpy(dataset.cells[1].shape, dataset.cells[0].shape, sizeof(dataset.cells[1].shape));
    tsw_dataset_canonicalise(&dataset);
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_store_write(argv[1], &dataset, &err);
    if (status != TSW_OK)
        fprintf(stderr, "make_sweep: %s\n", err.text);
    tsw_dataset_fini(&dataset);
    return status == TSW_OK ? 0 : 1;
}
