package cli

import (
	"trueup/internal/forge"
	"trueup/internal/history"
	"trueup/internal/plan"
)

// history reads what git had before, where a run reads manifests.
func (a *app) history(l loaded, paths []string) *history.Reader {
	// An event of CI that can't be read is used as far as it goes.
	ci, _ := forge.Detect(a.env.Getenv, readEvent)
	return history.New(history.Config{
		Cwd: a.dir(), Paths: paths, Project: l.project.before(), Set: l.set, Options: a.manifestOptions(l.project, false),
		CI: ci, InCI: a.inCI(), GitDir: a.env.Getenv("GIT_DIR") != "",
		Parse: parsePlanProject,
		Find: func(dir string) (history.Project, error) {
			p, err := loadProject(dir)
			return p.before(), err
		},
	})
}

// before returns the project as package history knows it.
func (p project) before() history.Project {
	return history.Project{Project: *p.settings(), Dir: p.dir, Text: p.content}
}

// parsePlanProject reads the text of a project file.
func parsePlanProject(text []byte) (plan.Project, error) {
	p, err := parseProject(text)
	return *p.settings(), err
}
