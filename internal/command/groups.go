package command

import "github.com/spf13/cobra"

// AddCommands adds all commands to the root, in the groups in which help lists them.
func AddCommands(root *cobra.Command, run *Run) {
	status := newStatus(run) // trueup each runs it without the list of purges
	status.AddCommand(newStatusPurge(run))
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, cmd := range commands {
			cmd.GroupID = title
		}
		root.AddCommand(commands...)
	}
	const around = "Around it" // not about manifests
	add("See and change what is live", newPlan(run), newApply(run), newDrift(run), status, newLog(run), newHold(run), newShow(run), newComment(run))
	add("Write manifests", newInit(run), newPull(run), newNew(run), newFmt(run), newValidate(run), newTest(run))
	add("Understand them", newExplain(run), newRequest(run))
	add("Many projects", newEach(run))
	add(around, newLedger(run), newDoctor(run), newSandbox(run), newVersion(run))
	root.SetHelpCommandGroupID(around)
	root.SetCompletionCommandGroupID(around)
}
