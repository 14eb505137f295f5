static inline double NAME_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

//% if gate == "silu"
/* The gate: (W1 y + b1) silu(W2 z + b2), with silu(x) = x sigmoid(x). */
static inline void NAME_gate(const NAME_block *w, const double *z, const double *y, double *out)
{
    double inner[NAME_WIDTH];
    NAME_dense(NAME_WIDTH, NAME_WIDTH, w->outer_weight, w->outer_bias, y, out);
    NAME_dense(NAME_WIDTH, NAME_WIDTH, w->inner_weight, w->inner_bias, z, inner);
    for (int i = 0; i < NAME_WIDTH; i++) out[i] *= inner[i] * NAME_sigmoid(inner[i]);
}
//% else
/* The tanh approximation of x times the normal distribution function. */
static inline double NAME_gelu(double x)
{
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

//% if gate == "full_glu"
/* The gate: (W1 a + b1) sigmoid(W2 a + b2), a = gelu(y). */
//% elif gate == "half_glu1"
/* The gate: a sigmoid(W2 a + b2), a = gelu(y). */
//% else
/* The gate: y sigmoid(W2 a + b2), a = gelu(y). */
//% endif
static inline void NAME_gate(const NAME_block *w, const double *z, const double *y, double *out)
{
    double active[NAME_WIDTH], inner[NAME_WIDTH];
    (void)z;  /* this gate reads the mixer's output only */
    for (int i = 0; i < NAME_WIDTH; i++) active[i] = NAME_gelu(y[i]);
    NAME_dense(NAME_WIDTH, NAME_WIDTH, w->inner_weight, w->inner_bias, active, inner);
//% if gate == "full_glu"
    NAME_dense(NAME_WIDTH, NAME_WIDTH, w->outer_weight, w->outer_bias, active, out);
    for (int i = 0; i < NAME_WIDTH; i++) out[i] *= NAME_sigmoid(inner[i]);
//% elif gate == "half_glu1"
    for (int i = 0; i < NAME_WIDTH; i++) out[i] = active[i] * NAME_sigmoid(inner[i]);
//% else
    for (int i = 0; i < NAME_WIDTH; i++) out[i] = y[i] * NAME_sigmoid(inner[i]);
//% endif
}
//% endif
