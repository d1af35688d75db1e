/* How kernels tell of an index that is out of range: they note it in a word of its check, over NO_INDEX. Outside of a
 * capture the host waits for the words; in one they lie in the host's memory, and a later replay or synchronization
 * fails. Of several wrong indices any is told. */
#ifndef TREADLE_CUDA_INDEX_CHECKS_H
#define TREADLE_CUDA_INDEX_CHECKS_H

#include "replays.h"

namespace td {

TD_DEVICE void note_index(int64_t *word, int64_t index) { *word = index == NO_INDEX ? index + 1 : index; }

/* The checks of one call. */
class IndexChecks {
public:
    /* Room for so many words. */
    int begin(int count)
    {
        if (td_cuda_capturing())
            return TD_OK;
        TD_TRY(scratch_.reserve(count * static_cast<int64_t>(sizeof(int64_t))));
        TD_CHECK(cudaMemsetAsync(scratch_.memory(), NO_INDEX_BYTE, count * sizeof(int64_t), stream()));
        return TD_OK;
    }

    /* The word of the next check. text is that of its failure, with "{}" for the index. */
    int next(const char *text, int64_t **word)
    {
        TD_TRY(captured_index_check(text, word));
        if (!*word)
            *word = reinterpret_cast<int64_t *>(scratch_.memory()) + count_++;
        return TD_OK;
    }

    /* Waits for the words. number becomes that of the first check that failed, and index what it noted; -1 without one,
     * and in a capture. */
    int finish(int *number, int64_t *index)
    {
        int64_t found[TD_MAX_NDIM];
        *number = -1;
        if (count_ == 0)
            return TD_OK;
        TD_TRY(td_cuda_copy_bytes(found, scratch_.memory(), count_ * static_cast<int64_t>(sizeof(int64_t)), TD_TO_HOST, 0));
        for (int check = count_ - 1; check >= 0; check--)
            if (found[check] != NO_INDEX) {
                *number = check;
                *index = found[check];
            }
        return TD_OK;
    }

private:
    Scratch scratch_;
    int count_ = 0;
};

/* Runs launch(word), whose kernel may note one index. */
template <class Launch> int launch_checked(const char *text, int *wrong, int64_t *index, Launch &&launch)
{
    IndexChecks checks;
    int64_t *word;
    int number;
    *wrong = 0;
    TD_TRY(checks.begin(1));
    TD_TRY(checks.next(text, &word));
    TD_TRY(launch(word));
    TD_TRY(checks.finish(&number, index));
    *wrong = number >= 0;
    return TD_OK;
}

} // namespace td

#endif
