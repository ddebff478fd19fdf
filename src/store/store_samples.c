/* Samples: a struct in memory, a dataset per member in the file. */
#include "store/store_h5.h"
#include "store/store_tables.h"

#include "base/mem.h"

#include <string.h>

#define SAMPLE_CHUNK 32768

typedef struct {
    const char *name;
    size_t offset, size;
    const char *unit;
    bool optional; /* not in files of older versions */
} member_t;

static const member_t members[] = {
    {"interval_ns", offsetof(tsw_sample_t, interval_ns), 8, "ns", false},
    {"round", offsetof(tsw_sample_t, round), 4, NULL, false},
    {"launches", offsetof(tsw_sample_t, launches), 4, NULL, true},
    {"stage", offsetof(tsw_sample_t, stage), 2, NULL, false},
    {"slot", offsetof(tsw_sample_t, slot), 2, NULL, false},
    {"energy_mj", offsetof(tsw_sample_t, energy_mj), 4, "mJ", true},
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

static hid_t member_memory_type(const member_t *member)
{
    return member->size == 8   ? H5T_NATIVE_UINT64
           : member->size == 4 ? H5T_NATIVE_UINT32
                               : H5T_NATIVE_UINT16;
}

static hid_t member_file_type(const member_t *member)
{
    return member->size == 8 ? H5T_STD_U64LE : member->size == 4 ? H5T_STD_U32LE : H5T_STD_U16LE;
}

static tsw_status_t put_member(hid_t group, const member_t *member, const tsw_tables_t *tables,
                               char *scratch, tsw_err_t *err)
{
    for (size_t i = 0; i < tables->sample_count; i++)
        memcpy(scratch + i * member->size, (const char *)&tables->samples[i] + member->offset,
               member->size);
    hid_t dataset = H5I_INVALID_HID;
    tsw_status_t status =
        tsw_h5_put_array(group, member->name, member_file_type(member), member_memory_type(member),
                         tables->sample_count, SAMPLE_CHUNK, scratch, &dataset, err);
    if (status != TSW_OK)
        return status;
    if (member->unit != NULL)
        status = tsw_h5_put_text_attr(dataset, "unit", member->unit, err);
    H5Dclose(dataset);
    return status;
}

tsw_status_t tsw_samples_put(hid_t file, const tsw_tables_t *tables, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *scratch = tsw_calloc(tables->sample_count, sizeof(uint64_t));
    if (scratch == NULL)
        return tsw_err_nomem(err);
    hid_t group = H5Gcreate2(file, "samples", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        status = tsw_h5_fail(err, TSW_ERR_IO, "samples");
    for (size_t i = 0; status == TSW_OK && i < MEMBER_COUNT; i++)
        status = put_member(group, &members[i], tables, scratch, err);
    if (group >= 0)
        H5Gclose(group);
    tsw_free(scratch);
    return status;
}

/* Reads one member; *count is the common length, SIZE_MAX before the first. */
static tsw_status_t get_member(hid_t group, const member_t *member, tsw_tables_t *tables,
                               size_t *count, tsw_err_t *err)
{
    char *scratch = NULL;
    size_t length = 0;
    tsw_status_t status = TSW_OK;
    hid_t dataset = H5Dopen2(group, member->name, H5P_DEFAULT);
    hid_t type = dataset < 0 ? dataset : H5Dget_type(dataset);
    if (type < 0 || H5Tget_class(type) != H5T_INTEGER)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, member->name);
    else
        status = tsw_h5_get_length(dataset, member->name, member->size, &length, err);
    if (status == TSW_OK && *count != SIZE_MAX && *count != length)
        status = tsw_err_set(err, TSW_ERR_CORRUPT, "%s: %zu samples, expected %zu", member->name,
                             length, *count);
    if (status == TSW_OK && *count == SIZE_MAX) {
        tables->samples = tsw_calloc(length, sizeof(tables->samples[0]));
        if (tables->samples == NULL)
            status = tsw_err_nomem(err);
        tables->sample_count = length;
        *count = length;
    }
    if (status == TSW_OK && (scratch = tsw_calloc(length, member->size)) == NULL)
        status = tsw_err_nomem(err);
    if (status == TSW_OK && length > 0 &&
        H5Dread(dataset, member_memory_type(member), H5S_ALL, H5S_ALL, H5P_DEFAULT, scratch) < 0)
        status = tsw_h5_fail(err, TSW_ERR_CORRUPT, member->name);
    for (size_t i = 0; status == TSW_OK && i < length; i++)
        memcpy((char *)&tables->samples[i] + member->offset, scratch + i * member->size,
               member->size);
    tsw_free(scratch);
    if (type >= 0)
        H5Tclose(type);
    if (dataset >= 0)
        H5Dclose(dataset);
    return status;
}

/* Version 1.0 has one number of launches per record. */
static void spread_launches(tsw_tables_t *tables)
{
    for (size_t r = 0; r < tables->records.count; r++) {
        const tsw_record_row_t *row = tsw_rows_at(&tables->records, r);
        for (uint64_t i = 0; i < row->n_samples && row->first_sample + i < tables->sample_count;
             i++)
            tables->samples[row->first_sample + i].launches = row->launches;
    }
}

tsw_status_t tsw_samples_get(hid_t file, tsw_tables_t *tables, tsw_err_t *err)
{
    hid_t group = H5Gopen2(file, "samples", H5P_DEFAULT);
    if (group < 0)
        return tsw_h5_fail(err, TSW_ERR_CORRUPT, "samples");
    tsw_status_t status = TSW_OK;
    size_t count = SIZE_MAX;
    for (size_t i = 0; status == TSW_OK && i < MEMBER_COUNT; i++) {
        if (!members[i].optional || H5Lexists(group, members[i].name, H5P_DEFAULT) > 0)
            status = get_member(group, &members[i], tables, &count, err);
        else if (members[i].offset == offsetof(tsw_sample_t, launches))
            spread_launches(tables);
    }
    H5Gclose(group);
    return status;
}
