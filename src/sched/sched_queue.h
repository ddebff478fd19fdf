/* Two queues of numbers with a fixed capacity, made once: first in first out, and smallest first.
 * Internal to sched. */
#ifndef TSW_SCHED_SCHED_QUEUE_H
#define TSW_SCHED_SCHED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t *items;
    size_t capacity;
    size_t first;
    size_t count;
} tsw_sched_ring_t;

bool tsw_sched_ring_init(tsw_sched_ring_t *ring, size_t capacity); /* false: out of memory */
void tsw_sched_ring_fini(tsw_sched_ring_t *ring);
void tsw_sched_ring_push(tsw_sched_ring_t *ring, uint32_t value); /* there must be room */
uint32_t tsw_sched_ring_first(const tsw_sched_ring_t *ring);      /* there must be one */
uint32_t tsw_sched_ring_pop(tsw_sched_ring_t *ring);              /* there must be one */

typedef struct {
    uint32_t *items;
    size_t capacity;
    size_t count;
} tsw_sched_heap_t;

bool tsw_sched_heap_init(tsw_sched_heap_t *heap, size_t capacity); /* false: out of memory */
void tsw_sched_heap_fini(tsw_sched_heap_t *heap);
void tsw_sched_heap_push(tsw_sched_heap_t *heap, uint32_t value); /* there must be room */
uint32_t tsw_sched_heap_pop(tsw_sched_heap_t *heap);              /* the smallest; one must be in */

#endif
