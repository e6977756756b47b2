/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MODELS_GENERATION_ENGINE_H
#define MODELS_GENERATION_ENGINE_H

/*
 * One replica of a rollout engine with continuous batching, as a process of a simulation.
 *
 * An iteration decodes one token for every running sequence and prefills prompts that were
 * admitted, within a token budget. Its time is a sum,
 *
 *     t = base(n) + kv x (tokens of context of all running) + prefill part
 *
 * (see generation/iteration.h). Between two changes of the batch the iterations are an arithmetic
 * series and are summed in closed form: cost grows with sequences, not with tokens. The rules of
 * admission, KV blocks, preemption and prefix caching are in generation/batch.h; tests/oracle/ has
 * the token-by-token twin.
 */

#include "models/generation/costs.h"
#include "sim/sim.h"

typedef void(generation_done_func)(struct sim *sim, void *subject, uint64_t argument,
                                   const struct generation_outcome *outcome);

struct generation_replica;

/* NULL when memory is exhausted. The plan is copied (what it points to is not). Its memory comes
 * from `sim`, which must outlive it. */
struct generation_replica *generation_replica_new(struct sim *sim,
                                                  const struct generation_plan *plan);
void generation_replica_free(struct generation_replica *replica);

/* Before the first batch: the replica takes costs from a table that others of an equal plan share
 * (generation/costs.h), made for the largest batch and outliving it. */
void generation_replica_share(struct generation_replica *replica, struct generation_cost *costs);

/* Starts `count` requests (at least 1, each one fits; they must stay in place until done) now;
 * `done` is called at the instant the last one ends and may start the next batch. The replica must
 * not be at work. No allocation once the replica has seen its largest batch. */
enum sim_status generation_replica_start(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         generation_done_func *done, void *subject,
                                         uint64_t argument);

/* Called at every instant at which requests end, before `done`, with how many of the batch have
 * ended so far. It may stop any replica, this one too. NULL: nobody listens. Stays until changed.
 */
typedef void(generation_progress_func)(struct sim *sim, void *subject, uint64_t argument,
                                       size_t ended);
void generation_replica_listen(struct generation_replica *replica, generation_progress_func *func);

/* Stops a replica at work: the iteration under way is the last one (prompts under way are finished
 * in theirs), then `done` is called. Stragglers are cancelled so, or weights are changed: what the
 * unfinished requests have is in generation_replica_generated, and a request that begins with it
 * (generated_tokens) goes on. Nothing happens to a replica that is not at work. */
void generation_replica_stop(struct generation_replica *replica);
bool generation_replica_is_busy(const struct generation_replica *replica);

/* Whether a request of the batch under way, or of the last one, has ended: for those that listen.
 */
bool generation_replica_has_ended(const struct generation_replica *replica, size_t request);

/* Tokens that a request has beyond its prompt, observations included; valid when done, until the
 * next start. */
uint32_t generation_replica_generated(const struct generation_replica *replica, size_t request);

/* Seconds after the start at which a request ended, not a number where it was stopped; valid when
 * done, until the next start. */
double generation_replica_finish_s(const struct generation_replica *replica, size_t request);

/* The same batch without a simulation, for closed forms and tests. */
enum sim_status generation_replica_solve(struct generation_replica *replica,
                                         const struct generation_request *requests, size_t count,
                                         struct generation_outcome *outcome);

#endif
