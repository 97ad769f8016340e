#include "CVPX.h"
