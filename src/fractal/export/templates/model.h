//% extends "header.h"
//% block usage
//% if in_file
       static NAME_file file;                        (read NAME.weights into it)
       if (NAME_check(&file, bytes_read) != 0) ...   (not the weights of this header)
       const NAME_weights *weights = &file.weights;
//% else
       const NAME_weights *weights = &NAME_trained;
//% endif
       NAME_state state;
       double output[NAME_OUTPUTS];
       NAME_init(&state);
//% if tokens
       NAME_step(weights, &state, token, @{"1.0, " if timed}@output);      (for each token)
//% else
       NAME_step(weights, &state, sample, @{"1.0, " if timed}@output);     (for each sample)
//% endif

   `step` returns 0, or -1 for an argument that it refuses; the state is then unchanged.
//% endblock
//% block content
enum {
    NAME_INPUTS = @{inputs}@,  /* @{"tokens of the vocabulary" if tokens else "values per sample"}@ */
    NAME_OUTPUTS = @{outputs}@,
    NAME_WIDTH = @{width}@,   /* channels */
    NAME_DEPTH = @{depth}@,   /* blocks */
//% if rate != "fixed"
    NAME_CLOCKS = @{clocks}@,  /* clocks per block */
//% endif
    NAME_MODES = @{modes}@    /* modes per block: complex numbers, as real and imaginary parts */
};

/* Weights. Matrices are stored by input: the weights of all outputs for input 0, then for input 1. */

typedef struct {
//% for member in weights.blocks[0]
//% include "member.h"
//% endfor
} NAME_block;

typedef struct {
//% for member in weights.first
//% include "member.h"
//% endfor
    NAME_block blocks[NAME_DEPTH];
//% for member in weights.last
//% include "member.h"
//% endfor
} NAME_weights;

/* The state of one stream. "lost" is what rounding removed from a sum, in two words. */
typedef struct {
    double modes[NAME_DEPTH][2 * NAME_MODES];  /* real parts, then imaginary parts */
//% if scale_invariant
    double modes_lost[NAME_DEPTH][2 * 2 * NAME_MODES];
//% if rate == "fixed"
    double time;                               /* duration of all samples */
    double time_lost[2];
//% else
    double time[NAME_DEPTH][NAME_CLOCKS];      /* what all samples took */
    double time_lost[NAME_DEPTH][2 * NAME_CLOCKS];
//% endif
//% endif
//% if rate == "path"
    double last_input[NAME_DEPTH][NAME_WIDTH]; /* the last input of each mixer */
//% endif
//% if counted
    uint64_t steps;
//% endif
//% if pooling == "mean"
    double total[NAME_WIDTH];                  /* sum of the features of all steps */
    double total_lost[2 * NAME_WIDTH];
//% endif
} NAME_state;

//% if in_file
/* The content of NAME.weights, little-endian. */
typedef struct {
    char magic[8];         /* "FRACTALW" */
    uint32_t version;      /* of this layout: @{file_version}@ */
    uint32_t real_size;    /* bytes of a number */
    uint32_t count;        /* numbers */
    uint32_t layout;       /* checksum of the names and sizes of all members */
    NAME_weights weights;
} NAME_file;

/* 0, or what is wrong: -1 the size, -2 no weights file, -3 its version, -4 another model. */
static inline int NAME_check(const NAME_file *file, size_t size)
{
    if (size != sizeof(NAME_file)) return -1;
    if (memcmp(file->magic, "FRACTALW", 8) != 0) return -2;
    if (file->version != @{file_version}@u) return -3;
    if (file->real_size != sizeof(double) || file->layout != @{layout}@u) return -4;
    return file->count == sizeof(NAME_weights) / sizeof(double) ? 0 : -4;
}

//% else
//% include "trained.h"

//% endif
//% include "layers.h"

//% if scale_invariant or pooling == "mean"
//% include "sums.h"

//% endif
//% include "mixer.h"

//% include "gate.h"

//% if positions == "sinusoid"
//% include "sinusoid.h"

//% endif
/* One block: h + gate(mixer(norm(h))). */
static inline void NAME_block_step(const NAME_block *w, NAME_state *s, int number,
                                   @{"double %s, " % duration if timed}@double *h)
{
    double z[NAME_WIDTH], y[NAME_WIDTH], out[NAME_WIDTH];
    NAME_@{norm}@_norm(w->norm_scale, w->norm_shift, h, z);
    NAME_mixer_step(w, s, number, @{duration ~ ", " if timed}@z, y);
    NAME_gate(w, z, y, out);
    for (int i = 0; i < NAME_WIDTH; i++) h[i] += out[i];
}

/* The state before the first step. */
static inline void NAME_init(NAME_state *s)
{
    memset(s, 0, sizeof *s);  /* all bits zero is 0.0 */
}

/* One step: the output for everything up to and including this @{"token" if tokens else "sample"}@.

//% if tokens
   token    below NAME_INPUTS
//% else
   x        NAME_INPUTS values
//% endif
//% if timed
   dt       duration of the @{"token" if tokens else "sample"}@, finite and not negative; 1.0 for regular sampling
//% endif
   y        receives NAME_OUTPUTS values */
static inline int NAME_step(const NAME_weights *w, NAME_state *s,
                            @{"uint32_t token" if tokens else "const double *x"}@, @{"double dt, " if timed}@double *y)
{
    double h[NAME_WIDTH];
//% if timed
    if (!(dt >= 0.0) || isinf(dt)) return -1;
//% endif
//% if tokens
    if (token >= NAME_INPUTS) return -1;
    for (int i = 0; i < NAME_WIDTH; i++)
        h[i] = w->encoder_weight[token * NAME_WIDTH + i] + w->encoder_bias[i];
//% else
    NAME_dense(NAME_INPUTS, NAME_WIDTH, w->encoder_weight, w->encoder_bias, x, h);
//% endif
//% if positions == "sinusoid"
    NAME_add_sinusoid(s->steps, h);
//% elif positions == "learned"
    {   /* after the end of the table, its last row */
        const size_t row = s->steps < @{length}@u ? (size_t)s->steps : @{length - 1}@u;
        for (int i = 0; i < NAME_WIDTH; i++) h[i] += w->positions[row * NAME_WIDTH + i];
    }
//% endif
//% if rate == "fixed"
    const double elapsed = @{"NAME_elapsed(s->time, dt)" if scale_invariant else "dt"}@;
//% endif
    for (int k = 0; k < NAME_DEPTH; k++)
        NAME_block_step(&w->blocks[k], s, k, @{duration ~ ", " if timed}@h);
//% if scale_invariant and rate == "fixed"
    NAME_accumulate(1, &s->time, s->time_lost, &dt);
//% endif
//% if counted
    s->steps += 1;
//% endif
//% if final_norm
    double normed[NAME_WIDTH];
    NAME_layer_norm(w->final_scale, w->final_shift, h, normed);
    memcpy(h, normed, sizeof h);
//% endif
//% if pooling == "mean"
    NAME_accumulate(NAME_WIDTH, s->total, s->total_lost, h);
    for (int i = 0; i < NAME_WIDTH; i++) h[i] = s->total[i] / (double)s->steps;
//% endif
    NAME_dense(NAME_WIDTH, NAME_OUTPUTS, w->head_weight, w->head_bias, h, y);
    return 0;
}

//% set name = "tokens" if tokens else "samples"
/* A block of steps: `length` @{name}@, one row of outputs for each.
//% if timed

   dt       one duration per step, or NULL: each is 1.0
//% endif

   Returns 0, or -1 at the first step that is refused; the steps before it have been made. */
static inline int NAME_extend(const NAME_weights *w, NAME_state *s,
                              const @{"uint32_t" if tokens else "double"}@ *@{name}@, @{"const double *dt, " if timed}@size_t length,
                              double *outputs)
{
    for (size_t k = 0; k < length; k++) {
//% if timed
        const double duration = dt == NULL ? 1.0 : dt[k];
//% endif
        if (NAME_step(w, s, @{"tokens[k]" if tokens else "samples + k * NAME_INPUTS"}@@{", duration" if timed}@,
                      outputs + k * NAME_OUTPUTS) != 0)
            return -1;
    }
    return 0;
}
//% endblock
