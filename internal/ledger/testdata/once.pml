/* What docs/design.md A3 says of a request that is sent once, apart from the code: one purge, RUNS runs that may die at
 * any step, a platform, a person, and a clock. Time counts in leases. .ci/model checks it with Spin:
 *   -DPROVEN  the platform refuses a second request of a name, and the ledger has a proof of that
 *   -DMISTAKE=n  one of the mistakes below, which the assertions must find
 */
#ifndef RUNS
#define RUNS 2
#endif
#ifndef MISTAKE
#define MISTAKE 0
#endif
#define WINDOW 3 /* how long after its first claim a request may be sent again */
#define MEMORY 4 /* how long the platform remembers a name: a request is under way no longer than the difference */
#define LAST   5

mtype = { absent, claimed, posted, rejected, unknown, abandoned };
mtype = { executed_, duplicate, unclear, unsent, refused };

mtype state = absent;
byte seq, first, at;
bool uncertain, left;

byte now, executed, made;
byte flights;    /* requests under way that nobody waits for */
byte posting;    /* runs between the look at the clock and the request */
bool aged;       /* what is under way has been so for a lease */

#define knows      (executed > 0 && now - made < MEMORY)
#define mayStill   (state == claimed && !left && now == at)
#define inWindow   (now - first < WINDOW)
#define maySend    (now - myFirst < WINDOW && now == myAt || MISTAKE == 3) /* a run does not send after its lease */

inline check() {
	assert(executed <= 1);                                                    /* nothing is executed twice */
	assert(state != posted || executed > 0);                                  /* nothing is said to be posted that is not */
	assert(executed == 0 || (state != absent && state != rejected))           /* nothing posted is forgotten */
}

inline arrive(result) {
#ifdef PROVEN
	if
	:: knows -> result = duplicate
	:: else  -> executed++; made = now; result = executed_
	fi;
#else
	executed++; made = now; result = executed_;
#endif
	check()
}

inline put(to) { state = to; seq++; mine = seq; check() }

proctype apply() {
	byte mine, seen, myFirst, myAt, sends;
	bool take, certain, wasAged;
	mtype result;

	/* Plan: what may be done with the record. */
	atomic {
		seen = seq;
		if
		:: state == absent || state == rejected -> take = false
#ifdef PROVEN
		:: state == claimed && !mayStill && inWindow -> take = true
		:: state == claimed && !mayStill && !inWindow -> put(unknown); goto end
#else
		:: state == claimed && !mayStill && MISTAKE == 4 -> take = true
		:: state == claimed && !mayStill && MISTAKE != 4 -> put(unknown); goto end
#endif
		:: mayStill || state == posted || state == unknown || state == abandoned -> goto end
		fi
	}
	/* Claim, by compare-and-swap. */
	atomic {
		if
		:: seq != seen && MISTAKE != 1 -> goto end
		:: seq == seen || MISTAKE == 1 ->
			if
			:: take && MISTAKE != 2 -> skip
			:: else -> first = now
			fi;
			at = now; myAt = now; uncertain = take; left = false; myFirst = first; certain = !take;
			put(claimed)
		:: goto end /* it dies */
		fi
	}
send:
	/* The clock is read right before each send. */
	atomic {
		if
		:: maySend -> posting++
		:: !maySend -> goto overdue
		:: goto end
		fi
	}
	atomic {
		posting--; wasAged = aged; aged = (posting + flights > 0 && aged);
		if
		:: true -> arrive(result)
		:: true -> arrive(result); result = unclear /* its answer is lost */
		:: result = unclear                 /* it is lost */
		:: flights < 1 -> flights++; aged = wasAged; result = unclear
		:: result = unsent
		:: result = refused
		:: goto end
		fi
	}
	if
	:: result == unclear ->
		if
		:: MISTAKE == 5 -> result = refused
		:: else -> certain = false
		fi;
		sends++;
#ifdef PROVEN
		if
		:: sends < 2 -> goto send
		:: else -> skip
		fi
#else
		if
		:: MISTAKE == 6 && sends < 2 -> goto send
		:: else -> skip
		fi
#endif
	:: else -> skip
	fi;
	/* The outcome. That it was executed counts even if another run took it over; all else only if the claim is still ours. */
	atomic {
		if
		:: result == executed_ || result == duplicate && !certain ->
			if
			:: (state == claimed || state == unknown) && first == myFirst -> put(posted)
			:: else -> skip
			fi
		:: !(result == executed_ || result == duplicate && !certain) ->
			if
			:: seq != mine -> skip
			:: seq == mine && result == duplicate && certain -> put(unknown)
			:: seq == mine && result == unsent && certain -> put(absent)
			:: seq == mine && result == refused && certain -> put(rejected)
			:: seq == mine && !certain && result != duplicate ->
#ifdef PROVEN
				left = true; uncertain = true; put(claimed)
#else
				put(unknown)
#endif
			fi
		:: skip /* it dies, or the store does not take it */
		fi
	}
	goto end;
overdue:
	atomic {
		if
		:: seq == mine && certain -> put(absent)
		:: seq == mine && !certain -> put(unknown)
		:: else -> skip
		fi
	}
end:
	skip
}
/* A late request arrives. */
proctype network() {
	mtype ignored;
	do
	:: atomic { flights > 0 -> flights--; arrive(ignored); aged = (posting + flights > 0 && aged) }
	od
}

/* Time passes, but nothing is under way for longer than MEMORY - WINDOW. */
proctype clock() {
	do
	:: atomic { now < LAST && (posting + flights == 0 || !aged) -> now++; aged = (posting + flights > 0) }
	od
}

/* A person answers truly, when nothing is under way. */
proctype person() {
	byte mine;
	do
	:: atomic {
		(state == unknown || state == claimed && now > at) && posting + flights == 0 ->
		if
		:: executed > 0 -> put(posted)
		:: executed == 0 -> put(absent)
		:: executed == 0 -> put(abandoned)
		fi
	   }
	od
}

init {
	byte i;
	atomic {
		for (i : 1 .. RUNS) { run apply() }
		run network(); run clock(); run person()
	}
}
