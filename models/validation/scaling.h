/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_VALIDATION_SCALING_H
#define MODELS_VALIDATION_SCALING_H

/*
 * A point of a scaling curve: the same work on so many processors. Points with equal sources and
 * layouts are on one curve, a strong one where their work is equal, a weak one where it grows with
 * the processors.
 */

struct validation_scale {
    const char *layout; /* all that does not change along a curve; NULL: on none */
    double processors;
    double work; /* of one measured time, above 0 */
};

#endif
