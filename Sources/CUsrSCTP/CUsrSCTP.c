#include "CUsrSCTP.h"
