#include "CNice.h"
