//% if scale_invariant
/* Elapsed time on the scale-invariant clock, log((time + dt) / time). It is infinite for the first
   sample, which is thereby extended into the past. */
static inline double NAME_elapsed(double time, double dt)
{
    if (time > 0.0) return log1p(dt / time);
    return dt > 0.0 ? INFINITY : 0.0;
}

//% endif
//% if rate != "fixed"
//% include "rate.h"

//% endif
/* 1 - g for the gates g of the modes from `first` to `end`: the share of the state that a step
   replaces. */
static inline void NAME_complements(const NAME_block *w, int first, int end, double elapsed,
                                    double *re, double *im)
{
//% if scale_invariant or rate != "fixed"
    if (isinf(elapsed)) {
        for (int m = first; m < end; m++) re[m] = 1.0, im[m] = 0.0;
        return;
    }
//% endif
    for (int m = first; m < end; m++) {
        const double decay = w->decay[m] * elapsed, phase = w->rotation[m] * elapsed;
//% if discretization == "zoh"
        /* g = exp(-(decay + i phase)); no cancellation for short steps */
        const double modulus = exp(-decay), half = sin(0.5 * phase);
        re[m] = -expm1(-decay) * cos(phase) + 2.0 * half * half;
        im[m] = modulus * sin(phase);
//% else
        /* g = (1 - p/2) / (1 + p/2) with p = decay + i phase */
        const double a = 1.0 + 0.5 * decay, b = 0.5 * phase, size = a * a + b * b;
        re[m] = (decay * a + phase * b) / size;
        im[m] = phase / size;
//% endif
    }
}

/* The layer: each mode z moves toward its steady state v = (B/lambda) u by z += (1 - g) (v - z);
   the output is a linear readout of all modes, plus D u. */
static inline void NAME_mixer_step(const NAME_block *w, NAME_state *s, int number,
                                   @{"double %s, " % duration if timed}@const double *u, double *y)
{
    double change[2 * NAME_MODES], re[NAME_MODES], im[NAME_MODES];
    double *z = s->modes[number];
//% if rate != "fixed"
    double taken[NAME_CLOCKS];
    NAME_durations(w, @{"dt" if timed else "s->last_input[number]"}@, u, taken);
    for (int c = 0; c < NAME_CLOCKS; c++) {
        const double elapsed = @{"NAME_elapsed(s->time[number][c], taken[c])" if scale_invariant else "taken[c]"}@;
        NAME_complements(w, NAME_clock_start[c], NAME_clock_start[c + 1], elapsed, re, im);
    }
//% if scale_invariant
    NAME_accumulate(NAME_CLOCKS, s->time[number], s->time_lost[number], taken);
//% endif
//% elif scale_invariant
    NAME_complements(w, 0, NAME_MODES, elapsed, re, im);
//% else
    if (elapsed == 1.0) {
        memcpy(re, w->complement, sizeof re);
        memcpy(im, w->complement + NAME_MODES, sizeof im);
    } else {
        NAME_complements(w, 0, NAME_MODES, elapsed, re, im);
    }
//% endif
    NAME_dense(NAME_WIDTH, 2 * NAME_MODES, w->response, NULL, u, change);
    for (int m = 0; m < NAME_MODES; m++) {
        const double a = change[m] - z[m], b = change[NAME_MODES + m] - z[NAME_MODES + m];
        change[m] = re[m] * a - im[m] * b;
        change[NAME_MODES + m] = re[m] * b + im[m] * a;
    }
//% if scale_invariant
    NAME_accumulate(2 * NAME_MODES, z, s->modes_lost[number], change);
//% else
    for (int m = 0; m < 2 * NAME_MODES; m++) z[m] += change[m];
//% endif
    NAME_dense(2 * NAME_MODES, NAME_WIDTH, w->readout, NULL, z, y);
    for (int i = 0; i < NAME_WIDTH; i++) y[i] += w->skip[i] * u[i];
}
