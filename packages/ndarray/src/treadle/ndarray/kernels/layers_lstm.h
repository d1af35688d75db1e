/* One step in time of an LSTM, rows of a batch: the gates i, f, g, o lie side by side, each `size` long. */
static void NAME(lstm)(const td_lstm *step, int64_t first, int64_t end)
{
    const int64_t size = step->size;
    for (int64_t row = first; row < end; row++) {
        const T *product = (const T *)step->product + row * 4 * size, *given = (const T *)step->given + row * 4 * size;
        const T *before = (const T *)step->before + row * size;
        T *gates = (T *)step->gates + row * 4 * size, *cell = (T *)step->cell + row * size;
        T *shown = (T *)step->shown + row * size, *hidden = (T *)step->hidden + row * size;
        TD_INDEPENDENT
        for (int64_t j = 0; j < 2 * size; j++)
            gates[j] = td_sigmoid((T)(product[j] + given[j]));
        TD_INDEPENDENT
        for (int64_t j = 2 * size; j < 3 * size; j++)
            gates[j] = td_tanh((T)(product[j] + given[j]));
        TD_INDEPENDENT
        for (int64_t j = 3 * size; j < 4 * size; j++)
            gates[j] = td_sigmoid((T)(product[j] + given[j]));
        TD_INDEPENDENT
        for (int64_t j = 0; j < size; j++) {
            cell[j] = gates[size + j] * before[j] + gates[j] * gates[2 * size + j];
            shown[j] = td_tanh(cell[j]);
            hidden[j] = gates[3 * size + j] * shown[j];
        }
    }
}

static void NAME(lstm_gradient)(const td_lstm *step, int64_t first, int64_t end)
{
    const int64_t size = step->size;
    for (int64_t row = first; row < end; row++) {
        const T *gates = (const T *)step->gates + row * 4 * size, *before = (const T *)step->before + row * size;
        const T *shown = (const T *)step->shown + row * size, *d_shown = (const T *)step->d_shown + row * size;
        T *d_cell = (T *)step->d_cell + row * size, *d_gates = (T *)step->d_gates + row * 4 * size;
        TD_INDEPENDENT
        for (int64_t j = 0; j < size; j++) {
            const T i = gates[j], f = gates[size + j], g = gates[2 * size + j], o = gates[3 * size + j];
            const T inner = d_shown[j] * (o * ((T)1 - shown[j] * shown[j])) + d_cell[j];
            d_gates[j] = inner * (i * ((T)1 - i) * g);
            d_gates[size + j] = inner * (f * ((T)1 - f) * before[j]);
            d_gates[2 * size + j] = inner * (((T)1 - g * g) * i);
            d_gates[3 * size + j] = d_shown[j] * (o * ((T)1 - o) * shown[j]);
            d_cell[j] = inner * f;
        }
    }
}
