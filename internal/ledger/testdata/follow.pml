/* Compares the code with once.pml: what happens is what the code did in a history. The file history has its events, in
 * their order. It prints "accepted" if the model can do all of them. -DRUNS=n are its runs, -DWINDOW=ms its window.
 */
#define FOLLOW
#define MISTAKE         0
#define moment          int
#define next(event)     happens?[event,eval(me),x,y,z]
#define take(event)     happens?event,eval(me),x,y,z; note(event)
#define note(event)     mid = (event == looks -> x : mid); early = (event == looks -> y : early); late = (event == looks -> z : late)
#define says(condition) assert(condition)
#define may             false /* what the history does not say */
#define LEASE           600000 /* milliseconds */
#define SENDS           3
/* Each run reads the clocks before it claims. */
#define begin int x, y, z, mid, early, late; do :: next(looks) -> take(looks) :: next(claims) || next(ends) -> break od;

mtype = { looks, claims, sends, ends, answers, arrives };
chan happens = [1] of { mtype, byte, int, int, int }; /* the next event: of which run, and three values */

#include "once.pml"

/* What no run does: a request arrives, and a person answers. */
proctype others(byte me) {
	byte mine;
	int x, y, z;
	do
	:: atomic { happens?arrives,eval(me),x,y,z -> executed++; check() }
	:: atomic { happens?answers,eval(me),x,y,z -> assert(state == unknown || state == claimed); put(x) }
	od
}

init {
	byte me;
	for (me : 0 .. RUNS - 1) { run apply(me) }
	run others(RUNS);
#include "history"
	empty(happens);
	printf("accepted\n")
}
