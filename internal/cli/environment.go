package cli

import (
	"strings"

	"trueup/internal/report"
)

// variable is some of the environment that means something together.
type variable struct {
	Names   []string
	Meaning string
}

// variables are what the program reads of the environment, for the manual and the
// reference. A test holds that none is missing.
func variables() []variable {
	return []variable{
		{[]string{"TRUEUP_DELIVERY_URL"}, "address of the delivery area, with its version"},
		{
			[]string{"TRUEUP_DELIVERY_TOKEN", "TRUEUP_DELIVERY_TOKEN_FILE"},
			"its token, or the file that holds it, - for standard input; the first wins",
		},
		{[]string{"TRUEUP_COMPUTE_URL"}, "address of the compute area, with family, version and region"},
		{
			[]string{"TRUEUP_COMPUTE_TOKEN", "TRUEUP_COMPUTE_TOKEN_FILE"},
			"its token, or the file that holds it, - for standard input; the first wins",
		},
		{[]string{"TRUEUP_PROFILE"}, "a profile of your own file; --profile wins"},
		{[]string{"TRUEUP_CA_FILE"}, "PEM file with certificates to trust beside the system's; --ca-file wins"},
		{[]string{"TRUEUP_WORKSPACE"}, "the UUID of the one workspace that runs may be about; a trueup.yaml that names another is refused"},
		{[]string{"TRUEUP_LEDGER"}, "the store of the ledger, instead of the one in trueup.yaml; nothing is applied without it"},
		{
			[]string{"TRUEUP_ALLOW_OVERRIDES"},
			"overrides of trueup.yaml that may hide a documented field: KIND PATH, as in CDN spec.tls, with commas between them",
		},
		{
			[]string{"TRUEUP_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"},
			"the token with which comment writes to the code host; TRUEUP_FORGE_TOKEN wins",
		},
		{
			[]string{
				"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
				"AWS_ENDPOINT_URL_S3", "AWS_CA_BUNDLE",
			},
			"credentials and settings of a ledger in s3://, read as by other clients of that protocol",
		},
		{[]string{"HTTPS_PROXY", "NO_PROXY"}, "the proxy of requests to the platform, and the hosts that are reached without it; also in small letters"},
		{[]string{"HOME", "XDG_CONFIG_HOME"}, "where your own file of profiles is: trueup/config.yaml in XDG_CONFIG_HOME, by default ~/.config"},
		{[]string{"XDG_STATE_HOME"}, "where this machine keeps what it has seen of ledgers: trueup/ledgers in it, by default in ~/.local/state"},
		{
			[]string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"},
			"colour, where --color is auto: none with NO_COLOR, CLICOLOR=0 or TERM=dumb; always with FORCE_COLOR or CLICOLOR_FORCE",
		},
		{[]string{"CI"}, "anything but false: a ledger in a file is refused, and a token file that others may read is only warned of"},
		{
			[]string{
				"GITHUB_ACTIONS", "GITHUB_ACTOR", "GITHUB_API_URL", "GITHUB_BASE_REF", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH",
				"GITHUB_REF", "GITHUB_REPOSITORY", "GITHUB_RUN_ATTEMPT", "GITHUB_RUN_ID", "GITHUB_SERVER_URL", "GITHUB_SHA",
			},
			"what a workflow on GitHub says of its run, its commit and its pull request",
		},
		{[]string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"}, "files that all steps of a job write to: a report is added to them, and does not replace them"},
		{
			[]string{
				"GITLAB_CI", "GITLAB_USER_LOGIN", "CI_API_V4_URL", "CI_COMMIT_BEFORE_SHA", "CI_COMMIT_SHA", "CI_DEFAULT_BRANCH",
				"CI_JOB_ID", "CI_JOB_URL", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_MERGE_REQUEST_IID", "CI_MERGE_REQUEST_PROJECT_ID",
				"CI_MERGE_REQUEST_PROJECT_PATH", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID",
				"CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_PIPELINE_ID", "CI_PIPELINE_SOURCE", "CI_PIPELINE_URL", "CI_PROJECT_PATH",
			},
			"what a pipeline on GitLab says of its run, its commit and its merge request",
		},
		{[]string{"USER"}, "who runs the program, for the ledger, where CI does not say"},
		{[]string{"GIT_DIR"}, "the repository, as to git itself"},
	}
}

// environmentTerms are the variables for a page of the manual.
func environmentTerms() []report.Term {
	var terms []report.Term
	for _, v := range variables() {
		terms = append(terms, report.Term{Word: strings.Join(v.Names, ", "), Meaning: v.Meaning})
	}
	return terms
}
