/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of the tcp transport, as lines for an option table, so that the collectives and the
 * point-to-point programs accept and record the same ones.
 */
#ifndef FB_COMMON_OPTION_TCP_OPTIONS_H
#define FB_COMMON_OPTION_TCP_OPTIONS_H

#include "common/option/option.h"

enum { FB_TCP_SOCKETS = 64 }; /* most sockets between two ranks */

struct fb_tcp_settings {
	uint64_t sockets;        /* for each pair of ranks, at most FB_TCP_SOCKETS */
	uint64_t stripe;         /* least bytes of each part of a message that is cut */
	uint64_t busy_poll_us;   /* SO_BUSY_POLL; 0: as the system has it */
	uint64_t send_buffer;    /* bytes, SO_SNDBUF; 0: the kernel's own adaptation */
	uint64_t receive_buffer; /* bytes, SO_RCVBUF; 0: likewise */
	const char *congestion;  /* TCP_CONGESTION, or "auto": the system's */
	const char *interface;   /* "eth0", "10.1.0.0/16", or "auto": all */
	bool zerocopy;
};

/* The values of all options without a command line. */
extern const struct fb_tcp_settings fb_tcp_defaults;

/* FB_OPTION_STRING's judges of --tcp-congestion, by what this kernel has, and --tcp-interface. */
int fb_tcp_check_congestion(const char *value, char *accepted, size_t n);
int fb_tcp_check_interface(const char *value, char *accepted, size_t n);

/*
 * Whether the settings ask for something that a machine may lack. Then the transport is opened
 * before anything is measured, so that the program is refused and rows do not become faults.
 */
bool fb_tcp_wants(const struct fb_tcp_settings *settings);

/*
 * Writes the options that are not at their default as sorted "k=v;k=v" for a case's variant.
 * `text` (n characters) must be large enough for all, about 200.
 */
void fb_tcp_variant(const struct fb_tcp_settings *settings, char *text, size_t n);

/* The options' lines; `m` is the struct fb_tcp_settings within structure s. */
#define FB_TCP_OPTIONS(s, m)                                                                       \
	FB_OPTION_GROUP("TCP"),                                                                    \
	FB_OPTION_U64(s, m.sockets, 0, "tcp-sockets", "N", "1", 1, FB_TCP_SOCKETS,                 \
		      "sockets for each pair of ranks"),                                           \
	FB_OPTION_U64(s, m.stripe, 0, "tcp-stripe", "SIZE", "64K", 1, UINT64_C(1) << 40,           \
		      "messages are spread over the sockets in parts of at least this size"),      \
	FB_OPTION_FLAG(s, m.zerocopy, 0, "tcp-zerocopy",                                           \
		       "send large messages with MSG_ZEROCOPY"),                                   \
	FB_OPTION_U64(s, m.busy_poll_us, 0, "tcp-busy-poll", "US", "0", 0, 1000000,                \
		      "microseconds to poll the device for packets; 0: the system's value"),	   \
	FB_OPTION_U64(s, m.send_buffer, 0, "tcp-send-buffer", "SIZE", "0", 0, UINT64_C(1) << 30,   \
		      "SO_SNDBUF of the sockets; 0: the kernel adapts it"),                        \
	FB_OPTION_U64(s, m.receive_buffer, 0, "tcp-receive-buffer", "SIZE", "0", 0,                \
		      UINT64_C(1) << 30, "SO_RCVBUF of the sockets; 0: the kernel adapts it"),     \
	FB_OPTION_STRING(s, m.congestion, 0, "tcp-congestion", "NAME", "auto",                     \
			 fb_tcp_check_congestion,                                                  \
			 "congestion control of the sockets; auto: the system's"),                 \
	FB_OPTION_STRING(s, m.interface, 0, "tcp-interface", "NAME", "auto",                       \
			 fb_tcp_check_interface,                                                   \
			 "interface or subnet between hosts: eth0, 10.1.0.0/16; auto: the "        \
			 "fastest that both have")

#endif
