/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/base/units.h"

#include "models/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)

static const struct base_unit units[] = {
    {"B", BASE_BYTES, 1},
    {"kB", BASE_BYTES, 1e3},
    {"MB", BASE_BYTES, 1e6},
    {"GB", BASE_BYTES, 1e9},
    {"TB", BASE_BYTES, 1e12},
    {"PB", BASE_BYTES, 1e15},
    {"KiB", BASE_BYTES, KIB},
    {"MiB", BASE_BYTES, MIB},
    {"GiB", BASE_BYTES, GIB},
    {"TiB", BASE_BYTES, TIB},
    {"ns", BASE_TIME, 1e-9},
    {"us", BASE_TIME, 1e-6},
    {"ms", BASE_TIME, 1e-3},
    {"s", BASE_TIME, 1},
    {"min", BASE_TIME, 60},
    {"h", BASE_TIME, 3600},
    {"d", BASE_TIME, 86400},
    {"B/s", BASE_BYTE_RATE, 1},
    {"kB/s", BASE_BYTE_RATE, 1e3},
    {"MB/s", BASE_BYTE_RATE, 1e6},
    {"GB/s", BASE_BYTE_RATE, 1e9},
    {"TB/s", BASE_BYTE_RATE, 1e12},
    {"KiB/s", BASE_BYTE_RATE, KIB},
    {"MiB/s", BASE_BYTE_RATE, MIB},
    {"GiB/s", BASE_BYTE_RATE, GIB},
    {"TiB/s", BASE_BYTE_RATE, TIB},
    {"Mbit/s", BASE_BYTE_RATE, 1e6 / 8},
    {"Gbit/s", BASE_BYTE_RATE, 1e9 / 8},
};

struct dimension_row {
    const char *name, *units, *example;
};

static const struct dimension_row dimensions[BASE_DIMENSION_COUNT] = {
    [BASE_BYTES] = {"bytes", "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB", "24 GB"},
    [BASE_TIME] = {"time", "ns, us, ms, s, min, h, d", "10 ms"},
    [BASE_BYTE_RATE] = {"bytes per second", "kB/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, Gbit/s",
                        "2 GB/s"},
};

const struct base_unit *base_unit_at(size_t index) {
    return index < sizeof units / sizeof units[0] ? &units[index] : NULL;
}

const char *base_dimension_name(enum base_dimension dimension) {
    return dimensions[dimension].name;
}

const char *base_dimension_units(enum base_dimension dimension) {
    return dimensions[dimension].units;
}

static const struct base_unit *find_unit(const char *name) {
    const struct base_unit *unit;
    for (size_t i = 0; (unit = base_unit_at(i)) != NULL; i++)
        if (strcmp(unit->name, name) == 0)
            return unit;
    return NULL;
}

static const char *nearest_unit(const char *name, enum base_dimension dimension) {
    struct base_nearest nearest;
    const struct base_unit *unit;
    base_nearest_start(&nearest, name);
    for (size_t i = 0; (unit = base_unit_at(i)) != NULL; i++)
        if (unit->dimension == dimension)
            base_nearest_offer(&nearest, unit->name);
    return base_nearest_name(&nearest);
}

__attribute__((format(printf, 3, 4))) static bool refuse(char *message, size_t size,
                                                         const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return false;
}

static bool refuse_unit(const char *name, enum base_dimension dimension, char *message,
                        size_t size) {
    const char *near = nearest_unit(name, dimension);
    char quoted[BASE_QUOTE_SIZE];
    base_quote(name, quoted);
    if (near != NULL)
        return refuse(message, size, "unknown unit %s; did you mean '%s'?", quoted, near);
    return refuse(message, size, "unknown unit %s, expected one of %s", quoted,
                  dimensions[dimension].units);
}

bool base_quantity_read(const char *text, enum base_dimension dimension, double *value,
                        char *message, size_t size) {
    const struct dimension_row *row = &dimensions[dimension];
    size_t length = base_number_length(text);
    const char *name = text + length + strspn(text + length, " ");
    char number[64];
    double factor = 0.0;
    if (length == 0)
        return refuse(message, size, "expected a number with a unit of %s such as '%s'", row->name,
                      row->example);
    if (length >= sizeof number)
        return refuse(message, size, "the number has too many digits");
    (void)snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (base_number_read(number, &factor) != BASE_NUMBER_OK)
        return refuse(message, size, "the number is too large");
    const struct base_unit *unit = find_unit(name);
    if (*name == '\0' && factor != 0.0)
        return refuse(message, size, "a unit of %s is missing (%s)", row->name, row->units);
    if (*name != '\0' && unit == NULL)
        return refuse_unit(name, dimension, message, size);
    if (unit != NULL && unit->dimension != dimension)
        return refuse(message, size, "'%s' is a unit of %s, expected a unit of %s (%s)", name,
                      dimensions[unit->dimension].name, row->name, row->units);
    *value = unit == NULL ? 0.0 : factor * unit->si;
    return true;
}
