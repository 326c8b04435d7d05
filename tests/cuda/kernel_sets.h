/* SPDX-License-Identifier: BSD-3-Clause */
/* Both sets of a datatype's device code, for aligned memory and for any; no include guard. */
#define ODD 0
#include "collectives/engine/cuda/interpret.h"
#include "collectives/engine/cuda/undefine.h"
#define ODD 1
#include "collectives/engine/cuda/interpret.h"
#include "collectives/engine/cuda/undefine.h"
