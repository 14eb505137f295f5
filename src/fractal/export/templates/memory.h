//% extends "header.h"
//% block usage
       NAME_state state;
       double values[2 * NAME_CHANNELS], ages[2] = {0.0, 0.5};    (now, and halfway back)
       NAME_init(&state);
       NAME_push(&state, sample, 1.0);                            (for each sample)
       NAME_recall(&state, ages, 2, values);
//% endblock
//% block content
enum {
    NAME_CHANNELS = @{channels}@,  /* signals, compressed independently */
    NAME_ORDER = @{order}@,     /* polynomials */
    NAME_MODES = @{modes}@      /* moving averages in logarithmic time, complex numbers */
};

/* The state of one stream. "lost" is what rounding removed from a sum, in two words. */
typedef struct {
    double modes[NAME_CHANNELS][2 * NAME_MODES];  /* real parts, then imaginary parts */
    double modes_lost[NAME_CHANNELS][2 * 2 * NAME_MODES];
    double time;                                  /* duration of all samples */
    double time_lost[2];
    uint64_t count;                               /* samples */
} NAME_state;

/* Rates of the modes: z follows the signal u by dz/ds = rate (u - z), s = log(time). */
static const double NAME_decay[NAME_MODES] = {@{numbers(decay)}@};
static const double NAME_rotation[NAME_MODES] = {@{numbers(rotation)}@};

/* Coefficients of the polynomials from the modes: one row of real and imaginary weights each. */
static const double NAME_readout[NAME_ORDER][2 * NAME_MODES] = {
//% for row in readout
    {@{numbers(row)}@},
//% endfor
};

/* p_n = (slope eta + offset) p_(n-1) - back p_(n-2), eta = 1 - 2 age; p_0 = 1. */
static const double NAME_recurrence[NAME_ORDER][3] = {
//% for row in recurrence
    {@{numbers(row)}@},
//% endfor
};

//% include "sums.h"

/* @{"The state that was exported." if count else "The state before the first sample."}@ */
static inline void NAME_init(NAME_state *s)
{
    memset(s, 0, sizeof *s);  /* all bits zero is 0.0 */
//% if count
    static const double modes[NAME_CHANNELS][2 * NAME_MODES] = {
//% for row in state
        {@{numbers(row)}@},
//% endfor
    };
    memcpy(s->modes, modes, sizeof modes);
    s->time = @{numbers(time)}@;
    s->count = UINT64_C(@{count}@);
//% endif
}

/* Add one sample of NAME_CHANNELS values that lasts for `dt`, positive and finite; 1.0 for regular
   sampling. Returns 0, or -1 for a value or duration that is refused; the state is then unchanged. */
static inline int NAME_push(NAME_state *s, const double *sample, double dt)
{
    double re[NAME_MODES], im[NAME_MODES], change[2 * NAME_MODES];
    if (!(dt > 0.0) || isinf(dt)) return -1;
    for (int c = 0; c < NAME_CHANNELS; c++)
        if (!isfinite(sample[c])) return -1;
    for (int m = 0; m < NAME_MODES; m++) {
        if (s->time > 0.0) {
            /* 1 - exp(-rate elapsed), without cancellation for short steps */
            const double elapsed = log1p(dt / s->time);
            const double decay = NAME_decay[m] * elapsed, phase = NAME_rotation[m] * elapsed;
            const double half = sin(0.5 * phase);
            re[m] = -expm1(-decay) * cos(phase) + 2.0 * half * half;
            im[m] = exp(-decay) * sin(phase);
        } else {
            re[m] = 1.0;  /* the first sample is extended into the past */
            im[m] = 0.0;
        }
    }
    for (int c = 0; c < NAME_CHANNELS; c++) {
        const double *z = s->modes[c];
        for (int m = 0; m < NAME_MODES; m++) {
            const double a = sample[c] - z[m], b = -z[NAME_MODES + m];
            change[m] = re[m] * a - im[m] * b;
            change[NAME_MODES + m] = re[m] * b + im[m] * a;
        }
        NAME_accumulate(2 * NAME_MODES, s->modes[c], s->modes_lost[c], change);
    }
    NAME_accumulate(1, &s->time, s->time_lost, &dt);
    s->count += 1;
    return 0;
}

/* The coefficients of the polynomials, NAME_ORDER for each channel. */
static inline void NAME_coefficients(const NAME_state *s, double *coefficients)
{
    for (int c = 0; c < NAME_CHANNELS; c++)
        for (int n = 0; n < NAME_ORDER; n++) {
            double sum = 0.0;
            for (int m = 0; m < 2 * NAME_MODES; m++) sum += NAME_readout[n][m] * s->modes[c][m];
            coefficients[c * NAME_ORDER + n] = sum;
        }
}

/* The signals at relative ages from 0 (now) to 1 (the start of the stream): NAME_CHANNELS values for
   each age. */
static inline void NAME_recall(const NAME_state *s, const double *ages, size_t count,
                               double *values)
{
    double coefficients[NAME_CHANNELS * NAME_ORDER];
    NAME_coefficients(s, coefficients);
    for (size_t k = 0; k < count; k++) {
        const double eta = 1.0 - 2.0 * ages[k];
        double now = 1.0, before = 0.0;
        for (int c = 0; c < NAME_CHANNELS; c++)
            values[k * NAME_CHANNELS + c] = coefficients[c * NAME_ORDER];
        for (int n = 1; n < NAME_ORDER; n++) {
            const double *r = NAME_recurrence[n];
            const double next = (r[0] * eta + r[1]) * now - r[2] * before;
            before = now;
            now = next;
            for (int c = 0; c < NAME_CHANNELS; c++)
                values[k * NAME_CHANNELS + c] += coefficients[c * NAME_ORDER + n] * now;
        }
    }
}
//% endblock
