#include "sched/sched_queue.h"

#include "base/err.h"
#include "base/mem.h"

bool tsw_sched_ring_init(tsw_sched_ring_t *ring, size_t capacity)
{
    *ring =
        (tsw_sched_ring_t){.items = tsw_calloc(capacity, sizeof(uint32_t)), .capacity = capacity};
    return ring->items != NULL;
}

void tsw_sched_ring_fini(tsw_sched_ring_t *ring)
{
    tsw_free(ring->items);
    *ring = (tsw_sched_ring_t){0};
}

void tsw_sched_ring_push(tsw_sched_ring_t *ring, uint32_t value)
{
    TSW_ASSERT(ring->count < ring->capacity);
    ring->items[(ring->first + ring->count) % ring->capacity] = value;
    ring->count++;
}

uint32_t tsw_sched_ring_first(const tsw_sched_ring_t *ring)
{
    TSW_ASSERT(ring->count > 0);
    return ring->items[ring->first];
}

uint32_t tsw_sched_ring_pop(tsw_sched_ring_t *ring)
{
    uint32_t value = tsw_sched_ring_first(ring);
    ring->first = (ring->first + 1) % ring->capacity;
    ring->count--;
    return value;
}

bool tsw_sched_heap_init(tsw_sched_heap_t *heap, size_t capacity)
{
    *heap =
        (tsw_sched_heap_t){.items = tsw_calloc(capacity, sizeof(uint32_t)), .capacity = capacity};
    return heap->items != NULL;
}

void tsw_sched_heap_fini(tsw_sched_heap_t *heap)
{
    tsw_free(heap->items);
    *heap = (tsw_sched_heap_t){0};
}

void tsw_sched_heap_push(tsw_sched_heap_t *heap, uint32_t value)
{
    TSW_ASSERT(heap->count < heap->capacity);
    size_t at = heap->count++;
    while (at > 0 && heap->items[(at - 1) / 2] > value) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = value;
}

uint32_t tsw_sched_heap_pop(tsw_sched_heap_t *heap)
{
    TSW_ASSERT(heap->count > 0);
    uint32_t smallest = heap->items[0];
    uint32_t last = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child])
            child++;
        if (heap->items[child] >= last)
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return smallest;
}
