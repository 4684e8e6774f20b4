package yamledit

import (
	"strings"
	"testing"
)

func TestWithExpectations(t *testing.T) {
	const head = "apiVersion: trueup/v1\nkind: RequestTest\nspec:\n  tests:\n"
	cached := map[string]any{"cached": "1h"}
	whole := map[string]any{"cached": "none", "origin": []any{"a:1", "b:2"}, "cors": nil}
	for name, tt := range map[string]struct {
		before string
		value  map[string]any
		want   string // or, without a line break at its end, the error
	}{
		"a scalar": {
			"    # why\n    - url: https://a/ # which\n      expect:\n        cached: \"5m\"  # long\n", cached,
			"    # why\n    - url: https://a/ # which\n      expect:\n        cached: 1h  # long\n",
		},
		"a scalar in braces": {
			"    - {url: https://a/, expect: {cached: 5m}}\n", cached,
			"    - {url: https://a/, expect: {cached: 1h}}\n",
		},
		"null": {
			"    - url: https://a/\n      expect:\n        level: standard\n",
			map[string]any{"level": nil},
			"    - url: https://a/\n      expect:\n        level: null\n",
		},
		"a field of an object": {
			"    - url: https://a/\n      expect: {cors: {allowOrigins: '*'}} # all\n",
			map[string]any{"cors": map[string]any{"allowOrigins": "https://a, https://b"}},
			"    - url: https://a/\n      expect: {cors: {allowOrigins: \"https://a, https://b\"}} # all\n",
		},
		"none": {
			"    - name: a\n      url: https://a/ # which\n\n    # next\n    - url: https://b/\n", whole,
			"    - name: a\n      url: https://a/ # which\n      expect:\n        origin:\n          - a:1\n          - b:2\n        cached: none\n        cors: null\n\n    # next\n    - url: https://b/\n",
		},
		"none at the end": {
			"    - urls:\n        - https://a/\n        - https://b/", cached,
			"    - urls:\n        - https://a/\n        - https://b/\n      expect:\n        cached: 1h\n",
		},
		"other fields": {
			"    - expect:\n        # which\n        served: false\n      url: https://a/\n", cached,
			"line 5: expect has a comment, which would be lost",
		},
		"other fields without a comment": {
			"    - expect:\n        served: false\n      url: https://a/\n", cached,
			"    - expect:\n        cached: 1h\n      url: https://a/\n",
		},
		"braces":                    {"    - {url: https://a/}\n", cached, "line 5: the test is in braces"},
		"an anchor":                 {"    - url: https://a/\n      expect: &x {served: false}\n    - url: https://b/\n      expect: *x\n", cached, "line 5: an anchor shares a part of the test"},
		"an anchor of a scalar":     {"    - url: https://a/\n      expect: {cached: &x 5m}\n    - url: https://b/\n      expect: {cached: *x}\n", cached, "an anchor shares"},
		"an anchor that would stay": {"    - url: https://a/\n      expect: &x {cached: 5m}\n    - url: https://b/\n      expect: *x\n", cached, "an anchor shares"},
		"an anchor of a test":       {"    - &x\n      url: https://a/\n      expect: {cached: 5m}\n    - *x\n", cached, "an anchor shares"},
	} {
		got, err := WithExpectations([]byte(head+tt.before), []Expectation{{Line: 1, Test: 0, Value: tt.value}})
		switch {
		case !strings.HasSuffix(tt.want, "\n"):
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case strings.TrimSuffix(string(got), "\n") != strings.TrimSuffix(head+tt.want, "\n"):
			t.Errorf("%s:\n%s", name, got)
		}
	}
	shared := head + "    - &x {url: https://a/, expect: &y {cached: 5m}}\n    - *x\n    - <<: *x\n    - url: https://b/\n      expect: *y\n"
	for i, want := range []string{"an anchor shares", "an anchor shares", "an anchor shares", ""} {
		got, err := WithExpectations([]byte(shared), []Expectation{{Line: 1, Test: i, Value: cached}})
		if want == "" && (err != nil || !strings.HasSuffix(string(got), "      expect:\n        cached: 1h\n")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("test %d: %s, %v", i, got, err)
		}
	}
	if _, err := WithExpectations([]byte(head), []Expectation{{Line: 1}}); err == nil {
		t.Error("a test that is not there is edited")
	}
}
