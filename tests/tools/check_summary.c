/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/tools/check_internal.h"

#include <math.h>
#include <string.h>

/* The keys of the contract. `needed` figures are known in every feasible run, `memory` ones always;
 * the others may be null (an offline algorithm has no rollout). */
enum kind {
    FIGURE,
    FRACTION,
    COUNT,
    NUMBER,
    FLAG,
    TEXT,
    ITEMS,
    PATH,
    PROVENANCE,
    STALENESS,
    POOLS,
    SIGNED
};
enum need { ALWAYS, FEASIBLE, OPTIONAL };

static const struct key {
    const char *path;
    enum kind kind;
    enum need need;
} keys[] = {
    {"name", TEXT, ALWAYS},
    {"time.total_s", FIGURE, FEASIBLE},
    {"time.step_s", FIGURE, FEASIBLE},
    {"time.phases_s.rollout", FIGURE, FEASIBLE},
    {"time.phases_s.transition", FIGURE, FEASIBLE},
    {"time.phases_s.reward", FIGURE, FEASIBLE},
    {"time.phases_s.actor_logprob", FIGURE, FEASIBLE},
    {"time.phases_s.reference_logprob", FIGURE, FEASIBLE},
    {"time.phases_s.values", FIGURE, FEASIBLE},
    {"time.phases_s.critic_update", FIGURE, FEASIBLE},
    {"time.phases_s.actor_update", FIGURE, FEASIBLE},
    {"time.phases_s.weight_sync", FIGURE, FEASIBLE},
    {"time.phases_s.checkpoint", FIGURE, FEASIBLE},
    {"time.phases_s.validation", FIGURE, FEASIBLE},
    {"time.phases_s.load", FIGURE, FEASIBLE},
    {"time.offload_s", FIGURE, OPTIONAL},
    {"steps.rollout", COUNT, ALWAYS},
    {"steps.optimizer", COUNT, ALWAYS},
    {"throughput.tokens_per_s_per_gpu", FIGURE, FEASIBLE},
    {"throughput.samples_per_s", FIGURE, FEASIBLE},
    {"throughput.mfu_training", FRACTION, FEASIBLE},
    {"throughput.mfu_overall", FRACTION, FEASIBLE},
    {"rollout.mean_response_tokens", FIGURE, OPTIONAL},
    {"rollout.p99_response_tokens", FIGURE, OPTIONAL},
    {"rollout.share_cut", FRACTION, OPTIONAL},
    {"rollout.tail_idle_s", FIGURE, OPTIONAL},
    {"rollout.p50_response_tokens", FIGURE, OPTIONAL},
    {"rollout.p90_response_tokens", FIGURE, OPTIONAL},
    {"rollout.max_response_tokens", FIGURE, OPTIONAL},
    {"rollout.useless_tokens", FIGURE, OPTIONAL},
    {"rollout.tail_floor_s", FIGURE, OPTIONAL},
    {"rollout.rounds", FIGURE, OPTIONAL},
    {"rollout.wasted_share", FRACTION, OPTIONAL},
    {"rollout.exhausted_share", FRACTION, OPTIONAL},
    {"staleness.mean_versions", FIGURE, OPTIONAL},
    {"staleness.distribution", STALENESS, OPTIONAL},
    {"memory.fits", FLAG, ALWAYS},
    {"memory.peak_bytes", FIGURE, ALWAYS},
    {"memory.capacity_bytes", NUMBER, ALWAYS},
    {"memory.phase", TEXT, ALWAYS},
    {"memory.device", TEXT, ALWAYS},
    {"memory.host_peak_bytes", FIGURE, OPTIONAL},
    {"memory.verdict", TEXT, OPTIONAL},
    {"memory.fit_probability", FRACTION, OPTIONAL},
    {"cost.total_usd", FIGURE, FEASIBLE},
    {"cost.items_usd", ITEMS, FEASIBLE},
    {"cost.formula_usd", FIGURE, FEASIBLE},
    {"gpu_hours", FIGURE, FEASIBLE},
    {"idle_fraction", FRACTION, FEASIBLE},
    {"pools", POOLS, OPTIONAL},
    {"compute.total_flops", FIGURE, FEASIBLE},
    {"compute.pretraining_fraction", FIGURE, OPTIONAL},
    {"limit.resource", TEXT, OPTIONAL},
    {"limit.gain_fraction", FIGURE, OPTIONAL},
    {"scaling.faster_fraction", SIGNED, OPTIONAL},
    {"scaling.dearer_fraction", SIGNED, OPTIONAL},
    {"scaling.phase", TEXT, OPTIONAL},
    {"scaling.phase_share", FRACTION, OPTIONAL},
    {"scaling.phase_shorter_fraction", SIGNED, OPTIONAL},
    {"critical_path", PATH, FEASIBLE},
    {"events", COUNT, FEASIBLE},
    {"calibration", TEXT, OPTIONAL},
    {"band.expected_total_s", FIGURE, OPTIONAL},
    {"band.expected_step_s", FIGURE, OPTIONAL},
    {"band.expected_rollout_s", FIGURE, OPTIONAL},
    {"band.expected_update_s", FIGURE, OPTIONAL},
    {"band.expected_logprob_s", FIGURE, OPTIONAL},
    {"band.basis", TEXT, OPTIONAL},
    {"provenance", PROVENANCE, OPTIONAL},
};

static void check_figure(struct check *check, const char *path, const json_t *figure, double most) {
    static const char *const names[] = {"p10", "p50", "p90"};
    double values[3];
    if (!json_is_object(figure) || json_object_size(figure) != 3) {
        check_fault(check, "summary.json: %s is not {p10, p50, p90}", path);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *value = json_object_get(figure, names[i]);
        values[i] = json_number_value(value);
        if (!json_is_number(value) || !isfinite(values[i]) || values[i] < 0.0 || values[i] > most)
            check_fault(check, "summary.json: %s.%s is missing or out of range", path, names[i]);
    }
    if (values[0] > values[1] || values[1] > values[2])
        check_fault(check, "summary.json: %s: p10, p50 and p90 are not in order", path);
}

static void check_items(struct check *check, json_t *items) {
    const char *name;
    json_t *figure;
    char path[128];
    double sum = 0.0;
    if (!json_is_object(items)) {
        check_fault(check, "summary.json: cost.items_usd is not an object");
        return;
    }
    json_object_foreach(items, name, figure) {
        snprintf(path, sizeof path, "cost.items_usd.%s", name);
        check_figure(check, path, figure, HUGE_VAL);
        sum += json_number_value(json_object_get(figure, "p50"));
    }
    check_agrees(check, "cost.total_usd", sum);
}

static void check_critical_path(struct check *check, const json_t *path) {
    double sum = 0.0;
    size_t i;
    json_t *member;
    if (!json_is_array(path))
        check_fault(check, "summary.json: critical_path is not an array");
    json_array_foreach(path, i, member) {
        const char *phase = json_string_value(json_object_get(member, "phase"));
        const json_t *share = json_object_get(member, "share");
        if (phase == NULL || !check_is_phase(phase))
            check_fault(check, "summary.json: critical_path: no such phase");
        check_figure(check, "critical_path.share", share, 1.0);
        sum += json_number_value(json_object_get(share, "p50"));
    }
    if (sum > 1.0 + 1e-6)
        check_fault(check, "summary.json: the shares of critical_path add up to %g", sum);
}

static void check_provenance(struct check *check, json_t *provenance) {
    static const char *const words[] = {"measured", "interpolated", "extrapolated", "assumed",
                                        "unvalidated"};
    const char *key;
    json_t *value;
    if (!json_is_object(provenance))
        check_fault(check, "summary.json: provenance is not an object");
    json_object_foreach(provenance, key, value) {
        bool known = false;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            known =
                known || (json_is_string(value) && strcmp(words[i], json_string_value(value)) == 0);
        if (!known)
            check_fault(check, "summary.json: provenance.%s is no known word", key);
    }
}

/* Shares by ascending versions that add up to all samples; their mean is mean_versions. */
static void check_staleness(struct check *check, const json_t *list) {
    double sum = 0.0, mean = 0.0;
    json_int_t before = -1;
    size_t i;
    json_t *member;
    json_array_foreach(list, i, member) {
        json_int_t versions = json_integer_value(json_object_get(member, "versions"));
        const json_t *share = json_object_get(member, "share");
        check_figure(check, "staleness.distribution.share", share, 1.0);
        double middle = json_number_value(json_object_get(share, "p50"));
        if (versions <= before)
            check_fault(check, "summary.json: staleness.distribution is not in order");
        before = versions;
        sum += middle;
        mean += middle * (double)versions;
    }
    if (!json_is_array(list) || !check_near(sum, 1.0, 1e-9, 0.0))
        check_fault(check, "summary.json: the shares of staleness.distribution are %g", sum);
    check_agrees(check, "staleness.mean_versions", mean);
}

/* Names, GPUs and idle shares; pools lie in their order from the first GPU on. */
static void check_pools(struct check *check, const json_t *list) {
    size_t i;
    json_t *member;
    if (!json_is_array(list) || json_array_size(list) > CHECK_POOLS)
        check_fault(check, "summary.json: pools is no array of at most %d", CHECK_POOLS);
    json_array_foreach(list, i, member) {
        const char *name = json_string_value(json_object_get(member, "name"));
        json_int_t gpus = json_integer_value(json_object_get(member, "gpus"));
        check_figure(check, "pools.idle_fraction", json_object_get(member, "idle_fraction"), 1.0);
        check_figure(check, "pools.peak_bytes", json_object_get(member, "peak_bytes"), HUGE_VAL);
        if (name == NULL || gpus < 1)
            check_fault(check, "summary.json: pools.%zu has no name or no GPUs", i);
        else if (i < CHECK_POOLS)
            check->pools[check->pool_count++] = (struct check_pool){name, (int)gpus};
    }
}

static bool is_plain(enum kind kind, const json_t *value) {
    switch (kind) {
    case COUNT:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case NUMBER:
        return json_is_number(value) && isfinite(json_number_value(value));
    case FLAG:
        return json_is_boolean(value);
    default:
        return json_is_string(value);
    }
}

static void check_value(struct check *check, const struct key *key, json_t *value) {
    switch (key->kind) {
    case FIGURE:
        check_figure(check, key->path, value, HUGE_VAL);
        break;
    case SIGNED: /* a change, which may go either way */
        if (json_object_size(value) != 3 || !json_is_number(json_object_get(value, "p50")))
            check_fault(check, "summary.json: %s is not {p10, p50, p90}", key->path);
        break;
    case FRACTION:
        check_figure(check, key->path, value, 1.0);
        break;
    case ITEMS:
        check_items(check, value);
        break;
    case PATH:
        check_critical_path(check, value);
        break;
    case PROVENANCE:
        check_provenance(check, value);
        break;
    case STALENESS:
        check_staleness(check, value);
        break;
    case POOLS:
        check_pools(check, value);
        break;
    default:
        if (!is_plain(key->kind, value))
            check_fault(check, "summary.json: %s is of the wrong kind", key->path);
    }
}

static void check_key(struct check *check, const struct key *key, bool feasible) {
    json_t *value = check_summary_get(check, key->path);
    if (value == NULL)
        check_fault(check, "summary.json: %s is missing", key->path);
    else if (!json_is_null(value) && !feasible && key->need == FEASIBLE)
        check_fault(check, "summary.json: %s must be null, the run is infeasible", key->path);
    else if (!json_is_null(value))
        check_value(check, key, value);
    else if (key->need == ALWAYS || (key->need == FEASIBLE && feasible))
        check_fault(check, "summary.json: %s is null", key->path);
}

bool check_summary(struct check *check, bool *feasible) {
    json_error_t error;
    FILE *file = check_open(check, "summary.json");
    if (file == NULL)
        return false;
    check->summary = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (!json_is_object(check->summary)) {
        check_fault(check, "summary.json:%d: not a JSON object: %s", error.line, error.text);
        return false;
    }
    *feasible = json_is_object(check_summary_get(check, "time.total_s"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        check_key(check, &keys[i], *feasible);
    if (!*feasible && json_is_true(check_summary_get(check, "memory.fits")))
        check_fault(check, "summary.json: it fits, but has no time");
    return true;
}
