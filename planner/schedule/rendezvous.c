/* Transfers that need both sides at once. Each rank runs groups of transfers between its passes; a group is done when
 * the other side of each of its transfers has come to its own group. */
#include "lcp/schedule.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct message {
    int32_t chunk, stage, from, to; /* stage of the pass whose output it is */
    bool forward;
    int32_t posted; /* sides that wait for it */
} message;

typedef struct meeting {
    const lcp_schedule *schedule;
    lcp_sending sending;
    message *messages; /* [2][stage][chunk] */
    int32_t *op;       /* [rank]: the pass before the group it is in, -1 before the first */
    int32_t *step;     /* [rank]: transfers of that group that have been posted, if one at a time */
} meeting;

static message *message_of(const meeting *m, bool forward, int32_t stage, int32_t chunk)
{
    size_t cells = (size_t)m->schedule->stage_count * (size_t)m->schedule->chunk_count;
    return &m->messages[(forward ? 0 : cells) + (size_t)stage * (size_t)m->schedule->chunk_count + (size_t)chunk];
}

/* What an op sends, or NULL. */
static message *sent_by(const meeting *m, const lcp_op *op)
{
    int32_t body = m->schedule->stage_count - m->schedule->head_shards;
    bool forward = op->kind == LCP_OP_FORWARD;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    int32_t to = forward ? op->stage + 1 : op->stage - 1;
    if ((!forward && !backward) || op->stage >= body || to < 0 || to >= body) {
        return NULL;
    }
    message *sent = message_of(m, forward, op->stage, op->chunk);
    sent->chunk = op->chunk;
    sent->stage = op->stage;
    sent->forward = forward;
    sent->from = lcp_schedule_rank(m->schedule, op->stage, op->chunk);
    sent->to = lcp_schedule_rank(m->schedule, to, op->chunk);
    return sent->from != sent->to ? sent : NULL;
}

/* What an op waits for from another rank, or NULL. */
static message *read_by(const meeting *m, const lcp_op *op)
{
    bool forward = op->kind == LCP_OP_FORWARD;
    lcp_op producer = *op;
    producer.stage = forward ? op->stage - 1 : op->stage + 1;
    bool backward = op->kind == LCP_OP_BACKWARD || op->kind == LCP_OP_INPUT_GRAD;
    bool inside = producer.stage >= 0 && producer.stage < m->schedule->stage_count - m->schedule->head_shards;
    return (forward || backward) && inside ? sent_by(m, &producer) : NULL;
}

/* The transfers between pass `op` and the next one: outputs first. */
static int32_t group_of(const meeting *m, int32_t rank, message *group[2])
{
    int32_t at = m->op[rank];
    int32_t count = 0;
    message *sent = at >= 0 ? sent_by(m, &m->schedule->ops[rank][at]) : NULL;
    message *read = at + 1 < m->schedule->op_count[rank] ? read_by(m, &m->schedule->ops[rank][at + 1]) : NULL;
    if (sent != NULL) {
        group[count++] = sent;
    }
    if (read != NULL) {
        group[count++] = read;
    }
    return count;
}

/* Posts what can be posted and passes the group if all of it is done. */
static bool advance(meeting *m, int32_t rank)
{
    message *group[2];
    int32_t count = group_of(m, rank, group);
    bool batched = m->sending == LCP_SENDING_BATCHED;
    bool moved = false;
    while (m->step[rank] < count && (batched || m->step[rank] == 0 || group[m->step[rank] - 1]->posted == 2)) {
        group[m->step[rank]++]->posted++;
        moved = true;
    }
    for (int32_t i = 0; i < count; i++) {
        if (i >= m->step[rank] || group[i]->posted < 2) {
            return moved;
        }
    }
    m->op[rank]++;
    m->step[rank] = 0;
    return true;
}

static const message *waits_for(const meeting *m, int32_t rank)
{
    message *group[2];
    int32_t count = group_of(m, rank, group);
    for (int32_t i = 0; i < count; i++) {
        if (group[i]->posted < 2) {
            return group[i];
        }
    }
    return NULL;
}

static lcp_status report(const meeting *m, int32_t stuck, lcp_error *err)
{
    char text[900] = "";
    size_t used = 0;
    int32_t at = stuck;
    for (int32_t i = 0; i < m->schedule->rank_count; i++) { /* into the cycle */
        const message *w = waits_for(m, at);
        at = w == NULL ? at : w->from == at ? w->to : w->from;
    }
    int32_t first = at;
    do {
        const message *w = waits_for(m, at);
        if (w == NULL) {
            return lcp_fail(err, LCP_FALSE, "schedule", "rank %d waits for rank %d, which has ended", stuck, at);
        }
        bool sends = w->from == at;
        int32_t other = sends ? w->to : w->from;
        int written =
            snprintf(text + used, sizeof text - used, "%srank %d waits to %s %s of chunk %d, stage %d, %s rank %d",
                     used > 0 ? "; " : "", at, sends ? "send" : "receive", w->forward ? "F" : "B", w->chunk, w->stage,
                     sends ? "to" : "from", other);
        used = written > 0 && used + (size_t)written < sizeof text ? used + (size_t)written : used;
        at = other;
    } while (at != first && used + 120 < sizeof text);
    return lcp_fail(err, LCP_FALSE, "schedule", "deadlock: %s", text);
}

lcp_status lcp_rendezvous_check(const lcp_schedule *schedule, lcp_sending sending, lcp_error *err)
{
    size_t ranks = (size_t)schedule->rank_count;
    meeting m = {.schedule = schedule, .sending = sending};
    m.messages = calloc(2 * (size_t)schedule->stage_count * (size_t)schedule->chunk_count, sizeof *m.messages);
    m.op = malloc(2 * ranks * sizeof *m.op);
    lcp_status status = LCP_OK;
    if (m.messages == NULL || m.op == NULL) {
        status = lcp_fail(err, LCP_NOMEM, "", "cannot check the sends of a schedule");
    }
    for (size_t r = 0; status == LCP_OK && r < ranks; r++) {
        m.op[r] = -1;
        m.op[ranks + r] = 0;
    }
    m.step = m.op != NULL ? m.op + ranks : NULL;
    for (bool moved = status == LCP_OK; moved;) {
        moved = false;
        for (int32_t r = 0; r < schedule->rank_count; r++) {
            while (m.op[r] < schedule->op_count[r] && advance(&m, r)) {
                moved = true;
            }
        }
    }
    for (int32_t r = 0; status == LCP_OK && r < schedule->rank_count; r++) {
        status = m.op[r] < schedule->op_count[r] ? report(&m, r, err) : LCP_OK;
    }
    free(m.messages);
    free(m.op);
    return status;
}
