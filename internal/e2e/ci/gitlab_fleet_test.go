//go:build linux

package ci

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The pipelines in which a job of the template for many projects runs.
const (
	onPushAlone = onPush + ` && $CI_PIPELINE_SOURCE != "parent_pipeline"`
	inChild     = `$CI_PIPELINE_SOURCE == "parent_pipeline"`
)

// fleetJobs are the jobs of that template: where they run, after which others, which tokens their commands are given,
// and what they are not interrupted in.
var fleetJobs = map[string]struct {
	rules, needs []string
	tokens       []string
	command      string
	lasts        bool
}{
	"-find":          {[]string{inMerge, onPushAlone}, nil, nil, "trueup each ", false},
	".-plan-shard":   {[]string{inChild}, nil, gitlabReads, "trueup each ", false},
	".-plan-result":  {[]string{inChild}, []string{"-shard"}, []string{"TRUEUP_FORGE_TOKEN"}, "trueup show ", false},
	".-apply-shard":  {[]string{inChild}, []string{"-head"}, gitlabWrites, "trueup each ", true},
	".-apply-result": {[]string{inChild}, []string{"-head", "-shard"}, nil, "trueup show ", true},
}

func unnamed(names []string) (out []string) {
	for _, n := range names {
		out = append(out, strings.Replace(n, "$[[ inputs.name ]]", "", 1))
	}
	return out
}

// TestGitLabFleetTemplate: each job of the child pipeline gets just its tokens, and only shards that apply those of the
// environment.
func TestGitLabFleetTemplate(t *testing.T) {
	t.Parallel()
	_, jobs := readGitLab(t, gitlabFleetFile)
	for name, want := range fleetJobs {
		j := jobs[name]
		var rules []string
		for _, r := range j.Rules {
			rules = append(rules, r.If)
			if always := strings.HasSuffix(name, "-result"); (r.When == "always") != always {
				t.Errorf("job %s runs %s", name, r.When)
			}
		}
		if j.Extends != ".$[[ inputs.name ]]" || !slices.Equal(rules, want.rules) || !slices.Equal(unnamed(j.Needs), want.needs) {
			t.Errorf("job %s extends %s, runs if %q, after %q", name, j.Extends, rules, j.Needs)
		}
		writes := name == ".-apply-shard"
		if (j.Environment.Name == "$[[ inputs.environment ]]") != writes || !writes && j.Environment.Name != "" || j.Interruptible == want.lasts {
			t.Errorf("job %s gets the variables of %+v, interruptible %v", name, j.Environment, j.Interruptible)
		}
		checkJobScript(t, name, j.Script, want.tokens, want.command)
	}
	if extra := len(jobs) - len(fleetJobs); extra != 7 {
		t.Errorf("the template has %v", slices.Sorted(maps.Keys(jobs)))
	}
	if j := jobs["-unplanned"]; j.Extends != ".$[[ inputs.name ]]-plan-result" || !slices.Equal(unnamed(j.Needs), []string{"-find"}) || !slices.Equal(j.Rules, []gitlabRule{{inMerge, "on_failure"}}) {
		t.Errorf("the comment stays that of an older commit where no project could be found: %+v", j)
	}
	for name, end := range map[string]string{"-shard": "-shard", "-result": "-result"} {
		if jobs[name].Extends != ".$[[ inputs.name ]]-$[[ inputs.command ]]"+end {
			t.Errorf("job %s extends %s", name, jobs[name].Extends)
		}
	}
}

// TestGitLabFleetAppliesOneAtATime: the job that starts the child pipeline waits for it, and has a group for applies.
// All shards check out the commit that a job found when it had the group.
func TestGitLabFleetAppliesOneAtATime(t *testing.T) {
	t.Parallel()
	_, jobs := readGitLab(t, gitlabFleetFile)
	for name, group := range map[string]string{"-plan": "", "-apply": "$[[ inputs.name ]]-apply"} {
		j := jobs[name]
		if j.Trigger.Strategy != "depend" || len(j.Trigger.Include) != 2 || j.ResourceGroup != group || !slices.Equal(unnamed(j.Needs), []string{"-find"}) {
			t.Errorf("job %s: %+v", name, j)
		}
	}
	head := strings.Join(jobs["-head"].Script, "\n")
	if jobs["-head"].Interruptible || jobs["-head"].Rules[0].If != inChild+` && "$[[ inputs.command ]]" == "apply"` || !strings.Contains(head, `fetch --quiet origin "refs/heads/$CI_COMMIT_BRANCH"`) {
		t.Errorf("job -head: %+v", jobs["-head"])
	}
	if script := strings.Join(jobs[".-apply-shard"].Script, "\n"); !strings.Contains(script, `commit=$(cat "$PWD/.trueup-head/commit")`) || !strings.Contains(script, `checkout --quiet --detach "$commit"`) {
		t.Errorf("shards apply another commit: %s", script)
	}
}
