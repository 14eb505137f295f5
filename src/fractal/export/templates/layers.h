/* y = W x + b; b may be NULL. The loop over outputs is the inner one, which compilers vectorize. */
static inline void NAME_dense(int inputs, int outputs, const double *restrict weight,
                              const double *restrict bias, const double *restrict x,
                              double *restrict y)
{
    for (int i = 0; i < outputs; i++) y[i] = bias == NULL ? 0.0 : bias[i];
    for (int j = 0; j < inputs; j++)
        for (int i = 0; i < outputs; i++) y[i] += weight[j * outputs + i] * x[j];
}

//% if norm == "layer" or final_norm
/* Layer norm: mean 0 and variance 1 over the channels, then scale and shift. */
static inline void NAME_layer_norm(const double *scale, const double *shift, const double *x,
                                   double *y)
{
    double mean = 0.0, variance = 0.0;
    for (int i = 0; i < NAME_WIDTH; i++) mean += x[i];
    mean /= NAME_WIDTH;
    for (int i = 0; i < NAME_WIDTH; i++) variance += (x[i] - mean) * (x[i] - mean);
    const double factor = 1.0 / sqrt(variance / NAME_WIDTH + 1e-5);
    for (int i = 0; i < NAME_WIDTH; i++) y[i] = scale[i] * ((x[i] - mean) * factor) + shift[i];
}
//% endif
//% if norm == "batch"
/* Batch norm with its running averages: a scale and a shift per channel. */
static inline void NAME_batch_norm(const double *scale, const double *shift, const double *x,
                                   double *y)
{
    for (int i = 0; i < NAME_WIDTH; i++) y[i] = scale[i] * x[i] + shift[i];
}
//% endif
