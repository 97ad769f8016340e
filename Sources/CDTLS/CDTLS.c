#include "CDTLS.h"
