#define TD_LAYERS td_layers_baseline
#include "layers_body.h"
