/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/internal.h"

#include "sim/contract.h"

#include <string.h>

/*
 * Who holds what is a flat table of owners x categories. The table at the peak is copied lazily:
 * while a memory only grows, the present table *is* the one of the peak, and it is copied when a
 * change is about to make them differ. A rise of a thousand changes then costs one copy.
 */

#define ROUNDING 1e-9

static struct sim_memory *memory_at(const struct sim *sim, sim_memory_id id) {
    CONTRACT(id < sim->memories.count, "the memory exists");
    return &sim->memories.all[id];
}

static size_t entry_of(const struct sim_memory *memory, uint32_t owner, uint32_t category) {
    CONTRACT(owner < memory->owners && category < memory->categories,
             "owner and category are in the memory's table");
    return (size_t)owner * memory->categories + category;
}

static size_t table_size(const struct sim_memory *memory) {
    return (size_t)memory->owners * memory->categories * sizeof(double);
}

static void free_parts(struct sim *sim, struct sim_memory *memory) {
    if (memory->held != NULL)
        sim_reallocate(sim, memory->held, table_size(memory), 0);
    if (memory->peak_held != NULL)
        sim_reallocate(sim, memory->peak_held, table_size(memory), 0);
    sim_name_free(sim, memory->name);
}

enum sim_status sim_memory_new(struct sim *sim, const char *name, double capacity_bytes,
                               uint32_t owners, uint32_t categories, sim_memory_id *id) {
    struct sim_memories *memories = &sim->memories;
    CONTRACT(owners > 0 && categories > 0, "a memory has owners and categories");
    CONTRACT(capacity_bytes >= 0.0, "a capacity is not negative");
    struct sim_memory memory = {.capacity = capacity_bytes,
                                .owners = owners,
                                .categories = categories,
                                .peak_is_now = true};
    void *all = memories->all;
    bool room = sim_array_reserve(sim, &all, memories->count, &memories->capacity, sizeof memory);
    memories->all = all;
    if (!room)
        return SIM_NO_MEMORY;
    memory.held = sim_reallocate(sim, NULL, 0, table_size(&memory));
    memory.peak_held = sim_reallocate(sim, NULL, 0, table_size(&memory));
    memory.name = sim_name_new(sim, name);
    if (memory.held == NULL || memory.peak_held == NULL || memory.name == NULL) {
        free_parts(sim, &memory);
        return SIM_NO_MEMORY;
    }
    for (size_t i = 0; i < (size_t)owners * categories; i++)
        memory.held[i] = memory.peak_held[i] = 0.0;
    memories->all[memories->count] = memory;
    *id = memories->count++;
    return SIM_OK;
}

void sim_memories_free(struct sim *sim) {
    struct sim_memories *memories = &sim->memories;
    for (uint32_t i = 0; i < memories->count; i++)
        free_parts(sim, &memories->all[i]);
    if (memories->all != NULL)
        sim_reallocate(sim, memories->all, memories->capacity * sizeof *memories->all, 0);
}

/* The table is about to stop being the one of the peak. */
static void keep_peak(struct sim_memory *memory) {
    if (memory->peak_is_now)
        memcpy(memory->peak_held, memory->held, table_size(memory));
    memory->peak_is_now = false;
}

static void note_high_water(const struct sim *sim, struct sim_memory *memory) {
    struct sim_memory_peak mark = {memory->used, sim->now, sim->memories.context};
    if (memory->used > memory->peak.bytes) {
        memory->peak = mark;
        memory->peak_is_now = true;
    }
    if (memory->used > memory->capacity && memory->overflow.bytes == 0.0)
        memory->overflow = mark;
}

static void set_entry(struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category,
                      double bytes) {
    struct sim_memory *memory = memory_at(sim, id);
    size_t entry = entry_of(memory, owner, category);
    double old = memory->held[entry];
    if (bytes == old)
        return;
    double used = memory->used + (bytes - old);
    if (used <= memory->peak.bytes)
        keep_peak(memory);
    memory->held[entry] = bytes;
    memory->used = used > 0.0 ? used : 0.0;
    note_high_water(sim, memory);
    sim_recorder_report_memory(
        sim, &(struct sim_memory_change_record){sim->now, id, owner, category, bytes});
}

void sim_memory_change(struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category,
                       double bytes) {
    const struct sim_memory *memory = memory_at(sim, id);
    double held = memory->held[entry_of(memory, owner, category)] + bytes;
    CONTRACT(held >= ROUNDING * bytes, "no more is given back than is held"); /* bytes < 0 */
    set_entry(sim, id, owner, category, held > 0.0 ? held : 0.0);
}

void sim_memory_set(struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category,
                    double bytes) {
    CONTRACT(bytes >= 0.0, "what is held is not negative");
    set_entry(sim, id, owner, category, bytes);
}

const char *sim_memory_name(const struct sim *sim, sim_memory_id id) {
    return memory_at(sim, id)->name;
}

size_t sim_memory_count(const struct sim *sim) {
    return sim->memories.count;
}

double sim_memory_capacity(const struct sim *sim, sim_memory_id id) {
    return memory_at(sim, id)->capacity;
}

double sim_memory_held(const struct sim *sim, sim_memory_id id, uint32_t owner, uint32_t category) {
    const struct sim_memory *memory = memory_at(sim, id);
    return memory->held[entry_of(memory, owner, category)];
}

double sim_memory_used(const struct sim *sim, sim_memory_id id) {
    return memory_at(sim, id)->used;
}

void sim_memory_context(struct sim *sim, uint32_t context) {
    sim->memories.context = context;
}

void sim_memory_peak(const struct sim *sim, sim_memory_id id, struct sim_memory_peak *peak) {
    *peak = memory_at(sim, id)->peak;
}

bool sim_memory_overflow(const struct sim *sim, sim_memory_id id, struct sim_memory_peak *first) {
    const struct sim_memory *memory = memory_at(sim, id);
    *first = memory->overflow;
    return memory->overflow.bytes > 0.0;
}

double sim_memory_peak_held(const struct sim *sim, sim_memory_id id, uint32_t owner,
                            uint32_t category) {
    const struct sim_memory *memory = memory_at(sim, id);
    const double *table = memory->peak_is_now ? memory->held : memory->peak_held;
    return table[entry_of(memory, owner, category)];
}
