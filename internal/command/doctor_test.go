package command

import (
	"strings"
	"testing"

	"trueup/internal/config"
	"trueup/internal/report"
)

// TestDoctorsSettingsFitTheTerminal: who chose a value stands in a column of its
// own only where there is room for it.
func TestDoctorsSettingsFitTheTerminal(t *testing.T) {
	r := config.DoctorReport{Settings: []config.EffectiveSetting{
		{Name: "compute.url", Value: "https://api.example.com/machine/v1/region-1", Origin: "TRUEUP_COMPUTE_URL"},
		{Name: "proxy", Origin: "default", Optional: true},
	}}
	wide := "compute.url  https://api.example.com/machine/v1/region-1  TRUEUP_COMPUTE_URL\n"
	for width, want := range map[int]string{
		0: wide, 76: wide, 75: "compute.url  https://api.example.com/machine/v1/region-1\n             TRUEUP_COMPUTE_URL\n",
	} {
		var out strings.Builder
		doctorResult(r).Text(report.NewLineWriter(&out, 0), report.FormatOptions{Width: width})
		if got, _, _ := strings.Cut(out.String(), "\n\n"); got+"\n" != want {
			t.Errorf("in %d columns: %q", width, got)
		}
	}
}
