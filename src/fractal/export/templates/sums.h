/* a + b, rounded, and its rounding error, which is exact. */
static inline double NAME_two_sum(double a, double b, double *error)
{
    const double sum = a + b;
    const double rounded_b = sum - a;
    const double rounded_a = sum - rounded_b;
    const double error_a = a - rounded_a;
    const double error_b = b - rounded_b;
    *error = error_a + error_b;
    return sum;
}

/* Add terms to n sums of three words each, so that a stream of any length loses nothing: the
   rounding error of each addition is added to the next smaller word. */
static inline void NAME_accumulate(int n, double *total, double *lost, const double *term)
{
    for (int i = 0; i < n; i++) {
        double smallest, middle, largest;
        double carry = NAME_two_sum(term[i], lost[n + i], &smallest);
        carry = NAME_two_sum(carry, lost[i], &middle);
        total[i] = NAME_two_sum(carry, total[i], &largest);
        lost[i] = largest;
        lost[n + i] = middle + smallest;
    }
}
