/* A sensor without an operating system: an interrupt fills a ring buffer, the main loop empties it.

   net.h is an exported model: fractal export MODEL --to c --prefix net --out . */

#include <stdio.h>

#include "net.h"

enum { RING = 64, TICKS_PER_STEP = 1000 };  /* RING is a power of two */

typedef struct {
    float values[net_INPUTS];
    uint32_t ticks;  /* of the timer at the time of the sample */
} reading;

static reading ring[RING];
static volatile uint32_t written, processed;  /* numbers of readings; they may wrap around */

/* The interrupt handler. Returns -1 if the main loop is too slow: the reading is dropped, and the
   duration of the next one covers it. */
static int on_reading(const float *values, uint32_t ticks)
{
    if (written - processed == RING) return -1;
    memcpy(ring[written % RING].values, values, sizeof ring[0].values);
    ring[written % RING].ticks = ticks;
    written = written + 1;
    return 0;
}

/* One turn of the main loop. Returns 0 if there is nothing to do. */
static int process(net_state *state, uint32_t *last_ticks, float *output)
{
    if (processed == written) return 0;
    const reading *next = &ring[processed % RING];
    const float dt = (float)(next->ticks - *last_ticks) / TICKS_PER_STEP;
    net_step(&net_trained, state, next->values, dt, output);
    *last_ticks = next->ticks;
    processed = processed + 1;
    return 1;
}

int main(void)
{
    static net_state state;
    float output[net_OUTPUTS] = {0};
    uint32_t ticks = UINT32_MAX - 50000, last_ticks = ticks;  /* the timer soon wraps around */
    net_init(&state);
    for (uint32_t k = 0; k < 1000; k++) {  /* on a device: for (;;), and sleep between interrupts */
        float values[net_INPUTS];
        for (uint32_t i = 0; i < net_INPUTS; i++) values[i] = (float)((7 * k + 3 * i) % 11) / 11;
        ticks += 900 + 37 * (k % 7);
        if (on_reading(values, ticks) != 0) return 1;
        if (k % 10 == 9)
            while (process(&state, &last_ticks, output)) {}
    }
    for (int i = 0; i < net_OUTPUTS; i++) printf("%.9g\n", (double)output[i]);
    return 0;
}
