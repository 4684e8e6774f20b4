package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"trueup/internal/files"
	"trueup/internal/plan"
	"trueup/internal/route"
	"trueup/internal/served"
	"trueup/internal/traffic"
)

func registerLogs(f *pflag.FlagSet, logs *[]string) {
	f.StringArrayVar(logs, "log", nil, "weigh classes of requests by the access log `FILE`, or HOSTNAME=FILE if it names no hostnames; repeatable")
}

// logs returns the access logs that flags name, which may be pipes.
func (a *app) logs(flags []string) (logs []traffic.Log, err error) {
	for _, text := range flags {
		log := traffic.ParseLog(text)
		log.Open = func() (io.ReadCloser, error) { return os.Open(a.full(log.Name)) }
		if log.Name == onStdout {
			log.Open = func() (io.ReadCloser, error) { return io.NopCloser(a.stdin("an access log")), nil }
		} else if _, err := os.Stat(a.full(log.Name)); err != nil {
			return nil, fmt.Errorf("--log %s: %w", log.Name, files.WithoutPath(err))
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// weigh adds to a plan what logs say of the requests that it changes. Without logs it adds nothing.
func (a *app) weigh(p *plan.Plan, sides []served.Side, logs []traffic.Log, precedence string) error {
	if len(logs) == 0 {
		return nil
	}
	_, end := a.beginPhase("reading logs")
	defer end()
	return traffic.Weigh(p, sides, logs, route.ReadingsOf(precedence))
}
