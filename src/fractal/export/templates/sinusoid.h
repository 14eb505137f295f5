/* Sines and cosines of the step number, with wavelengths from 2 pi to 2 pi 10^4 steps. Angles are
   counted in turns of 2^64, as integers that wrap around: they are exact to 2^-25 turns up to
   10^12 steps, in any precision. */
static inline void NAME_add_sinusoid(uint64_t step, double *h)
{
    static const uint64_t turns[NAME_WIDTH] = {
//% for turn in turns
        UINT64_C(@{turn}@),
//% endfor
    };
    for (int i = 0; i < NAME_WIDTH; i++) {
        uint64_t angle = step * turns[i];
        if (i % 2) angle += UINT64_C(0x4000000000000000);  /* cos x = sin(x + a quarter turn) */
        h[i] += sin((double)(int64_t)angle * 3.4061215800865545e-19);
    }
}
