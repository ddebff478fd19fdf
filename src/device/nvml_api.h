/* The part of NVML that is used: prototypes and structs of our own, as its reference describes
 * them. Private to the files nvml*.c. */
#ifndef TSW_DEVICE_NVML_API_H
#define TSW_DEVICE_NVML_API_H

#include "device/nvml.h"

typedef struct nvml_gpu *nvml_gpu_t;
typedef struct nvml_events *nvml_events_t;

enum {
    NVML_OK = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_NO_FUNCTION = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
};

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_SENSOR_GPU = 0,
    NVML_ECC_CORRECTED = 0,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_VOLATILE = 0, /* since the driver was loaded */
    NVML_EVENT_XID = 8,
};

/* Version 2 and later of the call that lists processes. */
typedef struct {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
} nvml_process_t;

typedef struct {
    nvml_gpu_t gpu;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} nvml_event_t;

/* NULL: this version lacks it. The first four every version has. */
typedef struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*gpu_by_uuid)(const char *uuid, nvml_gpu_t *gpu_p);
    int (*driver)(char *out, unsigned size);
    int (*name)(nvml_gpu_t gpu, char *out, unsigned size);
    int (*physical)(nvml_gpu_t instance, nvml_gpu_t *gpu_p);
    int (*clock)(nvml_gpu_t gpu, int type, unsigned *mhz_p);
    int (*max_clock)(nvml_gpu_t gpu, int type, unsigned *mhz_p);
    int (*power)(nvml_gpu_t gpu, unsigned *milliwatt_p);
    int (*energy)(nvml_gpu_t gpu, unsigned long long *millijoule_p);
    int (*temperature)(nvml_gpu_t gpu, int sensor, unsigned *celsius_p);
    int (*reasons)(nvml_gpu_t gpu, unsigned long long *mask_p);
    int (*processes)(nvml_gpu_t gpu, unsigned *count_p, nvml_process_t *processes);
    int (*ecc)(nvml_gpu_t gpu, int kind, int counter, unsigned long long *count_p);
    int (*events_new)(nvml_events_t *events_p);
    int (*events_free)(nvml_events_t events);
    int (*events_register)(nvml_gpu_t gpu, unsigned long long types, nvml_events_t events);
    int (*events_wait)(nvml_events_t events, nvml_event_t *event_p, unsigned timeout_ms);
    int (*memory_clocks)(nvml_gpu_t gpu, unsigned *count_p, unsigned *mhz);
    int (*sm_clocks)(nvml_gpu_t gpu, unsigned memory_mhz, unsigned *count_p, unsigned *mhz);
    int (*lock)(nvml_gpu_t gpu, unsigned min_mhz, unsigned max_mhz);
    int (*unlock)(nvml_gpu_t gpu);
} nvml_api_t;

struct tsw_nvml {
    void *library;
    nvml_api_t api;
    bool is_up;
    nvml_gpu_t gpu;       /* the physical one */
    nvml_gpu_t instance;  /* what was asked for: the same, or a MIG instance of it */
    nvml_events_t events; /* of Xids; NULL: cannot be had */
    unsigned long long corrected, uncorrected; /* ECC errors so far */
    uint32_t max_sm_mhz;                       /* never changes; 0: not known */
};

/* TSW_ERR_ENV: no library, or one that lacks what every version has. */
tsw_status_t tsw_nvml_load(tsw_nvml_t *nvml, tsw_err_t *err);
const char *tsw_nvml_text(int result);

/* nvml_health.c: counting begins now; appends what cannot be seen to `missing`. */
void tsw_nvml_health_begin(tsw_nvml_t *nvml, tsw_buf_t *missing);
void tsw_nvml_health_end(tsw_nvml_t *nvml);
/* "; WHAT: WHY" when there is a reason. */
void tsw_nvml_note(tsw_buf_t *missing, const char *what, int result);

#endif
