/* Input-dependent time: each clock of a layer runs at a rate of its own. The modes of clock c are those
   from clock_start[c] to clock_start[c + 1]. */
static const int NAME_clock_start[NAME_CLOCKS + 1] = {@{clock_starts|join(", ")}@};

//% if rate == "selective"
/* The time that a sample takes on each clock: dt softplus(W u + b). */
static inline void NAME_durations(const NAME_block *w, double dt, const double *u, double *taken)
{
    NAME_dense(NAME_WIDTH, NAME_CLOCKS, w->rate_weight, w->rate_bias, u, taken);
    for (int c = 0; c < NAME_CLOCKS; c++) {
        const double x = taken[c], tail = log1p(exp(x > 0.0 ? -x : x));
        taken[c] = dt * (x > 0.0 ? x + tail : tail);
    }
}
//% else
/* The time that a sample takes on each clock: the weighted length of its change since `before`,
   which is then replaced by the sample. */
static inline void NAME_durations(const NAME_block *w, double *before, const double *u,
                                  double *taken)
{
    double squares[NAME_WIDTH];
    for (int i = 0; i < NAME_WIDTH; i++) {
        squares[i] = (u[i] - before[i]) * (u[i] - before[i]);
        before[i] = u[i];
    }
    NAME_dense(NAME_WIDTH, NAME_CLOCKS, w->path_weight, NULL, squares, taken);
    for (int c = 0; c < NAME_CLOCKS; c++) taken[c] = sqrt(taken[c]);
}
//% endif
