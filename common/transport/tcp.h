/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp transport from the inside: one socket for each pair of ranks, or --tcp-sockets of them,
 * shared by all links between them, in both directions.
 *
 * On the wire every message is a frame header of 16 bytes and its payload; in front of a large one
 * frames that say nothing fill up to FB_TCP_LEAD bytes, so that its place is known. `link` is the
 * receiving rank's own index of the link, so no search is needed. The sender of a link may have
 * at most `slots` messages that the receiver has not released, and the receiver keeps that many
 * buffers: whatever arrives has a place, so a socket is never left unread because one of its
 * links is slow, and no link can hold up another. The receiver gives slots back in credit
 * frames, in front of data that goes the same way or, when half of the slots are due, alone.
 *
 * System calls are made only for a reason: to send what was committed, and to receive on sockets
 * whose links returned NULL from peek() or acquire() since the last progress().
 *
 * With several sockets a link's small messages and its credits go through one of them, its home,
 * which follows from the link's number, so that links are spread over the sockets. Large messages
 * use one socket after the other, and those of twice --tcp-stripe bytes and more are cut into parts
 * for several sockets at once. Both ends know from a message's number and length which sockets
 * carry which bytes of it (tcp_part.c); each part has its own frame with that number (`turn`),
 * which tells the receiver the place in its ring of the next messages. One socket may be ahead of
 * another: peek() returns a link's next message when all of its parts have arrived.
 *
 * With --tcp-zerocopy the kernel reads large messages where they lie, maybe long after send() has
 * returned, so the transport owns their memory until it has reported each of these sends complete
 * (tcp_zerocopy.c). Till then the message counts as unsent: its buffer is not acquired again, and
 * neither settled() nor fb_tcp_idle() lets the owner of a posted message go on and change it.
 *
 * A message buffer is a header block with the payload behind it. The frame is written right in
 * front of the payload and credits in front of the frame, so that one send() of contiguous
 * memory does it all. Buffers in use are few as long as the other side keeps up, because the
 * last one freed, which the caches still hold, is taken first.
 *
 * A link may be `posted`: then messages are sent from the caller's memory and received into it,
 * which saves a copy at each end. The receiver says beforehand where the next messages go, and
 * only then gets the sender a credit for each, so nothing ever arrives that has no place. With
 * `headroom` the link may use FB_TCP_LEAD bytes in front of each message at both ends, so that
 * frames and payload are contiguous for the kernel, as with slots.
 *
 * Of small messages that are committed one after another, with no progress() between, the first one
 * usually leaves at once and the others together with the next progress() (tcp_send.c).
 *
 * Where both ends know what comes, as in a ping-pong, many messages follow one frame (tcp_run.h).
 *
 * One rank's ports share sockets, so all of them and progress() belong to one thread.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_H
#define FB_COMMON_TRANSPORT_TCP_H

#include "common/option/tcp_options.h"
#include "common/transport/tcp_address.h"
#include "common/transport/transport.h"

enum {
	FB_TCP_ALIGN = 64,         /* of payloads, and of what lies before them */
	FB_TCP_BUFFER = 16 * 1024, /* bytes of a socket's buffer for headers and small messages */
	FB_TCP_LARGE = 16 * 1024,  /* payloads this long and longer are received in their place */
	FB_TCP_LED = 1024,         /* those this long and longer have FB_TCP_LEAD bytes in front */
	FB_TCP_HOLD = 96 * 1024,   /* ends of payloads up to this are held back, tcp_send.c */
	FB_TCP_AHEAD = 512,        /* bytes read past the end of a large message */
	FB_TCP_GUESS = 256 * 1024, /* most bytes of a guessed payload in one read, tcp_receive.c */
	FB_TCP_LEAD = 64,          /* bytes in front of a payload of FB_TCP_LED; most for others */
	FB_TCP_GATHER = 16 * 1024, /* bytes of small messages sent together, at most */
	FB_TCP_FRAMES = 64,        /* credit frames sent at once without data */
	FB_TCP_FEW = 8,            /* up to this many sockets are tried in turn; more: epoll */
	FB_TCP_TIMEOUT_MS = 10000, /* of everything that waits for a peer during set-up */
	FB_TCP_FLIGHTS = 256,      /* zero-copy sends of a socket under way at once */
	FB_TCP_MOST_SLOTS = 1 << 15, /* of a link: `turn` tells twice as many messages apart */
};

/* Bytes of the longest message that a frame can announce. */
#define FB_TCP_LONGEST ((UINT64_C(1) << 56) - 1)

enum fb_tcp_kind {
	FB_TCP_DATA = 1,
	FB_TCP_CREDIT = 2,
	FB_TCP_PAD = 3,
	FB_TCP_RUN = 4, /* messages without frames follow, tcp_run.h */
};

/* The header on the wire, in the byte order of the processor: fb_tcp_join() checks that. */
struct fb_tcp_frame {
	uint32_t link;       /* index at the receiver of this frame */
	uint16_t epoch;      /* of the link, so that a late credit cannot reach its successor */
	uint16_t turn;       /* data: the message's number in its link */
	uint64_t bytes : 56; /* data: of the message; run: of each; credit: slots given back */
	uint64_t kind : 8;
};

struct fb_tcp_message;

/* The part of a message that one socket sends: queued, or being sent without a copy. */
struct fb_tcp_piece {
	struct fb_tcp_piece *next;
	struct fb_tcp_message *message; /* NULL: the socket's control frames */
	const char *at;                 /* to be sent from here on */
	size_t left;                    /* this many bytes */
	const char *data;               /* then from here, this many bytes */
	size_t data_left;
	uint32_t pins;             /* zero-copy sends of it that are not complete */
	struct fb_tcp_frame frame; /* used if the frame cannot lie in front of the payload */
};

/* The start of a buffer. */
struct fb_tcp_message {
	struct fb_tcp_message *next; /* of the unused ones */
	struct fb_tcp_link *link;
	size_t bytes;     /* of the payload */
	char *user;       /* posted: where the payload goes; else NULL */
	uint32_t missing; /* parts that are not sent, or not here yet */
	bool begun;       /* receiver: something of it has arrived */
	struct fb_tcp_piece pieces[]; /* [sockets of the pair] */
};

struct fb_tcp_queue {
	struct fb_tcp_piece *head, *tail;
};

struct fb_tcp_link {
	struct fb_port port; /* first: ports are cast to links */
	struct fb_tcp_socket **sockets; /* of the pair: part of fb_tcp.sockets */
	struct fb_tcp_socket *socket;   /* the home, one of them */
	uint32_t id, index, remote;     /* remote: the peer's index */
	uint16_t epoch;
	uint16_t turn; /* of the next message to be committed, or to be released */
	bool sends, posted, headroom;
	uint32_t slots;
	size_t slot_bytes;
	size_t head;                   /* bytes of a buffer before its payload */
	char *memory;                  /* [slots] buffers */
	struct fb_tcp_message *unused; /* the last one freed first */
	struct fb_tcp_message *staged; /* sender: acquired, not committed */
	uint32_t unreleased;           /* sender: committed, no credit yet */
	uint32_t unsent;               /* sender: committed, buffer still in use */
	struct fb_tcp_message **ring;  /* receiver: [slots] the next messages; NULL: not begun */
	uint32_t first, placed;        /* the next one's index; posted: places from it on */
	uint32_t owed;                 /* receiver: released, credit not sent */
	struct {
		const struct fb_tcp_socket *on; /* the next message was last asked for there, */
		uint32_t look;                  /* at this fb_tcp_socket.look, */
		size_t bytes;                   /* as a message of so many bytes */
	} awaited;
	struct {
		size_t bytes; /* of each message */
		size_t moved; /* bytes of the frames before it that were sent or received */
		bool begun;   /* all of these frames were */
	} run;
	uint32_t successor; /* receiver: index of the link whose message came next, last time */
	bool listed;                   /* among the socket's links with credits to send */
	struct fb_tcp_link *next_owed;
};

struct fb_tcp_socket {
	struct fb_tcp *tcp;
	int fd; /* -1: none */
	int peer;
	int index; /* among the sockets of the pair */
	int nlinks;
	bool broken;  /* the connection has failed, or its bytes make no sense */
	bool working; /* in tcp->work */
	bool asked;   /* somebody waits for what the peer sends */
	bool due;     /* credits should go even without data */
	bool armed;   /* epoll reports when it can be written to */
	uint64_t round; /* fb_tcp.round when something was last committed */
	uint32_t in_row; /* pieces committed in that round */
	bool burst;   /* in the last round before it with pieces there were several */
	bool held;    /* the kernel may hold back the end of a large message */
	size_t gathered; /* bytes queued before a first try to send them; 0: they were tried */
	struct fb_tcp_queue sending;
	struct fb_tcp_link *owed; /* links with credits to send */
	struct fb_tcp_message *filling; /* the message of a part that is partly here */
	char *fill_at;
	size_t fill_left;
	size_t last_bytes; /* of the last part */
	size_t end;        /* bytes of a frame that buffer holds */
	/* The state from which the next bytes are guessed. */
	uint32_t look;               /* calls of fb_tcp_receive() */
	bool vain;                   /* the last read returned nothing, so the caller waits */
	struct fb_tcp_link *awaited; /* peek() wanted its next message since the last look */
	bool crowded;                /* and a message of another link as well */
	struct fb_tcp_link *previous; /* the last message that began here belongs to this link */
	uint32_t doubt;              /* messages until the order of links is trusted again */
	/* Zero-copy sends by number modulo FB_TCP_FLIGHTS: [landed, flown) are under way. */
	struct fb_tcp_piece **flights; /* NULL: copy. An item: NULL: complete */
	uint32_t landed, flown;
	uint64_t flights_made, flights_copied; /* since the last connect(), by the kernel */
	/* The members above are needed for every message, and lie in few cache lines. */
	struct {
		struct fb_tcp_piece piece;
		struct fb_tcp_frame frames[FB_TCP_FRAMES];
	} control; /* in use while piece.left > 0 */
	char interface[FB_TCP_INTERFACE], address[FB_TCP_TEXT];
	char buffer[FB_TCP_BUFFER];
};

struct fb_tcp {
	struct fb_transport transport; /* first: transports are cast to it */
	struct fb_tcp_identity *identity; /* [nranks] */
	struct fb_tcp_settings settings;
	int width;     /* sockets for each pair */
	uint64_t key;  /* of this job, by which connections from other programs are refused */
	int listeners[FB_TCP_CANDIDATES], nlisteners;
	int epoll; /* -1 until there are more than `few` sockets */
	int few, timeout_ms; /* FB_TCP_FEW, FB_TCP_TIMEOUT_MS: to be changed by tests */
	struct fb_tcp_socket **sockets; /* [nranks][width], NULL where there is none */
	int nsockets;
	struct fb_tcp_socket **work; /* [nranks * width], nwork of them have something to do */
	int nwork;
	uint64_t round; /* calls of progress() so far, and one */
	struct fb_tcp_link **links; /* by index; NULL: free */
	uint32_t nlinks, max_links;
	uint16_t epoch;
	int err; /* the first failure, kept forever */
	char *stray; /* FB_TCP_LEAD + FB_TCP_GUESS bytes: what arrived after a wrong guess */
};

static inline struct fb_tcp_link *fb_tcp_link(struct fb_port *port)
{
	return (struct fb_tcp_link *)port;
}

/* The payload's place in the message's own buffer. */
static inline char *fb_tcp_body(struct fb_tcp_message *message)
{
	return (char *)message + message->link->head;
}

static inline char *fb_tcp_payload(struct fb_tcp_message *message)
{
	return message->user ? message->user : fb_tcp_body(message);
}

/* Receiver: where the link keeps the message `ahead` (less than slots) after its next one. */
static inline struct fb_tcp_message **fb_tcp_place(const struct fb_tcp_link *link, uint32_t ahead)
{
	uint32_t i = link->first + ahead;

	return &link->ring[i < link->slots ? i : i - link->slots];
}

static inline void fb_tcp_push(struct fb_tcp_queue *queue, struct fb_tcp_piece *piece)
{
	piece->next = NULL;
	if (queue->head)
		queue->tail->next = piece;
	else
		queue->head = piece;
	queue->tail = piece;
}

static inline void fb_tcp_pop(struct fb_tcp_queue *queue)
{
	queue->head = queue->head->next;
}

/* The buffer may be used again. */
static inline void fb_tcp_recycle(struct fb_tcp_message *message)
{
	message->next = message->link->unused;
	message->link->unused = message;
}

/* --- tcp.c ------------------------------------------------------------------------------------ */

/*
 * Collective. Opens the transport with these options, which are copied, their strings not; the
 * same on all ranks. 0, or an error (printed) on all ranks.
 */
int fb_tcp_open(struct fb_transport **transport, const struct fb_group *world,
		const struct fb_tcp_settings *settings);

/*
 * Whether all committed messages have left this rank. A rank that stops calling progress() earlier,
 * because it has received everything and makes an MPI call, may leave its peers waiting.
 */
bool fb_tcp_idle(const struct fb_transport *transport);

/* Whether progress() would do nothing. */
static inline bool fb_tcp_rests(const struct fb_transport *transport)
{
	const struct fb_tcp *tcp = (const struct fb_tcp *)transport;

	return tcp->nwork == 0 && !tcp->err;
}

/* The first failure; FB_OK: none. */
static inline int fb_tcp_error(const struct fb_transport *transport)
{
	return ((const struct fb_tcp *)transport)->err;
}

/* --- tcp_link.c ------------------------------------------------------------------------------- */

/* Makes a link's end and its buffers and enters it in tcp->links. 0 or FB_ENOMEM (printed). */
int fb_tcp_link_new(struct fb_tcp *tcp, const struct fb_link_request *request,
		    struct fb_tcp_link **link);

/*
 * Removes the link from all lists and frees it. If messages are still under way, which happens
 * after a failure only, its socket cannot be used any more.
 */
void fb_tcp_link_free(struct fb_tcp *tcp, struct fb_tcp_link *link);

/*
 * Collective: sends all peers the wanted links and learns their indices. 0, FB_ENOMEM, or FB_EPLAN
 * where the two ends do not ask for the same (printed); not the same on all ranks.
 */
int fb_tcp_link_match(struct fb_tcp *tcp, struct fb_tcp_link **links, int n);

/* --- tcp_send.c, tcp_commit.c ----------------------------------------------------------------- */

void *fb_tcp_acquire(struct fb_port *port, size_t bytes);
void fb_tcp_commit(struct fb_port *port, size_t bytes);

/*
 * Posted links, sender: instead of commit(), after acquire() has returned something: sends
 * `bytes` bytes at `data`, which stays as it is until they have left (fb_tcp_idle).
 */
void fb_tcp_commit_user(struct fb_port *port, const void *data, size_t bytes);

/*
 * Sends the queue and the credits that are due, as far as the kernel takes them. Nothing is held
 * back any more.
 */
void fb_tcp_flush(struct fb_tcp_socket *socket);

/* All of the piece was taken, and nothing of it is under way without a copy. */
void fb_tcp_piece_done(struct fb_tcp_piece *piece);

/* --- tcp_port.c ------------------------------------------------------------------------------- */

const void *fb_tcp_peek(struct fb_port *port, size_t bytes);
void fb_tcp_release(struct fb_port *port);

/*
 * Posted links, receiver: the next message that has no place yet goes to `buffer`. Returns false
 * where as many messages as the link has slots have a place already.
 */
bool fb_tcp_post(struct fb_port *port, void *buffer);

/* Whether it would return true. */
static inline bool fb_tcp_may_post(struct fb_port *port)
{
	return fb_tcp_link(port)->unused != NULL;
}

/* Whether at most half of the slots have a place, so that the caller should post more. */
static inline bool fb_tcp_few_places(struct fb_port *port)
{
	return fb_tcp_link(port)->placed <= fb_tcp_link(port)->slots / 2;
}

/* --- tcp_receive.c ---------------------------------------------------------------------------- */

/* Receives what has arrived, by a few calls at most, so that other sockets do not wait long. */
void fb_tcp_receive(struct fb_tcp_socket *socket);

/* --- tcp_progress.c --------------------------------------------------------------------------- */

/* The next progress() handles the socket. */
void fb_tcp_wake(struct fb_tcp_socket *socket);

/* The next progress() handles the socket and also receives on it. */
void fb_tcp_ask(struct fb_tcp_socket *socket);

/*
 * Lets epoll watch the n added sockets, which are connected, once the rank has more than tcp->few
 * of them; the first time also all earlier ones. 0 or FB_ESYS (printed).
 */
int fb_tcp_watch(struct fb_tcp *tcp, struct fb_tcp_socket **added, int n);

/* Sets whether epoll reports when the socket can be written to; nothing without epoll. */
void fb_tcp_arm(struct fb_tcp_socket *socket, bool armed);

int fb_tcp_progress(struct fb_transport *transport);

/*
 * The connection does not work any more; `what` says what happened ("closed its connection").
 * Prints it, with the peer and its host, and has progress() return `err` from now on. A closed
 * connection that no link uses is no failure.
 */
void fb_tcp_fail(struct fb_tcp_socket *socket, int err, const char *what);

/* After a call that moved no bytes (0, or below 0 with errno): fails the socket if no later call
 * can move any. Returns 0. */
size_t fb_tcp_nothing(struct fb_tcp_socket *socket, ssize_t moved);

#endif
