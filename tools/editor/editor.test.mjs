// What trueup init leaves in a repository, in a real editor's language server:
// fields and values are completed, and what is wrong is marked where it is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { start } from './server.mjs';

const program = process.env.TRUEUP;
assert.ok(program, 'TRUEUP names the program, as .ci/editor does');

let folder;

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'trueup-editor-'));
  execFileSync(program, ['init', '--sandbox', '--auto-approve', '--manifests', 'examples'], { cwd: folder, encoding: 'utf8' });
});

after(() => fs.rmSync(folder, { recursive: true, force: true }));

const cdn = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop}
spec:
  hostname: shop.example.com
`;
const purge = `apiVersion: delivery/v2.1
kind: Purge
metadata: {name: rel-42}
spec:
  hostname: shop.example.com
`;
const snapshot = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: db-1}
spec:
`;

// Each way in which a file comes to its schema: the settings of VS Code, as docs/editors.md says, and the first
// line of a manifest, by which every other editor finds it.
const ways = {
  'by the settings of VS Code': { isSet: true, first: () => '' },
  'by the first line of the file': {
    isSet: false, first: (name) => `# yaml-language-server: $schema=${'../'.repeat(name.split('/').length - 1)}.trueup.schema.json\n`,
  },
};

describe('an editor finds the schema', { concurrency: true }, () => {
  for (const [way, { isSet, first }] of Object.entries(ways)) describe(way, () => {
    let server;

    before(async () => {
      server = await start(folder, isSet ? { 'yaml.schemas': { './.trueup.schema.json': ['trueup.yaml', 'manifests/**/*.yaml', 'manifests/**/*.yml'] } } : {});
    });

    after(() => server.stop());

    // Each text is a file of its own: the server waits before it looks at another text of one.
    let files = 0;
    const file = () => `manifests/teams/web-${files++}.yaml`;
    const labels = async (text, name = file()) => (await server.complete(name, first(name) + text)).map((item) => item.label);
    const marks = async (text, name = file()) => {
      const lines = first(name).split('\n').length - 1;
      return (await server.open(name, first(name) + text)).map(({ line, marked, message }) => `${line - lines}: ${marked}: ${message}`);
    };
    const offers = async (text, wanted, name) => {
      const got = await labels(text, name);
      for (const label of wanted) {
        assert.ok(got.includes(label), `${label} is not among ${got.join(', ')}`);
      }
      return got;
    };

    it('completes kinds, and a whole new manifest', async () => {
      await offers('kind: ¦', ['CDN', 'Purge', 'VolumeSnapshot', 'Project']);
      const name = file();
      const items = await server.complete(name, first(name) + '¦');
      const whole = items.find((item) => item.label === 'VolumeSnapshot')?.insertText ?? '';
      for (const line of ['apiVersion: snapshot.storage.k8s.io/v1', 'kind: VolumeSnapshot', '  volumeSnapshotClassName: general-purpose']) {
        assert.ok(whole.includes(line), `${line} is not in\n${whole}`);
      }
    });

    it('completes the fields of a spec', async () => {
      const got = await offers(cdn + '  ¦', ['firewall', 'locations', 'secureLink', 'tls', 'upstreams']);
      assert.ok(!got.includes('paths') && !got.includes('hostname'), got.join(', '));
      await offers(purge + '  ¦', ['paths', 'subdomains']);
      await offers(snapshot + '  ¦', ['source', 'volumeSnapshotClassName']);
      assert.ok(!(await labels('kind: CDN\n¦')).includes('status'), 'the status is the server\'s');
    });

    it('completes the fields of what is in lists', async () => {
      await offers(cdn + '  locations:\n    - path: /*\n      cache:\n        ¦', ['edgeTTL', 'browserTTL', 'level', 'ttlTimeUnit']);
      await offers(cdn + '  upstreams:\n    - name: a\n      servers:\n        - host: b\n          ¦', ['port', 'weight']);
      await offers(cdn + '  firewall:\n    rules:\n      - name: a\n        action:\n          ratelimit:\n            ¦', ['rate', 'period', 'identifier']);
    });

    it('completes values: those that are allowed, and those that were seen', async () => {
      await offers(cdn + '  tls:\n    ¦', ['enabled', 'auto', 'forced']);
      await offers(cdn + '  tls:\n    forced: ¦', ['"true"', '"false"']);
      await offers(cdn + '  firewall:\n    enabled: ¦', ['true', 'false']);
      await offers(cdn + '  locations:\n    - action: ¦', ['proxy_http']);
      await offers(snapshot + '  volumeSnapshotClassName: ¦', ['general-purpose']);
    });

    it('tells of a field what it is', async () => {
      const name = file();
      const text = await server.hover(name, first(name) + cdn + '  tls:\n    for¦ced: "true"\n');
      assert.match(text, /TLS only/);
      assert.match(text, /Whether plain HTTP is sent on to TLS/);
    });

    it('marks nothing that is right', async () => {
      for (const name of ['trueup.yaml', ...fs.readdirSync(path.join(folder, 'manifests')).filter((n) => n.endsWith('.yaml')).map((n) => `manifests/${n}`)]) {
        assert.deepEqual(await server.open(name, fs.readFileSync(path.join(folder, name), 'utf8')), [], name);
      }
      assert.deepEqual(await marks(cdn + '  tls: null\n  locations:\n    - {path: /, cors: null}\n'), []);
      assert.deepEqual(await marks('apiVersion: delivery.acme.cloud/v1beta1\nkind: Purge\nmetadata: {name: a}\nspec: {hostname: a, paths: [/]}\n'), []);
    });

    it('marks a value of the wrong type', async () => {
      const got = await marks(cdn + '  tls:\n    forced: true\n  locations:\n    - path: /\n      cache: {edgeTTL: 60}\n  firewall: {enabled: "true"}\n');
      for (const where of ['7: true: Incorrect type', '10: 60: Incorrect type', '11: "true": Incorrect type']) {
        assert.ok(got.some((mark) => mark.startsWith(where)), `${where} is not among ${got.join(' | ')}`);
      }
      assert.ok(got.every((mark) => /^(7: true|10: 60|11: "true"): /.test(mark)), got.join(' | '));
    });

    it('marks what is missing', async () => {
      assert.deepEqual(await marks(purge), ['4: spec: Missing property "paths".']);
      assert.deepEqual(await marks(cdn + '  upstreams:\n    - scheme: https\n'), ['7: s: Missing property "name".']);
      assert.deepEqual(await marks(cdn + '  locations: [{path: null}]\n'), ['6: null: Incorrect type. Expected "string".']);
    });

    it('marks a snapshot of another class', async () => {
      const got = await marks(snapshot + '  source: {persistentVolumeClaimName: db}\n  volumeSnapshotClassName: fast\n');
      assert.deepEqual(got, ['6: fast: Value must be "general-purpose".']);
    });

    it('marks another kind and another version', async () => {
      const [mark, ...others] = await marks('apiVersion: v1\nkind: Pod\n');
      assert.match(mark, /^2: Pod: Value is not accepted/);
      assert.deepEqual(others, []);
      assert.deepEqual(await marks(cdn.replace('v2.1', 'v1')), ['1: delivery/v1: Value must be "delivery/v2.1".']);
    });

    it('knows the project file', async () => {
      const project = 'apiVersion: trueup/v1\nkind: Project\n';
      await offers(project + '¦', ['workspace', 'manifests', 'ledger', 'overrides'], 'trueup.yaml');
      assert.deepEqual(await marks(project + 'workspaces: {}\n', 'trueup.yaml'), ['3: workspaces: Property workspaces is not allowed.']);
    });

    if (isSet) {
      it('knows each document of a file by itself', async () => {
        const got = await marks(cdn + '---\n' + purge + '---\n' + snapshot.replace('1\nkind', '2\nkind') + '  {}\n');
        assert.deepEqual(got.map((mark) => mark.split(':')[0]).map(Number).sort((a, b) => a - b), [10, 13, 16, 16]);
      });
    }
  });
});

// The schema of each kind that the repository ships, which an example names in
// its first line.
describe('an example of the repository', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  let server;

  before(async () => { server = await start(root); });

  after(() => server.stop());

  const names = fs.readdirSync(path.join(root, 'examples/manifests'), { recursive: true })
    .filter((name) => name.endsWith('.yaml')).map((name) => `examples/manifests/${name}`);

  it('has nothing marked', async () => {
    assert.ok(names.length >= 5, names.join(', '));
    for (const name of names) {
      assert.deepEqual(await server.open(name, fs.readFileSync(path.join(root, name), 'utf8')), [], name);
    }
  });

  it('has marked what is wrong, and only that', async () => {
    const text = (name) => fs.readFileSync(path.join(root, 'examples/manifests', name), 'utf8');
    for (const [name, right, wrong, marked] of [
      ['docs.yaml', 'forced: "true"', 'forced: true', 'true'],
      ['docs.yaml', 'edgeTTL: "600"', 'edgeTTL: 600', '600'],
      ['db.yaml', 'general-purpose', 'fast', 'fast'],
      ['db.yaml', 'apiVersion: snapshot.storage.k8s.io/v1', 'apiVersion: v1', 'v1'],
    ]) {
      assert.ok(text(name).includes(right), right);
      const got = await server.open(`examples/manifests/wrong-${marked}.yaml`, text(name).replace(right, wrong));
      assert.ok(got.length > 0 && got.every((mark) => mark.marked === marked), `${wrong}: ${JSON.stringify(got)}`);
    }
  });
});
