/* What docs/design.md A3 says of a request that is sent once, apart from the code: one purge, RUNS runs that may die at
 * any step, a platform, a person, and a clock. Time counts in leases. .ci/model checks it with Spin:
 *   -DPROVEN=1  the platform refuses a second request of a name, and the ledger has a proof of that
 *   -DMISTAKE=n  one of the mistakes below, which the assertions must find; 0 is none
 * follow.pml compares it with the code.
 */
#ifndef FOLLOW /* everything happens that can, and all clocks are right */
#define moment          byte
#define begin
#define next(event)     true
#define take(event)     skip
#define says(condition) true
#define may             true
#define mid             now
#define early           now
#define late            now
#define LEASE           1
#define WINDOW          3 /* how long after its first claim a request may be sent again */
#define MEMORY          4 /* how long the platform remembers a name: a request is under way no longer than the difference */
#define LAST            5
#define SENDS           2
#endif

mtype = { absent, claimed, posted, rejected, unknown, abandoned };
mtype = { executed_, duplicate, unclear, unsent, refused };

mtype state = absent;
byte seq;
moment first, at;
bool uncertain, left;

moment now, made;
byte executed;
byte flights;    /* requests under way that nobody waits for */
byte posting;    /* runs between the look at the clock and the request */
bool aged;       /* what is under way has been so for a lease */

inline check() {
	assert(executed <= 1);                                                    /* nothing is executed twice */
	assert(state != posted || executed > 0);                                  /* nothing is said to be posted that is not */
	assert(executed == 0 || (state != absent && state != rejected))           /* nothing posted is forgotten */
}

#define knows      (executed > 0 && now - made < MEMORY)
#define mayStill   (state == claimed && !left && mid - at < LEASE)
#define resendable (PROVEN && late - first < WINDOW || MISTAKE == 4)
#define myWindow   (late - myFirst < WINDOW)
#define maySend    (myWindow && mid - myAt < LEASE || MISTAKE == 3) /* a run does not send after its lease */

inline arrive(result) {
	if
	:: PROVEN && knows -> result = duplicate
	:: else -> executed++; made = now; result = executed_
	fi;
	check()
}

inline put(to) { state = to; seq++; mine = seq; check() }
inline end(to) { take(ends); says(x == to); put(to) }

proctype apply(byte me) {
	byte mine, seen, tries;
	moment myFirst, myAt;
	bool again, certain, wasAged;
	mtype result;
	begin
	/* Plan: what may be done with the record. */
	atomic {
		seen = seq;
		if
		:: state == absent || state == rejected -> again = false
		:: state == claimed && !mayStill && resendable -> again = true
		:: state == claimed && !mayStill && !resendable -> end(unknown); goto over
		:: mayStill || state == posted || state == unknown || state == abandoned -> goto over
		fi
	}
	/* Claim, by compare-and-swap. */
	atomic {
		if
		:: seq != seen && MISTAKE != 1 -> goto over
		:: seq == seen || MISTAKE == 1 ->
			take(claims);
			first = (again && MISTAKE != 2 -> first : early);
			at = mid; myAt = at; uncertain = again; left = false; myFirst = first; certain = !again;
			put(claimed); says(x == first && y == at && z == again)
		:: may -> goto over /* it dies */
		fi
	}
send:
	/* The clock is read right before each send. */
	atomic {
		if
		:: next(ends) -> result = unsent; goto outcome /* it gives up */
		:: next(looks) ->
			take(looks);
			if
			:: maySend && next(sends) -> posting++
			:: maySend && next(ends) || !maySend && myWindow -> result = unsent; goto outcome
			:: !maySend && !myWindow -> goto overdue
			:: may -> goto over
			fi
		:: may -> goto over
		fi
	}
	atomic {
		posting--; wasAged = aged; aged = (posting + flights > 0 && aged);
		if
#ifdef FOLLOW
		:: take(sends) -> result = x
#else
		:: true -> arrive(result)
		:: true -> arrive(result); result = unclear /* its answer is lost */
		:: result = unclear                 /* it is lost */
		:: flights < 1 -> flights++; aged = wasAged; result = unclear
		:: result = unsent
		:: result = refused
		:: goto over
#endif
		fi
	}
	if
	:: result == unclear ->
		result = (MISTAKE == 5 -> refused : result); certain = (MISTAKE == 5 -> certain : false); tries++;
		if
		:: (PROVEN || MISTAKE == 6) && tries < SENDS && next(looks) -> goto send
		:: next(ends) -> skip
		fi
	:: result == unsent && next(looks) -> goto send
	:: result != unclear && next(ends) -> skip
	fi;
outcome:
	/* That it was executed counts even if another run took it over; all else only if the claim is still ours. */
	atomic {
		if
		:: next(ends) && (result == executed_ || result == duplicate && !certain) ->
			if
			:: (state == claimed || state == unknown) && first == myFirst -> end(posted)
			:: else -> skip
			fi
		:: next(ends) && !(result == executed_ || result == duplicate && !certain) ->
			if
			:: seq != mine -> skip
			:: seq == mine && result == duplicate && certain -> end(unknown)
			:: seq == mine && result == unsent && certain -> end(absent)
			:: seq == mine && result == refused && certain -> end(rejected)
			:: PROVEN && seq == mine && !certain && result != duplicate -> left = true; uncertain = true; end(claimed)
			:: !PROVEN && seq == mine && !certain && result != duplicate -> end(unknown)
			fi
		:: may -> skip /* it dies, or the store does not take it */
		fi
	}
	goto over;
overdue:
	atomic {
		if
		:: next(ends) && seq == mine -> if :: certain -> end(absent) :: else -> end(unknown) fi
		:: seq != mine || may -> skip
		fi
	}
over:
	skip
}

#ifndef FOLLOW
/* A late request arrives. */
proctype network() {
	mtype ignored;
	do :: atomic { flights > 0 -> flights--; arrive(ignored); aged = (posting + flights > 0 && aged) } od
}

/* Time passes, but nothing is under way for longer than MEMORY - WINDOW. */
proctype clock() {
	do :: atomic { now < LAST && (posting + flights == 0 || !aged) -> now++; aged = (posting + flights > 0) } od
}

/* A person answers truly, when nothing is under way, or gives up. */
proctype person() {
	byte mine;
	do
	:: atomic {
		(state == unknown || state == claimed && now - at >= LEASE) && posting + flights == 0 ->
		if
		:: executed > 0 -> put(posted)
		:: executed == 0 -> put(absent)
		:: put(abandoned)
		fi
	   }
	od
}

init {
	byte i;
	atomic { for (i : 1 .. RUNS) { run apply(i) } run network(); run clock(); run person() }
}
#endif
