/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp transport from the inside: one socket for each pair of ranks, shared by all links
 * between them, in both directions.
 *
 * On the wire every message is a frame header of 16 bytes and its payload. `link` is the
 * receiving rank's own index of the link, so no search is needed. The sender of a link may have
 * at most `slots` messages that the receiver has not released, and the receiver keeps that many
 * buffers: whatever arrives has a place, so a socket is never left unread because one of its
 * links is slow, and no link can hold up another. The receiver gives slots back in credit
 * frames, in front of data that goes the same way or, when half of the slots are due, alone.
 *
 * System calls are made only for a reason: sending what was committed, and receiving on sockets
 * of which somebody has asked in vain (peek() or acquire() gave NULL) since the last progress().
 *
 * A message buffer is a header block with the payload behind it. The frame is written right in
 * front of the payload and credits in front of the frame, so that one send() of contiguous
 * memory does it all. Buffers in use are few as long as the other side keeps up, because the
 * last one freed, which the caches still hold, is taken first.
 *
 * A link may be `posted`: then messages are sent from the caller's memory and received into it,
 * which saves a copy at each end. The receiver says beforehand where the next messages go, and
 * only then gets the sender a credit for each, so nothing ever arrives that has no place.
 *
 * One rank's ports share sockets, so all of them and progress() belong to one thread.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_H
#define FB_COMMON_TRANSPORT_TCP_H

#include "common/transport/tcp_address.h"
#include "common/transport/transport.h"

enum {
	FB_TCP_HEAD = 128,         /* bytes before a payload: structure, credits, frame */
	FB_TCP_BUFFER = 16 * 1024, /* bytes of a socket's buffer for headers and small messages */
	FB_TCP_LARGE = 16 * 1024,  /* payloads from here on are received where they belong */
	FB_TCP_HOLD = 96 * 1024,   /* from FB_TCP_LARGE to here ends are held back, tcp_send.c */
	FB_TCP_AHEAD = 512,        /* bytes read past the end of a large message */
	FB_TCP_FRAMES = 64,        /* credit frames sent at once without data */
	FB_TCP_FEW = 8,            /* up to so many sockets are tried in turn; more: epoll */
	FB_TCP_TIMEOUT_MS = 10000, /* of everything that waits for a peer during set-up */
};

enum fb_tcp_kind { FB_TCP_DATA = 1, FB_TCP_CREDIT = 2 };

/* The header on the wire, in the byte order of the processor: fb_tcp_join() checks that. */
struct fb_tcp_frame {
	uint32_t link;  /* index at the receiver of this frame */
	uint16_t epoch; /* of the link, so that a late credit cannot reach its successor */
	uint16_t kind;
	uint64_t bytes; /* data: of the payload that follows; credit: slots given back */
};

struct fb_tcp_link;
struct fb_tcp_socket;
struct fb_tcp;

/* The start of a buffer. In one list at a time: free, to be sent, or received. */
struct fb_tcp_message {
	struct fb_tcp_message *next;
	struct fb_tcp_link *link; /* whose buffer it is; NULL: the socket's control frames */
	const char *at;           /* to be sent from here on */
	size_t left;              /* so many bytes */
	size_t bytes;             /* of the payload */
	char *user;               /* posted: where the payload is, or goes; else NULL */
	size_t user_left;         /* posted: bytes to be sent from there, after `at` */
};

struct fb_tcp_queue {
	struct fb_tcp_message *head, *tail;
};

struct fb_tcp_link {
	struct fb_port port; /* first: ports are cast to links */
	struct fb_tcp_socket *socket;
	uint32_t id, index, remote; /* remote: the peer's index */
	uint16_t epoch;
	bool sends, posted;
	uint32_t slots;
	size_t slot_bytes;
	char *memory;                  /* [slots] buffers */
	struct fb_tcp_message *unused; /* the last one freed first */
	struct fb_tcp_message *staged; /* sender: acquired, not committed */
	uint32_t unreleased;           /* sender: committed, no credit yet */
	struct fb_tcp_queue received;  /* receiver: complete messages */
	struct fb_tcp_queue places;    /* posted, receiver: where the next messages go */
	uint32_t owed;                 /* receiver: released, credit not sent */
	struct fb_tcp_link *next_owed;
};

struct fb_tcp_socket {
	struct fb_tcp *tcp;
	int fd; /* -1: none */
	int peer;
	int nlinks;
	bool working; /* in tcp->work */
	bool asked;   /* somebody waits for what the peer sends */
	bool due;     /* credits should go even without data */
	bool armed;   /* epoll tells when it can be written to */
	bool held;    /* the kernel may hold back the end of a large message */
	bool broken;  /* the connection is gone, or its bytes make no sense */
	struct fb_tcp_queue sending;
	struct fb_tcp_link *owed; /* links with credits to send */
	struct {
		struct fb_tcp_message message;
		struct fb_tcp_frame frames[FB_TCP_FRAMES];
	} control; /* in use while message.left > 0 */
	struct fb_tcp_message *filling; /* payload that is partly here */
	char *fill_at;
	size_t fill_left;
	size_t last_bytes; /* of the last payload */
	size_t begin, end; /* what buffer holds */
	char interface[FB_TCP_INTERFACE], address[FB_TCP_TEXT];
	char buffer[FB_TCP_BUFFER];
};

struct fb_tcp {
	struct fb_transport transport; /* first: transports are cast to it */
	struct fb_tcp_identity *identity; /* [nranks] */
	uint64_t key;  /* of this job; strangers do not know it */
	int listener, epoll; /* epoll: -1 until there are more than `few` sockets */
	int few, timeout_ms; /* FB_TCP_FEW, FB_TCP_TIMEOUT_MS: to be changed by tests */
	struct fb_tcp_socket **sockets; /* [nranks], NULL where there is none */
	int nsockets;
	struct fb_tcp_socket **work; /* [nranks], nwork of them have something to do */
	int nwork;
	struct fb_tcp_link **links; /* by index; NULL: free */
	uint32_t nlinks, max_links;
	uint16_t epoch;
	int err; /* the first failure, for ever */
};

static inline struct fb_tcp_link *fb_tcp_link(struct fb_port *port)
{
	return (struct fb_tcp_link *)port;
}

/* The payload's place in the message's own buffer. */
static inline char *fb_tcp_body(struct fb_tcp_message *message)
{
	return (char *)message + FB_TCP_HEAD;
}

static inline char *fb_tcp_payload(struct fb_tcp_message *message)
{
	return message->user ? message->user : fb_tcp_body(message);
}

static inline void fb_tcp_push(struct fb_tcp_queue *queue, struct fb_tcp_message *message)
{
	message->next = NULL;
	if (queue->head)
		queue->tail->next = message;
	else
		queue->head = message;
	queue->tail = message;
}

static inline struct fb_tcp_message *fb_tcp_pop(struct fb_tcp_queue *queue)
{
	struct fb_tcp_message *message = queue->head;

	queue->head = message->next;
	return message;
}

/* The buffer may be used again. */
static inline void fb_tcp_recycle(struct fb_tcp_message *message)
{
	message->next = message->link->unused;
	message->link->unused = message;
}

/* --- tcp.c ------------------------------------------------------------------------------------ */

/*
 * Whether all that was committed has left this rank. A rank that stops calling progress() before
 * that (because it got all it waited for and goes to an MPI call) may leave its peers waiting.
 */
bool fb_tcp_idle(const struct fb_transport *transport);

/* --- tcp_link.c ------------------------------------------------------------------------------- */

/* Makes a link's end and its buffers and enters it in tcp->links. 0 or FB_ENOMEM (printed). */
int fb_tcp_link_new(struct fb_tcp *tcp, const struct fb_link_request *request,
		    struct fb_tcp_link **link);

/*
 * Takes the link out of everything and frees it. Messages that are still under way (only after
 * a failure) make its socket useless.
 */
void fb_tcp_link_free(struct fb_tcp *tcp, struct fb_tcp_link *link);

/*
 * Collective: tells all peers which links are wanted and learns their indices. 0, FB_ENOMEM, or
 * FB_EPLAN where the two ends do not ask for the same (printed); not the same on all ranks.
 */
int fb_tcp_link_match(struct fb_tcp *tcp, struct fb_tcp_link **links, int n);

/* --- tcp_listen.c, tcp_join.c ----------------------------------------------------------------- */

/*
 * Opens a socket that peers can connect to, on all addresses, IPv6 and IPv4 where possible.
 * Returns its descriptor or FB_ESYS (printed); *ipv6 says whether IPv6 is served.
 */
int fb_tcp_listen(uint32_t *port, bool *ipv6);

/*
 * Sets the options of a connected socket and fills its `interface` and `address`. 0 or FB_ESYS
 * (printed).
 */
int fb_tcp_configure(struct fb_tcp_socket *socket);

/*
 * Connects the n sockets, all at once; every peer does the same at that time. The lower rank of
 * a pair connects and the higher one accepts. Takes at most timeout_ms and a second. 0, FB_ESYS or
 * FB_EPEER (printed); then some may be connected.
 */
int fb_tcp_join(struct fb_tcp *tcp, struct fb_tcp_socket **sockets, int n);

/* --- tcp_send.c ------------------------------------------------------------------------------- */

void *fb_tcp_acquire(struct fb_port *port, size_t bytes);
void fb_tcp_commit(struct fb_port *port, size_t bytes);

/*
 * Posted links, sender: instead of commit(), after acquire() has returned something: sends
 * `bytes` bytes at `data`, which stays as it is until they have left (fb_tcp_idle).
 */
void fb_tcp_commit_user(struct fb_port *port, const void *data, size_t bytes);

/*
 * Sends what is queued and the credits that are due, as far as the kernel takes it, and nothing
 * is held back any more.
 */
void fb_tcp_flush(struct fb_tcp_socket *socket);

/* --- tcp_receive.c ---------------------------------------------------------------------------- */

const void *fb_tcp_peek(struct fb_port *port, size_t bytes);
void fb_tcp_release(struct fb_port *port);

/*
 * Posted links, receiver: the next message without a place goes to `buffer`. Returns false where
 * as many as the link has slots wait already.
 */
bool fb_tcp_post(struct fb_port *port, void *buffer);

/* Takes what has arrived, as far as it is worth while at once. */
void fb_tcp_receive(struct fb_tcp_socket *socket);

/* --- tcp_progress.c --------------------------------------------------------------------------- */

/* Has the socket looked after by the next progress(). */
void fb_tcp_wake(struct fb_tcp_socket *socket);

/*
 * The n added sockets are connected: lets epoll watch them, and at the first time that there are
 * many all others too. 0 or FB_ESYS (printed).
 */
int fb_tcp_watch(struct fb_tcp *tcp, struct fb_tcp_socket **added, int n);

/* Has epoll tell (or no longer tell) when the socket can be written to; nothing without epoll. */
void fb_tcp_arm(struct fb_tcp_socket *socket, bool armed);

int fb_tcp_progress(struct fb_transport *transport);

/*
 * The connection does not work any more; `what` says what happened ("closed its connection").
 * Prints it, with the peer and its host, and has progress() return `err` from now on. A closed
 * connection that no link uses is no failure.
 */
void fb_tcp_fail(struct fb_tcp_socket *socket, int err, const char *what);

#endif
