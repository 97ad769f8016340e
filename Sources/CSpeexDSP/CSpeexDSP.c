#include "CSpeexDSP.h"
