package manifest

import (
	"strings"

	"trueup/internal/diag"
)

// yamlRules are the loader's rules of the text of a file.
func yamlRules() []Rule {
	return []Rule{
		yamlSyntax(), yamlDuplicateKey(), yamlKey(), yamlTag(), yamlNumber(), yamlTrailing(),
		yamlAlias(), yamlDepth(), yamlSize(), yamlEncoding(), notARegularFile(), fileNameCase(),
	}
}

func yamlSyntax() Rule {
	return Rule{
		Name:     ruleSyntax,
		Severity: diag.Error,
		Summary:  "The file is not YAML.",
		Why: "Nothing can be said of a document that can't be read, so nothing is sent. " +
			"Reading goes on at the next line with ---, so that the findings of other documents are shown too.",
		Fix: "Mend the line that the finding names, or the one before it; render templates first.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    forced: "true
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    forced: "true"
`,
	}
}

func yamlDuplicateKey() Rule {
	return Rule{
		Name:     ruleDuplicateKey,
		Severity: diag.Error,
		Summary:  "A mapping has the same key twice.",
		Why: "Readers of YAML take the first, the last or neither of them, " +
			"so what a reviewer reads may not be what is sent (YAML 1.2, 3.2.1.1).",
		Fix: "Remove one of the two.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  hostname: shop.example.net
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
	}
}

func yamlKey() Rule {
	return Rule{
		Name:     ruleKey,
		Severity: diag.Error,
		Summary:  "A key is not plain text.",
		Why: "Requests are JSON (docs/platform.md), where keys are text. " +
			"A key such as on or 1 is text for some readers of YAML and a boolean or a number for others.",
		Fix: "Put the key in quotes.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      headers:
        on: origin
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      headers:
        "on": origin
`,
	}
}

func yamlTag() Rule {
	return Rule{
		Name:     ruleTag,
		Severity: diag.Error,
		Summary:  "A tag changes what a value means.",
		Why:      "Requests are JSON (docs/platform.md), which has no tags, and each reader of YAML understands others.",
		Fix:      "Remove the tag and write the value as plain YAML.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: !name token
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: token
`,
	}
}

func yamlNumber() Rule {
	return Rule{
		Name:     ruleNumber,
		Severity: diag.Error,
		Summary:  "A number is too large, or too near to zero, for double precision.",
		Why: "Requests are JSON (docs/platform.md), whose readers have no other numbers in common (RFC 8259, 6): " +
			"one takes 1e309 for infinity, another refuses it, so what would be set is not what git says.",
		Fix: "Write the number that is meant.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
    rules:
      - name: slow-down
        action:
          type: ratelimit
          ratelimit:
            rate: 1e309
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  firewall:
    enabled: true
    rules:
      - name: slow-down
        action:
          type: ratelimit
          ratelimit:
            rate: 100
`,
	}
}

func yamlTrailing() Rule {
	return Rule{
		Name:     ruleTrailing,
		Severity: diag.Error,
		Summary:  "Something stands after the end of a document.",
		Why:      "It would be dropped in silence, and might be what the author cares for.",
		Fix:      "Remove it, or start a new document with a line ---.",
		Bad: `{"apiVersion": "delivery/v2.1", "kind": "CDN",
 "metadata": {"name": "shop"}, "spec": {"hostname": "shop.example.com"}}
{"apiVersion": "delivery/v2.1", "kind": "CDN",
 "metadata": {"name": "blog"}, "spec": {"hostname": "blog.example.com"}}
`,
		Good: `{"apiVersion": "delivery/v2.1", "kind": "CDN",
 "metadata": {"name": "shop"}, "spec": {"hostname": "shop.example.com"}}
---
{"apiVersion": "delivery/v2.1", "kind": "CDN",
 "metadata": {"name": "blog"}, "spec": {"hostname": "blog.example.com"}}
`,
	}
}

func yamlAlias() Rule {
	return Rule{
		Name:     ruleAlias,
		Severity: diag.Error,
		Summary:  "An alias has no anchor, contains itself or expands to too much.",
		Why: "A few lines of nested aliases can expand to more than a machine holds, " +
			"so what all aliases of a document bring in is bounded, to 100,000 values and 16 MiB; honest manifests are far below.",
		Fix: "Write the values out, or mark the value with & before the alias.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls: *defaults
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls: &defaults
    forced: "true"
`,
	}
}

func yamlDepth() Rule {
	return Rule{
		Name:     ruleDepth,
		Severity: diag.Error,
		Summary:  "Values are nested too deeply.",
		Why:      "No documented field is nested more than ten levels deep (docs/platform.md 2.2); a file that goes far beyond is a mistake or an attack.",
		Fix:      "Check that the file is what it should be.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  locations:
    - path: /*
      headers:
        x: ` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + "\n",
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
`,
	}
}

func yamlSize() Rule {
	return Rule{
		Name:     ruleSize,
		Severity: diag.Error,
		Summary:  "There is too much in a document, in a file, or in all files together.",
		Why: "A purge at the limit of docs/platform.md 8 is 1.3 MB and has 40,000 values. A file may have 16 MiB, a document 500,000 values, " +
			"and all together 512 MiB, 200,000 files and 200,000 objects, in folders at most 64 deep: beyond that a mistake or an attack " +
			"would take all memory of the machine.",
		Fix: "Split the document or the file, or name fewer files at once.",
	}
}

func yamlEncoding() Rule {
	return Rule{
		Name:     ruleEncoding,
		Severity: diag.Error,
		Summary:  "The file or its name is not UTF-8, or it holds characters that can't be seen.",
		Why: "Characters that take no room, print as a blank or change the direction of text make a manifest " +
			"look different from what it says, to reviewers above all: controls, format characters such as the soft hyphen, " +
			"variation selectors (U+FE0F behind an emoji is one), fillers and tags. The joiners U+200C and U+200D, with which some languages " +
			"are written, may be in a value, but not in a key or in a name.",
		Fix: "Save the file as UTF-8 and remove the character.",
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: to` + "\u200b" + `ken
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  secureLink:
    tokenName: token
`,
	}
}

func notARegularFile() Rule {
	return Rule{
		Name:     ruleNotRegular,
		Severity: diag.Error,
		Summary:  "A manifest is a symbolic link, a pipe or a device.",
		Why: "A link can lead out of the repository and show its reader's files in a plan; a pipe waits for ever. " +
			"A link to a folder is skipped with a warning.",
		Fix: "Put a regular file in its place.",
	}
}

func fileNameCase() Rule {
	return Rule{
		Name:     ruleFileCase,
		Severity: diag.Warning,
		Summary:  "Two names in a folder differ in case only.",
		Why: "A checkout on a file system that does not tell letters by their case has one of the two, " +
			"and to whoever plans there the other seems to have been removed.",
		Fix: "Rename one of the two.",
	}
}
