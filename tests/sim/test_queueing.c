/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "sim/resource.h"
#include "sim/task.h"
#include "tests/sim/engine_support.h"
#include "tests/testing.h"

#include <gsl/gsl_cdf.h>

/*
 * Queues with known answers, built of tasks, resources and Philox numbers. With arrivals at rate
 * lambda, c servers of rate mu each and a = lambda / mu, the mean wait is (Erlang 1917)
 *
 *     W = C(c, a) / (c mu - lambda),
 *     C(c, a) = A / (sum over k < c of a^k / k! + A),   A = a^c / c!  x  c / (c - a)
 *
 * which for c = 1 is rho / (mu - lambda), and the mean number in the system is lambda W + a. Each
 * replicate starts empty, drops its first tenth, and gives one mean; the interval is Student's over
 * replicates at 99 %. (Runs are long because the means of short ones at high load are skewed, and
 * Student's interval then covers less than it says.) Seeds are fixed, so a test that passes does so
 * for good.
 */

#define CUSTOMERS 100000u
#define WARM_UP (CUSTOMERS / 10)
#define REPLICATES 20
#define CONFIDENCE 0.99
#define SERVICE_MEAN_NS 1e6

enum purpose { ARRIVALS, SERVICES };

struct station {
    uint32_t servers;
    double load; /* of a server, below 1 */
    uint32_t replicate;
    sim_resource_id resource;
    struct sim_resource_statistics before; /* at the end of the warm-up */
    sim_time since;
    bool sound; /* no status but SIM_OK */
};

static sim_time draw(const struct station *station, enum purpose purpose, uint64_t customer,
                     double mean_ns) {
    struct sim_random_key key = {
        .seed = 1, .purpose = (uint8_t)purpose, .replicate = station->replicate};
    key.index[0] = station->servers;
    key.index[1] = (uint32_t)customer;
    return (sim_time)llround(-mean_ns * log(sim_random_uniform(&key)));
}

static void arrive(struct sim *sim, void *subject, uint64_t customer) {
    struct station *station = subject;
    double gap_ns = SERVICE_MEAN_NS / (station->load * station->servers);
    sim_task_id id;
    struct sim_task_spec spec = {.duration_ns = draw(station, SERVICES, customer, SERVICE_MEAN_NS)};
    if (customer == WARM_UP) {
        sim_resource_statistics(sim, station->resource, &station->before);
        station->since = sim_now(sim);
    }
    station->sound &= sim_task_new(sim, &spec, &id) == SIM_OK;
    station->sound &= sim_task_demand(sim, id, station->resource, 1) == SIM_OK;
    sim_task_release(sim, id);
    if (customer + 1 < CUSTOMERS)
        sim_schedule(sim, sim_now(sim) + draw(station, ARRIVALS, customer, gap_ns),
                     SIM_PHASE_UPDATE, arrive, station, customer + 1, NULL);
}

struct means {
    double wait_ns, in_system;
    double wait_all_ns; /* sum over all customers, those of the warm-up too */
};

static struct means simulate(struct station station) {
    struct sim_resource_statistics all;
    struct sim *sim = test_sim();
    station.sound = true;
    station.resource = test_resource(sim, station.servers, SIM_QUEUE_FIFO);
    sim_schedule(sim, 0, SIM_PHASE_UPDATE, arrive, &station, 0, NULL);
    ck_assert_int_eq(sim_run(sim, SIM_TIME_MAX), SIM_OK);
    ck_assert(station.sound);
    ck_assert_uint_eq(sim_tasks_unfinished(sim), 0);
    test_little(sim);
    sim_resource_statistics(sim, station.resource, &all);
    ck_assert_uint_eq(all.finished, CUSTOMERS);
    double started = (double)(all.started - station.before.started);
    double elapsed_ns = (double)(sim_now(sim) - station.since);
    struct means means = {
        .wait_ns = (all.wait_total_ns - station.before.wait_total_ns) / started,
        .in_system = (all.system_integral_ns - station.before.system_integral_ns) / elapsed_ns,
        .wait_all_ns = all.wait_total_ns};
    sim_free(sim);
    return means;
}

static double erlang_c(uint32_t servers, double a) {
    double term = 1.0, sum = 0.0;
    for (uint32_t k = 0; k < servers; k++) {
        sum += term;
        term *= a / (k + 1.0);
    }
    double last = term * servers / (servers - a);
    return last / (sum + last);
}

static void check_interval(const double *values, double expected, const char *what) {
    double mean = 0.0, squares = 0.0;
    for (int i = 0; i < REPLICATES; i++)
        mean += values[i] / REPLICATES;
    for (int i = 0; i < REPLICATES; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double t = gsl_cdf_tdist_Pinv(0.5 + 0.5 * CONFIDENCE, REPLICATES - 1);
    double half = t * sqrt(squares / (REPLICATES - 1) / REPLICATES);
    ck_assert_msg(fabs(mean - expected) <= half, "%s: %g +- %g, expected %g", what, mean, half,
                  expected);
    ck_assert_msg(half < 0.1 * expected, "%s: +- %g says nothing about %g", what, half, expected);
}

static const struct {
    uint32_t servers;
    double load;
} cases[] = {{1, 0.5}, {1, 0.8}, {2, 0.7}, {4, 0.8}, {16, 0.9}};

START_TEST(waits_match_erlang) {
    double waits[REPLICATES], numbers[REPLICATES];
    struct station station = {.servers = cases[_i].servers, .load = cases[_i].load};
    for (uint32_t i = 0; i < REPLICATES; i++) {
        station.replicate = i;
        struct means means = simulate(station);
        waits[i] = means.wait_ns;
        numbers[i] = means.in_system;
    }
    double a = station.load * station.servers;
    double wait = erlang_c(station.servers, a) * SERVICE_MEAN_NS / (station.servers - a);
    check_interval(waits, wait, "mean wait in ns");
    check_interval(numbers, a * wait / SERVICE_MEAN_NS + a, "mean number in the system");
}
END_TEST

/* The same queue without an engine: a customer takes the server that is free first (Lindley for one
 * server, Kiefer and Wolfowitz for more). The sum of the waits, over all customers. */
static double waits_by_recursion(const struct station *station) {
    sim_time free_at[16] = {0}, now = 0;
    double gap_ns = SERVICE_MEAN_NS / (station->load * station->servers), total = 0.0;
    for (uint64_t customer = 0; customer < CUSTOMERS; customer++) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < station->servers; i++)
            first = free_at[i] < free_at[first] ? i : first;
        sim_time start = free_at[first] > now ? free_at[first] : now;
        total += (double)(start - now);
        free_at[first] = start + draw(station, SERVICES, customer, SERVICE_MEAN_NS);
        now += draw(station, ARRIVALS, customer, gap_ns);
    }
    return total;
}

/* To the nanosecond: sums of whole numbers below 2^53 are exact. */
START_TEST(waits_equal_the_recursion) {
    struct station station = {.servers = cases[_i].servers, .load = cases[_i].load};
    ck_assert_double_eq(simulate(station).wait_all_ns, waits_by_recursion(&station));
}
END_TEST

/* The closed form itself, against a textbook's table: C(1, rho) = rho, and C(2, 1) = 1/3. */
START_TEST(erlang_c_is_right) {
    assert_relative(erlang_c(1, 0.8), 0.8, 1e-14);
    assert_relative(erlang_c(2, 1.0), 1.0 / 3.0, 1e-14);
}
END_TEST

/* Common random numbers: the customers of a faster station are the same customers. */
START_TEST(the_same_customers_come_to_another_station) {
    struct station slow = {.servers = 1, .load = 0.5}, fast = {.servers = 1, .load = 0.25};
    for (uint64_t i = 0; i < 100; i++)
        ck_assert_int_eq(draw(&slow, SERVICES, i, SERVICE_MEAN_NS),
                         draw(&fast, SERVICES, i, SERVICE_MEAN_NS));
}
END_TEST

static Suite *queueing_suite(void) {
    Suite *suite = suite_create("queueing");
    TCase *tcase = tcase_create("queueing");
    tcase_set_timeout(tcase, 300.0); /* seconds, of each: it takes one, or five under sanitizers */
    tcase_add_test(tcase, erlang_c_is_right);
    tcase_add_loop_test(tcase, waits_match_erlang, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, waits_equal_the_recursion, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, the_same_customers_come_to_another_station);
    suite_add_tcase(suite, tcase);
    return suite;
}

TESTING_MAIN(queueing_suite)
