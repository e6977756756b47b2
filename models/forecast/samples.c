/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/forecast/samples.h"

#include "models/forecast/deal.h"
#include "models/forecast/draw.h"
#include "models/forecast/microbatch.h"
#include "models/scenario/steps.h"
#include "sim/contract.h"

#include <stdlib.h>
#include <string.h>

static size_t sequences_per_sample(const struct forecast_plan *plan) {
    return (size_t)plan->scenario->algorithm.type->sequences_per_sample;
}

static bool has_greedy(const struct forecast_plan *plan) {
    return algorithm_has_work(plan->scenario->algorithm.type, ALGORITHM_WORK_GREEDY);
}

static bool is_mixed(const struct forecast_plan *plan) {
    return plan->scenario->algorithm.type->selection == ALGORITHM_SELECT_MIXED;
}

/* The most samples that are passed at once: all of a step, or of a round. */
static size_t most_samples(const struct forecast_plan *plan) {
    size_t prompts = (size_t)plan->scenario->algorithm.prompts_per_step;
    size_t round = (size_t)plan->scenario->algorithm.generated_prompts;
    size_t copies = (size_t)plan->scenario->algorithm.samples_per_prompt;
    return (round > prompts ? round : prompts) * copies + (has_greedy(plan) ? prompts : 0);
}

/* While a round is drawn there may be almost enough prompts of those before. */
static size_t most_sequences(const struct forecast_plan *plan) {
    size_t kept = (size_t)(plan->scenario->algorithm.prompts_per_step *
                           plan->scenario->algorithm.samples_per_prompt);
    return (most_samples(plan) + (is_mixed(plan) ? kept : 0)) * sequences_per_sample(plan);
}

enum rlhfsim_status forecast_samples_new(const struct forecast_plan *plan,
                                         struct forecast_samples *samples) {
    size_t capacity = most_sequences(plan);
    *samples = (struct forecast_samples){
        .capacity = capacity,
        .prompt_tokens = calloc(capacity, sizeof *samples->prompt_tokens),
        .response_tokens = calloc(capacity, sizeof *samples->response_tokens),
        .order = calloc(capacity, sizeof *samples->order),
        .scratch = calloc(capacity, sizeof *samples->scratch),
        .dealt = calloc(capacity, sizeof *samples->dealt),
    };
    if (samples->prompt_tokens && samples->response_tokens && samples->order && samples->scratch &&
        samples->dealt)
        return RLHFSIM_OK;
    forecast_samples_free(samples);
    return RLHFSIM_NO_MEMORY;
}

void forecast_samples_free(struct forecast_samples *samples) {
    free(samples->prompt_tokens);
    free(samples->response_tokens);
    free(samples->order);
    free(samples->scratch);
    free(samples->dealt);
    *samples = (struct forecast_samples){0};
}

/* ---- drawing ------------------------------------------------------------------------------ */

uint64_t forecast_data_set_place(const struct forecast_plan *plan, int64_t place) {
    int64_t size = scenario_data_set(plan->scenario);
    return (uint64_t)(size > 0 ? place % size : place);
}

/* Sequences between two questions whether to go on. */
#define WATCHED 8192

static bool left_off(const struct forecast_samples *samples, size_t sequence) {
    return sequence % WATCHED == 0 && samples->go_on != NULL && !samples->go_on(samples->watcher);
}

/* The number among a step's prompts of one of the round. */
static uint64_t step_prompt(const struct forecast_plan *plan,
                            const struct forecast_samples *samples, size_t prompt) {
    return (uint64_t)((samples->round - 1) * plan->scenario->algorithm.generated_prompts) + prompt;
}

/* One more answer to each prompt of the step. */
static void draw_greedy(const struct forecast_draw *draw, const struct scenario_step *taken,
                        struct forecast_samples *samples) {
    size_t copies = (size_t)draw->plan->scenario->algorithm.samples_per_prompt;
    for (size_t prompt = 0; prompt < samples->prompts; prompt++, samples->sequences++) {
        bool cut;
        struct forecast_group group;
        forecast_draw_group(draw,
                            forecast_data_set_place(draw->plan, taken->first + (int64_t)prompt),
                            prompt, copies + 1, &group);
        samples->prompt_tokens[samples->sequences] = group.prompt_tokens;
        samples->response_tokens[samples->sequences] =
            forecast_draw_response(draw, &group, copies, &cut);
        samples->cut += cut;
    }
}

/* Prompts [taken.first, taken.first + taken.prompts) of the data set, answered in step `step`, from
 * the first fresh sequence on. */
static void draw_sequences(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                           struct scenario_step taken, struct forecast_samples *samples) {
    const struct rlhfsim_scenario *scenario = plan->scenario;
    size_t copies = (size_t)scenario->algorithm.samples_per_prompt * sequences_per_sample(plan);
    struct forecast_draw draw;
    size_t next = samples->fresh;
    forecast_draw_start(plan, replicate, step, &draw);
    samples->cut = 0;
    for (int64_t prompt = 0; prompt < taken.prompts; prompt++) {
        struct forecast_group group;
        uint64_t place = forecast_data_set_place(plan, taken.first + prompt);
        forecast_draw_group(&draw, place, step_prompt(plan, samples, (size_t)prompt), copies,
                            &group);
        for (size_t copy = 0; copy < copies; copy++, next++) {
            bool cut;
            if (left_off(samples, next))
                return;
            samples->prompt_tokens[next] = group.prompt_tokens;
            samples->response_tokens[next] = forecast_draw_response(&draw, &group, copy, &cut);
            samples->cut += cut;
        }
    }
    samples->prompts = (size_t)taken.prompts;
    samples->sequences = next;
    samples->count = next / sequences_per_sample(plan);
    samples->draws++;
    if (has_greedy(plan) && step > 0)
        draw_greedy(&draw, &taken, samples);
}

static void first_round(struct forecast_samples *samples) {
    samples->fresh = 0;
    samples->round = 1;
    samples->exhausted = false;
}

/* Where chance decides how many prompts a step takes, they follow one another. */
static void draw_round(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                       struct forecast_samples *samples) {
    int64_t prompts = plan->scenario->algorithm.generated_prompts;
    struct scenario_step taken = {samples->taken, prompts};
    samples->taken += prompts;
    draw_sequences(plan, replicate, step, taken, samples);
}

void forecast_samples_draw(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                           struct forecast_samples *samples) {
    first_round(samples);
    if (is_mixed(plan))
        draw_round(plan, replicate, step, samples);
    else
        draw_sequences(plan, replicate, step, scenario_step_at(plan->scenario, step), samples);
}

/* ---- selecting ---------------------------------------------------------------------------- */

double forecast_mixed_chance(double mean, double concentration, int64_t answers) {
    double a = mean * concentration, b = concentration - a, right = 1.0, wrong = 1.0;
    for (int64_t i = 0; i < answers; i++) {
        right *= (a + (double)i) / (concentration + (double)i);
        wrong *= (b + (double)i) / (concentration + (double)i);
    }
    return 1.0 - right - wrong;
}

static void move_sequences(struct forecast_samples *samples, size_t to, size_t from, size_t count) {
    memmove(samples->prompt_tokens + to, samples->prompt_tokens + from,
            count * sizeof *samples->prompt_tokens);
    memmove(samples->response_tokens + to, samples->response_tokens + from,
            count * sizeof *samples->response_tokens);
}

/* Rewards have nothing to do with lengths: the first ones are as good as any. */
static void select_best(const struct forecast_plan *plan, struct forecast_samples *samples) {
    size_t copies = (size_t)plan->scenario->algorithm.samples_per_prompt;
    size_t kept = (size_t)plan->scenario->algorithm.kept_samples_per_prompt;
    for (size_t prompt = 0; prompt < samples->prompts; prompt++)
        move_sequences(samples, prompt * kept, prompt * copies, kept);
    samples->count = samples->sequences = samples->prompts * kept;
    samples->draws++;
}

/* The mixed prompts of the round go to those of the rounds before; what is too much is dropped. */
static void select_mixed(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                         struct forecast_samples *samples) {
    size_t copies = (size_t)plan->scenario->algorithm.samples_per_prompt;
    size_t wanted = (size_t)plan->scenario->algorithm.prompts_per_step * copies;
    size_t next = samples->fresh;
    double chance = forecast_mixed_chance(plan->scenario->algorithm.pass_rate_mean,
                                          plan->scenario->algorithm.pass_rate_concentration,
                                          plan->scenario->algorithm.samples_per_prompt);
    struct forecast_draw draw;
    forecast_draw_start(plan, replicate, step, &draw);
    for (size_t prompt = 0; prompt < samples->prompts && next < wanted; prompt++) {
        if (!forecast_draw_mixed(&draw, step_prompt(plan, samples, prompt), chance))
            continue;
        move_sequences(samples, next, samples->fresh + prompt * copies, copies);
        next += copies;
    }
    samples->count = samples->sequences = next;
    samples->draws++;
}

bool forecast_samples_select(const struct forecast_plan *plan, uint32_t replicate, int64_t step,
                             struct forecast_samples *samples) {
    size_t wanted = (size_t)(plan->scenario->algorithm.prompts_per_step *
                             plan->scenario->algorithm.samples_per_prompt);
    if (plan->scenario->algorithm.type->selection == ALGORITHM_SELECT_BEST)
        select_best(plan, samples);
    if (!is_mixed(plan))
        return false;
    select_mixed(plan, replicate, step, samples);
    samples->exhausted = samples->count < wanted;
    if (!samples->exhausted || samples->round == plan->scenario->algorithm.max_rounds)
        return false;
    samples->fresh = samples->count;
    samples->round++;
    draw_round(plan, replicate, step, samples);
    return true;
}

int64_t forecast_samples_chunks(const struct forecast_plan *plan) {
    int64_t pairs = scenario_data_set(plan->scenario);
    int64_t chunk = plan->scenario->algorithm.prompts_per_step;
    return pairs > 0 ? (pairs + chunk - 1) / chunk : plan->scenario->steps;
}

void forecast_samples_draw_chunk(const struct forecast_plan *plan, uint32_t replicate,
                                 int64_t chunk, struct forecast_samples *samples) {
    int64_t pairs = scenario_data_set(plan->scenario);
    int64_t full = plan->scenario->algorithm.prompts_per_step;
    struct scenario_step taken = {(chunk - 1) * full, full};
    if (pairs > 0 && pairs - taken.first < full)
        taken.prompts = pairs - taken.first;
    first_round(samples);
    draw_sequences(plan, replicate, chunk, taken, samples);
}

/* ---- micro-batches ------------------------------------------------------------------------ */

/* Bins there is room for, a power of two. */
static size_t packing_leaves(size_t bins) {
    size_t leaves = 1;
    while (leaves < bins)
        leaves *= 2;
    return leaves;
}

enum rlhfsim_status forecast_split_new(const struct forecast_plan *plan, int dp,
                                       struct forecast_split *split) {
    size_t ranks = (size_t)dp;
    size_t most = most_samples(plan);
    size_t stride = (most + ranks - 1) / ranks * sequences_per_sample(plan);
    *split = (struct forecast_split){
        .ranks = ranks,
        .stride = stride,
        .batches = calloc(ranks * stride, sizeof *split->batches),
        .room = calloc(2 * packing_leaves(stride), sizeof *split->room),
        .deal = calloc(most, sizeof *split->deal),
        .deal_tokens = calloc(most, sizeof *split->deal_tokens),
        .rank_tokens = calloc(ranks, sizeof *split->rank_tokens),
        .rank_counts = calloc(ranks, sizeof *split->rank_counts),
        .slowest = calloc(stride, sizeof *split->slowest),
        .counts = calloc(ranks, sizeof *split->counts),
    };
    if (split->batches && split->room && split->slowest && split->counts && split->deal &&
        split->deal_tokens && split->rank_tokens && split->rank_counts)
        return RLHFSIM_OK;
    forecast_split_free(split);
    return RLHFSIM_NO_MEMORY;
}

void forecast_split_free(struct forecast_split *split) {
    free(split->batches);
    free(split->room);
    free(split->deal);
    free(split->deal_tokens);
    free(split->rank_tokens);
    free(split->rank_counts);
    free(split->slowest);
    free(split->counts);
    *split = (struct forecast_split){0};
}

static uint32_t sequence_tokens(const struct forecast_samples *samples, size_t sequence) {
    return samples->prompt_tokens[sequence] + samples->response_tokens[sequence];
}

/* The sequence in a place of the order in which the ranks have them. */
static uint32_t dealt_tokens(const struct forecast_samples *samples, size_t place) {
    return sequence_tokens(samples, samples->dealt[place]);
}

/* The length that the sequences in places [begin, end) are padded to. */
static double padded_tokens(const struct forecast_plan *plan,
                            const struct forecast_samples *samples, size_t begin, size_t end) {
    if (plan->scenario->algorithm.type->has_rollout)
        return (double)(plan->prompt_limit + plan->response_limit);
    uint32_t longest = 0;
    for (size_t i = begin; i < end; i++)
        if (dealt_tokens(samples, i) > longest)
            longest = dealt_tokens(samples, i);
    return longest;
}

/* `size` sequences after another to each micro-batch. */
static size_t split_by_count(const struct forecast_plan *plan,
                             const struct forecast_samples *samples, size_t begin, size_t end,
                             size_t size, struct llm_batch *batches) {
    size_t count = 0;
    for (size_t first = begin; first < end; first += size, count++) {
        size_t last = first + size < end ? first + size : end;
        double padded = padded_tokens(plan, samples, first, last);
        batches[count] = (struct llm_batch){0};
        for (size_t i = first; i < last; i++)
            llm_batch_add(&batches[count],
                          plan->scenario->training.packing ? dealt_tokens(samples, i) : padded,
                          plan->window);
    }
    return count;
}

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

/* One pass of a radix sort of sequences by a digit of their length, larger digits first; equal ones
 * keep their order. */
static void sort_by_digit(const struct forecast_samples *samples, const uint32_t *from,
                          uint32_t *to, size_t n, unsigned shift) {
    uint32_t places[DIGITS] = {0}, place = 0;
    for (size_t i = 0; i < n; i++)
        places[sequence_tokens(samples, from[i]) >> shift & (DIGITS - 1)]++;
    for (uint32_t digit = DIGITS; digit-- > 0;) {
        uint32_t count = places[digit];
        places[digit] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        to[places[sequence_tokens(samples, from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

/* Orders the sequences in places [begin, end) by falling length, equal ones by place, digit after
 * digit from the least. */
static void sort_by_length(struct forecast_samples *samples, size_t begin, size_t end) {
    uint32_t longest = 0;
    for (size_t i = begin; i < end; i++) {
        samples->order[i] = samples->dealt[i];
        if (dealt_tokens(samples, i) > longest)
            longest = dealt_tokens(samples, i);
    }
    for (unsigned shift = 0; shift < 32 && longest >> shift > 0; shift += DIGIT_BITS) {
        uint32_t *sorted = samples->scratch;
        sort_by_digit(samples, samples->order + begin, sorted + begin, end - begin, shift);
        samples->scratch = samples->order;
        samples->order = sorted;
    }
}

static size_t first_with_room(const double *room, size_t leaves, double tokens) {
    size_t node = 1;
    while (node < leaves)
        node = 2 * node + (room[2 * node] < tokens);
    return node - leaves;
}

static void take_room(double *room, size_t leaf, double tokens) {
    room[leaf] -= tokens;
    for (size_t node = leaf / 2; node >= 1; node /= 2)
        room[node] = room[2 * node] > room[2 * node + 1] ? room[2 * node] : room[2 * node + 1];
}

/* First-fit-decreasing into bins of `budget` tokens; a longer sequence gets a bin of its own. Bins
 * are the leaves of a tree whose nodes have the most room below them, bins that are not open yet
 * with all of theirs: the first bin with room is found from the root, left where there is room.
 * Returns the number of bins; 0 where it was left off. */
static size_t split_by_tokens(struct forecast_samples *samples, size_t begin, size_t end,
                              double budget, double window, double *room,
                              struct llm_batch *batches) {
    size_t count = 0, leaves = packing_leaves(end - begin);
    sort_by_length(samples, begin, end);
    for (size_t node = 1; node < 2 * leaves; node++)
        room[node] = budget;
    for (size_t i = begin; i < end; i++) {
        double tokens = sequence_tokens(samples, samples->order[i]);
        size_t bin = tokens <= room[1] ? first_with_room(room, leaves, tokens) : count;
        if (left_off(samples, i))
            return 0;
        if (bin == count)
            batches[count++] = (struct llm_batch){0};
        take_room(room, leaves + bin, tokens);
        llm_batch_add(&batches[bin], tokens, window);
    }
    return count;
}

/* Samples [first, first + count) to the ranks, all sequences of a sample to the same one. */
static void deal(const struct forecast_plan *plan, struct forecast_samples *samples, size_t first,
                 size_t count, const struct forecast_split *split) {
    size_t per_sample = sequences_per_sample(plan);
    bool balanced = plan->scenario->training.balance_ranks;
    struct forecast_deal deal = {.samples = count,
                                 .ranks = split->ranks,
                                 .tokens = split->deal_tokens,
                                 .rank_tokens = split->rank_tokens,
                                 .rank_counts = split->rank_counts,
                                 .sorted = samples->order};
    for (size_t i = 0; i < count; i++) {
        split->deal[i] = (uint32_t)i;
        split->deal_tokens[i] = 0.0;
        for (size_t s = 0; s < per_sample; s++)
            split->deal_tokens[i] += sequence_tokens(samples, (first + i) * per_sample + s);
    }
    if (balanced)
        forecast_deal_balanced(&deal, split->deal);
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < per_sample; s++)
            samples->dealt[(first + i) * per_sample + s] =
                (uint32_t)((first + split->deal[i]) * per_sample + s);
}

void forecast_split_make(const struct forecast_plan *plan, struct forecast_samples *samples,
                         size_t first, size_t count, enum forecast_pass pass,
                         struct forecast_split *split) {
    struct forecast_microbatch size = forecast_microbatch_of(plan, pass);
    size_t ranks = split->ranks, per_sample = sequences_per_sample(plan);
    size_t end = first * per_sample;
    CONTRACT((first + count) * per_sample <= samples->sequences, "samples that the step has not");
    if (split->of_draw == samples->draws && split->of_first == first && split->of_count == count &&
        split->of_pass == pass)
        return; /* as it was cut for the pass before */
    split->of_draw = samples->draws;
    split->of_first = first;
    split->of_count = count;
    split->of_pass = pass;
    split->most = 0;
    deal(plan, samples, first, count, split);
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t begin = end;
        end += forecast_share(count, ranks, rank) * per_sample;
        struct llm_batch *batches = split->batches + rank * split->stride;
        split->counts[rank] = size.tokens > 0
                                  ? split_by_tokens(samples, begin, end, (double)size.tokens,
                                                    plan->window, split->room, batches)
                                  : split_by_count(plan, samples, begin, end,
                                                   (size_t)size.samples * per_sample, batches);
        if (split->counts[rank] > split->most)
            split->most = split->counts[rank];
    }
}
