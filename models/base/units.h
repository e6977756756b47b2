/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_BASE_UNITS_H
#define MODELS_BASE_UNITS_H

/*
 * Quantities as users write them: "24 GB", "10ms", "400 Gbit/s". One table holds every unit with
 * its size in SI; decimal (GB = 1e9 bytes) and binary (GiB = 2^30 bytes) prefixes are told apart
 * and capital letters count.
 */

#include <stdbool.h>
#include <stddef.h>

enum base_dimension { BASE_BYTES, BASE_TIME, BASE_BYTE_RATE, BASE_DIMENSION_COUNT };

struct base_unit {
    const char *name;
    enum base_dimension dimension;
    double si; /* bytes, seconds or bytes per second */
};

/* NULL past the last one. */
const struct base_unit *base_unit_at(size_t index);

/* "bytes", "time", "bytes per second"; and the units of a dimension as a list for messages. */
const char *base_dimension_name(enum base_dimension dimension);
const char *base_dimension_units(enum base_dimension dimension);

/* Reads a number (see text.h), optional spaces and a unit of the dimension into SI. A bare 0 needs
 * no unit. False with the reason in `message` (of `size` bytes): what is wrong with the text and
 * what was expected, to follow "KEY is TEXT". */
bool base_quantity_read(const char *text, enum base_dimension dimension, double *value,
                        char *message, size_t size);

#endif
