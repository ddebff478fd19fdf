/* A kernel pack: one folder with kernel.yaml, the tunable source and a plain reference kernel.
 * Data only. docs/kernel-pack.md describes every key of kernel.yaml. */
#ifndef TSW_PACK_PACK_H
#define TSW_PACK_PACK_H

#include "base/fileset.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/expr.h"

#include <stdbool.h>
#include <stdint.h>

#define TSW_DIM_MAX  16 /* dims of a pack */
#define TSW_FLAG_MAX 8
#define TSW_KNOB_MAX 16 /* tunables and hints of a pack */

typedef enum { /* the nine kinds; docs/kernel-pack.md */
               TSW_TEMPLATE_T1_ELEMENTWISE = 1,
               TSW_TEMPLATE_T2_IN_PLACE,
               TSW_TEMPLATE_T3_MATMUL,
               TSW_TEMPLATE_T4_PERSISTENT,
               TSW_TEMPLATE_T5_FMHA,
               TSW_TEMPLATE_T6_FP8,
               TSW_TEMPLATE_T7_GROUPED,
               TSW_TEMPLATE_T8_VARLEN,
               TSW_TEMPLATE_T9_DUAL,
} tsw_template_t;

typedef enum { TSW_CLASS_MEMORY, TSW_CLASS_BALANCED, TSW_CLASS_COMPUTE } tsw_class_t;
typedef enum { TSW_LANGUAGE_TILE, TSW_LANGUAGE_CUDA } tsw_language_t;

typedef enum {
    TSW_ROLE_IN,
    TSW_ROLE_OUT,
    TSW_ROLE_INOUT,     /* two kernel parameters: pointer to read, pointer to write */
    TSW_ROLE_WORKSPACE, /* contents undefined before and after */
    TSW_ROLE_SCALAR,
} tsw_role_t;

typedef enum {
    TSW_FILL_NONE,     /* outputs, workspaces */
    TSW_FILL_NORMAL,   /* a: mean, b: standard deviation */
    TSW_FILL_UNIFORM,  /* [a, b) */
    TSW_FILL_INDEX,    /* uniform integers lo..hi */
    TSW_FILL_SEQUENCE, /* lo, lo + hi, lo + 2 hi, ... */
    TSW_FILL_OFFSETS,  /* size elements, non-decreasing from 0 to hi: ragged segments */
    TSW_FILL_DATASET,  /* an HDF5 dataset file:name beside kernel.yaml */
} tsw_fill_kind_t;

typedef struct {
    tsw_fill_kind_t kind;
    double a, b;
    tsw_expr_t lo, hi;
    char *file;    /* dataset: file in the pack folder */
    char *dataset; /* dataset: path inside the file */
} tsw_fill_t;

typedef struct {
    char *name;
    tsw_role_t role;
    tsw_dtype_t dtype;   /* TSW_DTYPE_OF_CELL: the cell's */
    tsw_expr_t size;     /* buffers: elements */
    tsw_expr_t row;      /* buffers, optional: elements of one row, for the fence's width */
    int64_t align_bytes; /* buffers: alignment that the kernel may assume */
    tsw_fill_t fill;     /* buffers */
    tsw_expr_t value;    /* scalars */
    tsw_place_t place;
} tsw_arg_t;

/* A tunable (a -D macro) or a hint (occupancy, num_ctas: -D OCCUPANCY, -D NUM_CTAS). */
typedef struct {
    char *name;  /* TILE_M, or occupancy: the name in configs and expressions */
    char *macro; /* TILE_M, or OCCUPANCY */
    bool is_hint;
    bool is_tile;  /* a tile size: powers of two only */
    int tiles_dim; /* index of the dim that it tiles, -1: none. Size guard: no tile beyond it */
    tsw_place_t place;
} tsw_knob_t;

/* One row of a list: for each knob its values; the row stands for their product. */
typedef struct {
    int64_t *values[TSW_KNOB_MAX];
    size_t count[TSW_KNOB_MAX];
    tsw_place_t place;
} tsw_config_row_t;

typedef struct {
    tsw_arch_t arch; /* 0: default, for archs without a list of their own */
    char *source;    /* where the list comes from */
    tsw_config_row_t *rows;
    size_t row_count;
    bool has_baseline; /* its archs have another fixed config than the pack's */
    int64_t baseline[TSW_KNOB_MAX];
    tsw_place_t place; /* of its key */
} tsw_config_list_t;

/* A rule of the lint that the pack breaks for a reason. */
typedef struct {
    char *rule;      /* its name */
    tsw_arch_t arch; /* 0: on all archs */
    char *reason;
    tsw_place_t place;
} tsw_exception_t;

typedef struct {
    char *name;
    tsw_expr_t expr; /* true: the config is kept */
    char *reason;
    bool uses_shape; /* needs dims that are not static: a shape filter; else an arch filter */
} tsw_constraint_t;

typedef struct {
    tsw_dtype_t dtype;
    double atol, rtol; /* |t - r| <= atol + rtol * |r| per element */
} tsw_tolerance_t;

typedef struct {
    char *name;
    char **values; /* each becomes macro FLAG_<NAME>=<index>; "0"/"1" style or words */
    size_t value_count;
} tsw_flag_t;

typedef struct {
    char *source; /* file name in the pack folder */
    tsw_place_t source_place;
    char *entry; /* extern "C" symbol; takes the same arguments as the kernel */
    tsw_expr_t grid[3];
    tsw_expr_t block[3];
    tsw_expr_t shared_bytes;
} tsw_launch_spec_t;

typedef struct {
    char *name;
    tsw_template_t template_id;
    tsw_class_t class_id;
    tsw_language_t language;
    bool arch_dependent; /* the source tests __CUDA_ARCH__: no IR shared between archs */
    char *dims[TSW_DIM_MAX];
    bool dim_is_static[TSW_DIM_MAX]; /* part of the build: macro DIM_<NAME> */
    size_t dim_count;
    tsw_flag_t flags[TSW_FLAG_MAX];
    size_t flag_count;
    bool dtypes[TSW_DTYPE_COUNT];
    tsw_arg_t *args;
    size_t arg_count;
    tsw_launch_spec_t kernel;
    tsw_launch_spec_t reference;
    tsw_expr_t flops;               /* of one launch */
    tsw_expr_t bytes;               /* that one launch must move at least */
    tsw_knob_t knobs[TSW_KNOB_MAX]; /* tunables first, then hints */
    size_t knob_count;
    char **options; /* extra compile options */
    size_t option_count;
    int64_t baseline[TSW_KNOB_MAX];
    tsw_place_t baseline_place;
    tsw_place_t template_place;
    tsw_place_t hints_place; /* of the whole file where there are no hints */
    tsw_config_list_t *lists;
    size_t list_count;
    tsw_place_t lists_place;
    tsw_constraint_t *constraints;
    size_t constraint_count;
    tsw_tolerance_t *tolerances;
    size_t tolerance_count;
    tsw_exception_t *exceptions;
    size_t exception_count;
    bool separate_tables; /* at most 8 configs per dtype and flags instead of over all of them */
    int64_t max_elements; /* of the largest buffer */
    tsw_fileset_t files;  /* the whole folder; kernel.yaml among them */
    tsw_key_t key;        /* over files */
} tsw_pack_t;

/* Read a pack from the files of its folder (copied into the pack). Expressions are checked: a
 * message has "kernel.yaml:line:column:" and the nearest known word. TSW_ERR_INPUT. */
tsw_status_t tsw_pack_read(const tsw_fileset_t *files, tsw_pack_t **pack_p, tsw_err_t *err);
void tsw_pack_free(tsw_pack_t *pack);

int tsw_pack_dim_index(const tsw_pack_t *pack, const char *name);  /* -1: none */
int tsw_pack_knob_index(const tsw_pack_t *pack, const char *name); /* -1: none */
const tsw_tolerance_t *tsw_pack_tolerance(const tsw_pack_t *pack, tsw_dtype_t dtype);
/* The list of the arch, or the default one, or NULL. */
const tsw_config_list_t *tsw_pack_list(const tsw_pack_t *pack, tsw_arch_t arch);
/* Values of the knobs in the fixed config of the arch: of its list, else of the pack. */
const int64_t *tsw_pack_baseline(const tsw_pack_t *pack, tsw_arch_t arch);
/* Why the pack breaks a rule of the lint on an arch, 0 for rules that ask for none: the reason of
 * its exception. Borrowed; NULL: there is no such exception. */
const char *tsw_pack_exception(const tsw_pack_t *pack, const char *rule, tsw_arch_t arch);
/* The first dtype that the arch lacks: the cell's or that of an argument; TSW_DTYPE_OF_CELL: none.
 */
tsw_dtype_t tsw_pack_lacking(const tsw_pack_t *pack, tsw_dtype_t cell, tsw_arch_t arch);

const char *tsw_template_name(tsw_template_t id); /* "T3" */
const char *tsw_class_name(tsw_class_t id);       /* "compute" */

#endif
