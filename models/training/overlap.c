/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Two streams in closed form.
 *
 * Gathered. Let S(i) be the start of block i, with compute c, gather g, reduction r. At S(i) the
 * communication stream is free: either it just delivered block i, or it did so earlier and had
 * nothing to do until block i-1 was done. So it starts r(i-1) and then g(i+1) at S(i) exactly, and
 *
 *     S(i+1) = S(i) + max(c(i), r(i-1) + g(i+1)),   S(1) = g(1),   end = S(n) + max(c(n), r(n-1))
 *     + r(n).
 *
 * For equal blocks: g + max(c, g) + (n-2) max(c, r+g) + max(c, r) + r; without reductions
 * g + (n-1) max(c, g) + c.
 *
 * Reduced. Block i computes as soon as block i-1 has; reductions queue behind. This is a
 * two-machine flow shop in fixed order (Johnson, 1954), whose end is the longest path that changes
 * machines once: max over k of c(1) + ... + c(k) + r(k) + ... + r(n). Inside a run of equal blocks
 * the path length is linear in k, so only the first and the last of each run matter.
 */

#include "models/training/overlap.h"

#include "sim/contract.h"

#include <math.h>

double training_overlap_gathered_s(const struct training_stage *stages, int count) {
    CONTRACT(count >= 1, "a chain has at least one stage");
    double end_s = stages[0].gather_s;
    for (int i = 0; i < count; i++) {
        double blocks = (double)stages[i].blocks;
        double compute_s = stages[i].compute_s, gather_s = stages[i].gather_s;
        double before_s = i > 0 ? stages[i - 1].reduce_s : 0.0;
        double after_s = i + 1 < count ? stages[i + 1].gather_s : 0.0;
        CONTRACT(blocks >= 1.0, "a stage has at least one block");
        if (stages[i].blocks == 1) {
            end_s += fmax(compute_s, before_s + after_s);
        } else {
            end_s += fmax(compute_s, before_s + gather_s);
            end_s += (blocks - 2.0) * fmax(compute_s, stages[i].reduce_s + gather_s);
            end_s += fmax(compute_s, stages[i].reduce_s + after_s);
        }
    }
    return end_s + stages[count - 1].reduce_s;
}

double training_overlap_reduced_s(const struct training_stage *stages, int count) {
    double computed_s = 0.0, reduced_s = 0.0;
    for (int i = 0; i < count; i++) {
        double blocks = (double)stages[i].blocks;
        double compute_s = stages[i].compute_s, reduce_s = stages[i].reduce_s;
        CONTRACT(blocks >= 1.0, "a stage has at least one block");
        double queued_s = reduced_s + blocks * reduce_s;
        double after_first_s = computed_s + compute_s + blocks * reduce_s;
        computed_s += blocks * compute_s;
        reduced_s = fmax(queued_s, fmax(after_first_s, computed_s + reduce_s));
    }
    return reduced_s;
}
