/* The reference slots: whatever the compiler's default target is. */
#define TD_SLOTS td_slots_baseline
#include "slots_body.h"
