#define TD_SORT td_sort_baseline
#include "sort_body.h"
