/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tools/check_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory.csv ------------------------------------------------------------------------------*/

struct held {
    const char *owner, *category;
    double bytes;
};

struct device {
    const char *name;
    struct held *held;
    size_t held_count;
    int64_t time; /* of its last change */
    double peak;
};

struct devices {
    struct device *list;
    size_t count;
};

static struct device *device_of(struct devices *devices, const char *name) {
    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(devices->list[i].name, name) == 0)
            return &devices->list[i];
    devices->list = realloc(devices->list, (devices->count + 1) * sizeof *devices->list);
    devices->list[devices->count] = (struct device){.name = name};
    return &devices->list[devices->count++];
}

static struct held *held_of(struct device *device, const char *owner, const char *category) {
    for (size_t i = 0; i < device->held_count; i++)
        if (strcmp(device->held[i].owner, owner) == 0 &&
            strcmp(device->held[i].category, category) == 0)
            return &device->held[i];
    device->held = realloc(device->held, (device->held_count + 1) * sizeof *device->held);
    device->held[device->held_count] = (struct held){.owner = owner, .category = category};
    return &device->held[device->held_count++];
}

/* The step function's value counts once its instant is over. */
static void settle(struct device *device) {
    double used = 0.0;
    for (size_t i = 0; i < device->held_count; i++)
        used += device->held[i].bytes;
    device->peak = fmax(device->peak, used);
}

static void check_change(struct check *check, const struct check_table *table, size_t i,
                         struct devices *devices, int64_t time) {
    struct device *device = device_of(devices, check_cell(table, i, 1));
    double bytes = check_number(check, table, i, 4);
    bool loaded = bytes == 0.0 && strcmp(check_cell(table, i, 3), "loading") == 0;
    if (time > device->time || loaded) /* the load is an instant, though it may take no time */
        settle(device);
    device->time = time;
    struct held *held = held_of(device, check_cell(table, i, 2), check_cell(table, i, 3));
    if (bytes < 0.0)
        check_fault(check, "memory.csv: row %zu: negative bytes", i + 1);
    if (bytes == held->bytes)
        check_fault(check, "memory.csv: row %zu changes nothing", i + 1);
    held->bytes = bytes;
}

static double largest_peak(const struct devices *devices, const char *name, bool hosts) {
    double peak = 0.0;
    for (size_t i = 0; i < devices->count; i++) {
        const char *device = devices->list[i].name;
        const char *slash = strrchr(device, '/');
        bool is_host = slash != NULL && strcmp(slash, "/host") == 0;
        if (name != NULL ? strcmp(device, name) == 0 : is_host == hosts)
            peak = fmax(peak, devices->list[i].peak);
    }
    return peak;
}

static void check_peaks(struct check *check, const struct devices *devices) {
    const char *device = json_string_value(check_summary_get(check, "memory.device"));
    double capacity = json_number_value(check_summary_get(check, "memory.capacity_bytes"));
    bool fits = json_is_true(check_summary_get(check, "memory.fits"));
    if (device == NULL)
        return;
    double peak = largest_peak(devices, device, false);
    check_agrees(check, "memory.peak_bytes", peak);
    check_agrees(check, "memory.host_peak_bytes", largest_peak(devices, NULL, true));
    if (check_gpu_number(device) >= 0 && largest_peak(devices, NULL, false) > peak)
        check_fault(check, "memory.csv: %s is not the fullest device", device);
    if (fits && peak > capacity)
        check_fault(check, "summary.json: it fits, but %s holds more than its capacity", device);
}

void check_memory(struct check *check) {
    struct check_table table;
    struct devices devices = {0};
    int64_t last = 0;
    if (!check_table_read(check, "memory.csv", "time_s,device,owner,category,bytes", &table))
        return;
    for (size_t i = 0; i < table.rows; i++) {
        int64_t time = check_nanoseconds(check, &table, i, 0);
        if (time < last)
            check_fault(check, "memory.csv: row %zu goes back in time", i + 1);
        last = time;
        check_change(check, &table, i, &devices, time);
        int gpu = check_gpu_number(check_cell(&table, i, 1));
        if (gpu >= check->gpus)
            check->gpus = gpu + 1;
    }
    for (size_t i = 0; i < devices.count; i++)
        settle(&devices.list[i]);
    check_peaks(check, &devices);
    for (size_t i = 0; i < devices.count; i++)
        free(devices.list[i].held);
    free(devices.list);
    check_table_free(&table);
}

/* ---- cost.csv --------------------------------------------------------------------------------*/

static double item_total(struct check *check, const struct check_table *table, const char *item) {
    double total = 0.0;
    for (size_t i = 0; i < table->rows; i++)
        if (item == NULL || strcmp(check_cell(table, i, 2), item) == 0)
            total += check_number(check, table, i, 7);
    return total;
}

static void check_cost_row(struct check *check, const struct check_table *table, size_t i) {
    double start_s = check_number(check, table, i, 0), end_s = check_number(check, table, i, 1);
    double quantity = check_number(check, table, i, 4), price = check_number(check, table, i, 6);
    double amount = check_number(check, table, i, 7);
    char path[128];
    if (start_s < 0.0 || end_s < start_s)
        check_fault(check, "cost.csv: row %zu ends before it starts", i + 1);
    if (quantity < 0.0 || price < 0.0)
        check_fault(check, "cost.csv: row %zu: negative quantity or price", i + 1);
    if (!check_near(amount, quantity * price, 1e-9, 0.0))
        check_fault(check, "cost.csv: row %zu: amount is not quantity x unit price", i + 1);
    if (check_cell(table, i, 5)[0] == '\0' || check_cell(table, i, 9)[0] == '\0')
        check_fault(check, "cost.csv: row %zu has no unit or no source", i + 1);
    snprintf(path, sizeof path, "cost.items_usd.%s", check_cell(table, i, 2));
    if (check_summary_get(check, path) == NULL)
        check_fault(check, "summary.json: %s is missing", path);
    check_agrees(check, path, item_total(check, table, check_cell(table, i, 2)));
}

void check_cost(struct check *check) {
    struct check_table table;
    if (!check_table_read(check, "cost.csv",
                          "start_s,end_s,item,dimension,quantity,unit,unit_price_usd,amount_usd,"
                          "tags,source",
                          &table))
        return;
    for (size_t i = 0; i < table.rows; i++)
        check_cost_row(check, &table, i);
    check_agrees(check, "cost.total_usd", item_total(check, &table, NULL));
    check_table_free(&table);
}
