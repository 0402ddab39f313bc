#ifndef LIB_HOST_NAT_H
#define LIB_HOST_NAT_H
/*
 * The network that a virtual machine has for itself alone: it leads out and
 * never in. Two are known by what they give by DHCP:
 * - VirtualBox' "NAT" and QEMU's "user": 10.0.N.15/24 and the gateway 10.0.N.2,
 *   N from 2 on, one for each card; every machine has the same address in it;
 * - WSL2 unless its cards are mirrored or bridged: some /20, in which Windows,
 *   the gateway, has the first address. Other /20 look the same (AWS' default
 *   subnets), so the kernel must be Microsoft's, too.
 */
#include "lib/host/inventory.h"

/* What it is, behind "in". */
#define NAT_WORDS                                                                                  \
	"the translated network (NAT) that a virtual machine has for itself, where no other host " \
	"reaches it"
/* For a hypervisor's: another network beside it. */
#define NAT_NETWORK_FIX                                                                            \
	"VBoxManage modifyvm VM --nic2 intnet --intnet2 cluster   # of a virtual machine: a "      \
	"network that all share (QEMU, libvirt: a bridge), and an address of it for each"

/* @i is in such a network; its other addresses, of IPv6, lead nowhere either. */
bool nat_is_own(const struct inventory *inv, const struct iface *i);
/* This is WSL2, and Windows has not mirrored its own cards into it. */
bool nat_is_windows(struct arena *a);

#endif
