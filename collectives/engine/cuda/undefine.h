/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends what interpret.h and types.h began, for those who include them for several datatypes. */
#undef NAME
#undef ELEMENT
#undef COMPUTE
#undef WIDEN
#undef NARROW
#undef DIVIDE
#undef ADD
#undef MULTIPLY
#undef MOVE_ONLY
#undef ACCUMULATES
#undef BULK_UNROLL
#undef FB_KERNEL_NAME
#undef ODD
