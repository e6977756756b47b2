/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Classes are a quarter of a doubling wide, and wider by a half each time that the kinds run out:
 * a ramp of sequences has few of them and most iterations are of the full batch anyway.
 */

#include "models/validation/serving_profile.h"

#include "models/generation/batch.h"

#include <math.h>
#include <stdlib.h>

#define CLASSES_OF_A_DOUBLING 4.0
#define WIDER 1.5

struct observer {
    struct serving_profile *profile;
    double classes; /* of a doubling */
    bool full;
};

static int class_of(const struct observer *observer, double count) {
    return count < 1.0 ? -1 : (int)floor(observer->classes * log2(count) + 0.5);
}

/* The kind of a step; the last one where there is no room. */
static int find_kind(struct observer *observer, const struct generation_step *step) {
    struct serving_profile *profile = observer->profile;
    int decoding = class_of(observer, (double)step->sequences);
    int prompts = class_of(observer, step->prefill_tokens);
    for (int i = 0; i < profile->count; i++)
        if (profile->kinds[i].decoding == decoding && profile->kinds[i].prompts == prompts)
            return i;
    observer->full = profile->count == SERVING_PROFILE_KINDS;
    if (observer->full)
        return SERVING_PROFILE_KINDS - 1;
    profile->kinds[profile->count].decoding = decoding;
    profile->kinds[profile->count].prompts = prompts;
    return profile->count++;
}

static void observe(void *data, const struct generation_step *step, int64_t iterations) {
    struct observer *observer = data;
    int index = find_kind(observer, step);
    double n = (double)iterations;
    struct generation_step *sum = &observer->profile->kinds[index].step;
    observer->profile->kinds[index].iterations += n;
    observer->profile->kinds[index].sequences += n * (double)step->sequences;
    observer->profile->kinds[index].finished += n * (double)step->prompts_finished;
    sum->context_tokens += n * step->context_tokens;
    sum->window_tokens += n * step->window_tokens;
    sum->prefill_tokens += n * step->prefill_tokens;
    sum->prefill_pairs += n * step->prefill_pairs;
    sum->window_pairs += n * step->window_pairs;
}

static void take_means(struct serving_profile *profile) {
    for (int i = 0; i < profile->count; i++) {
        double n = profile->kinds[i].iterations;
        struct generation_step *step = &profile->kinds[i].step;
        step->sequences = llround(profile->kinds[i].sequences / n);
        step->prompts_finished = llround(profile->kinds[i].finished / n);
        step->context_tokens /= n;
        step->window_tokens /= n;
        step->prefill_tokens /= n;
        step->prefill_pairs /= n;
        step->window_pairs /= n;
    }
}

static double kinds_s(const struct serving_profile *profile, const struct serving_case *serving) {
    double seconds = 0.0;
    for (int i = 0; i < profile->count; i++)
        seconds += profile->kinds[i].iterations *
                   generation_iteration_s(&serving->plan, &profile->kinds[i].step);
    return seconds;
}

static void run(struct generation_batch *batch, const struct generation_request *requests,
                uint32_t count, struct observer *observer) {
    do {
        *observer->profile = (struct serving_profile){.correction = 1.0};
        observer->full = false;
        batch->observe = observe;
        batch->observer = observer;
        generation_batch_begin(batch, requests, count);
        do
            (void)generation_batch_plan(batch);
        while (generation_batch_finish(batch));
        observer->classes /= WIDER;
    } while (observer->full);
}

bool serving_profile_make(struct serving_profile *profile, const struct serving_case *serving) {
    uint32_t count = (uint32_t)serving->requests;
    struct generation_batch batch;
    struct observer observer = {.profile = profile, .classes = CLASSES_OF_A_DOUBLING};
    if (serving->mode == SERVING_CLIENTS ||
        serving->plan.software.batching != GENERATION_CONTINUOUS)
        return false;
    struct generation_request *requests = malloc(count * sizeof *requests);
    void *block = malloc(generation_batch_bytes(&serving->plan, count));
    bool good = requests != NULL && block != NULL;
    if (good) {
        serving_case_requests(serving, requests);
        generation_batch_place(&batch, &serving->plan, count, block);
        run(&batch, requests, count, &observer);
        take_means(profile);
        profile->correction = batch.elapsed_s / kinds_s(profile, serving);
    }
    free(block);
    free(requests);
    return good;
}

double serving_profile_rate(const struct serving_profile *profile,
                            const struct serving_case *serving) {
    return (double)serving->requests * (double)serving->output_tokens /
           (profile->correction * kinds_s(profile, serving));
}
