/* SPDX-License-Identifier: BSD-3-Clause */
/* Where PCI devices are, by their folders below /sys/devices. */
#ifndef FB_COMMON_SYSTEM_PCI_H
#define FB_COMMON_SYSTEM_PCI_H

/*
 * How near two devices are, by their folders below /sys/devices: how many folders from the top
 * down are the same. Devices behind one PCIe switch have more in common than those of one root
 * complex, and these more than those of two.
 */
int fb_pci_shared_path(const char *a, const char *b);

/*
 * What two devices have in common, as nvidia-smi names it: PIX (one switch), PXB (several
 * switches), PHB (the host bridge), NODE (the NUMA node) or SYS (no more than the host). a, b:
 * names of links below `root` ("" for the real machine), as "/sys/class/infiniband/mlx5_0/device".
 * NULL where one of them is no PCI device.
 */
const char *fb_pci_level(const char *root, const char *a, const char *b);

#endif
