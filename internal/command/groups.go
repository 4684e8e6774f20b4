package command

import "github.com/spf13/cobra"

// AroundGroup has the commands that are not about manifests.
const AroundGroup = "Around it"

// Group is a group of commands, as help lists them.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// AllGroups returns all commands of a run.
func AllGroups(run *Run) []Group {
	status := newStatus(run) // trueup each runs it without the list of purges
	status.AddCommand(newStatusPurge(run))
	return []Group{
		{"See and change what is live", []*cobra.Command{newPlan(run), newApply(run), newDrift(run), status, newLog(run), newHold(run), newShow(run), newComment(run)}},
		{"Write manifests", []*cobra.Command{newInit(run), newPull(run), newNew(run), newFmt(run), newValidate(run), newTest(run)}},
		{"Understand them", []*cobra.Command{newExplain(run), newRequest(run)}},
		{"Many projects", []*cobra.Command{newEach(run)}},
		{AroundGroup, []*cobra.Command{newLedger(run), newDoctor(run), newSandbox(run), newVersion(run)}},
	}
}
