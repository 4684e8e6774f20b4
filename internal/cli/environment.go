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
			"its token, or a file that contains it (- is standard input); the first wins",
		},
		{[]string{"TRUEUP_COMPUTE_URL"}, "address of the compute area, with family, version and region"},
		{
			[]string{"TRUEUP_COMPUTE_TOKEN", "TRUEUP_COMPUTE_TOKEN_FILE"},
			"its token, or a file that contains it (- is standard input); the first wins",
		},
		{[]string{"TRUEUP_PROFILE"}, "a profile of your profiles file; --profile wins"},
		{[]string{"TRUEUP_CA_FILE"}, "PEM file with certificates to trust beside the system's; --ca-file wins"},
		{[]string{"TRUEUP_WORKSPACE"}, "the UUID of the only workspace that runs may use; trueup refuses a trueup.yaml that names another"},
		{[]string{"TRUEUP_LEDGER"}, "the store of the ledger, instead of the one in trueup.yaml; without it, trueup applies nothing"},
		{
			[]string{"TRUEUP_ALLOW_OVERRIDES"},
			"overrides of trueup.yaml that may hide a documented field: a comma-separated list of KIND PATH, such as CDN spec.tls",
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
			"credentials and settings of a ledger in s3://, as other S3 clients read them",
		},
		{[]string{"HTTPS_PROXY", "NO_PROXY"}, "the proxy for requests to the platform, and the hosts that need none; also in lower case"},
		{[]string{"HOME", "XDG_CONFIG_HOME"}, "where your profiles file is: trueup/config.yaml in XDG_CONFIG_HOME (default ~/.config)"},
		{[]string{"XDG_STATE_HOME"}, "where this machine keeps what it has seen of ledgers: trueup/ledgers in it (default ~/.local/state)"},
		{
			[]string{"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"},
			"colour, if --color is auto: off with NO_COLOR, CLICOLOR=0 or TERM=dumb, on with FORCE_COLOR or CLICOLOR_FORCE",
		},
		{[]string{"CI"}, "unless it is false: trueup refuses a ledger in a file, and only warns of a token file that others can read"},
		{
			[]string{
				"GITHUB_ACTIONS", "GITHUB_ACTOR", "GITHUB_API_URL", "GITHUB_BASE_REF", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH",
				"GITHUB_REF", "GITHUB_REPOSITORY", "GITHUB_RUN_ATTEMPT", "GITHUB_RUN_ID", "GITHUB_SERVER_URL", "GITHUB_SHA",
			},
			"the run, commit and pull request of a GitHub workflow",
		},
		{[]string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"}, "files that all steps of a job write to: a report is appended"},
		{
			[]string{
				"GITLAB_CI", "GITLAB_USER_LOGIN", "CI_API_V4_URL", "CI_COMMIT_BEFORE_SHA", "CI_COMMIT_SHA", "CI_DEFAULT_BRANCH",
				"CI_JOB_ID", "CI_JOB_URL", "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_MERGE_REQUEST_IID", "CI_MERGE_REQUEST_PROJECT_ID",
				"CI_MERGE_REQUEST_PROJECT_PATH", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID",
				"CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CI_PIPELINE_ID", "CI_PIPELINE_SOURCE", "CI_PIPELINE_URL", "CI_PROJECT_PATH",
			},
			"the run, commit and merge request of a GitLab pipeline",
		},
		{[]string{"USER"}, "who runs the program, for the ledger, if CI does not say"},
		{[]string{"GIT_DIR"}, "the repository, as git reads them"},
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
