// The language server of YAML, as an editor runs it: over standard input and
// output, with the settings that the editor has.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const rpc = require('vscode-jsonrpc/node');
const program = require.resolve('yaml-language-server/bin/yaml-language-server');

// start runs the server for a folder. settings are those of the folder, such as
// 'yaml.schemas'; without them a schema is found only by what a file says itself.
export async function start(folder, settings = {}) {
  const child = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin));
  // The catalogue of schemas on the network is off: what is tested works without one.
  const yaml = { validate: true, completion: true, hover: true, schemaStore: { enable: false }, schemas: settings['yaml.schemas'] ?? {} };
  const other = { http: {}, '[yaml]': {}, 'editor': {}, 'files': {} };
  connection.onRequest('workspace/configuration', ({ items }) =>
    items.map(({ section }) => section === 'yaml' ? yaml : other[section] ?? null));
  connection.onRequest('client/registerCapability', () => null);
  const waiting = new Map();
  connection.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) => waiting.get(uri)?.(diagnostics));
  connection.listen();
  const rootUri = pathToFileURL(folder).href;
  await connection.sendRequest('initialize', {
    processId: process.pid, rootUri, workspaceFolders: [{ uri: rootUri, name: 'repository' }],
    capabilities: {
      workspace: { configuration: true, workspaceFolders: true, didChangeConfiguration: { dynamicRegistration: true } },
      textDocument: { completion: { completionItem: { snippetSupport: true } }, publishDiagnostics: {} },
    },
  });
  await connection.sendNotification('initialized', {});
  await connection.sendNotification('workspace/didChangeConfiguration', { settings: { yaml } });
  const server = new Server(folder, child, connection, waiting);
  await server.open('first.yaml', '{}\n'); // the settings are asked for before
  return server;
}

class Server {
  #versions = new Map();
  #marks = new Map();

  constructor(folder, child, connection, waiting) {
    Object.assign(this, { folder, child, connection, waiting });
  }

  uri(name) {
    return pathToFileURL(path.join(this.folder, name)).href;
  }

  // #type gives a file a text in the editor. What is marked in it comes later; the
  // answer does not say of which text it is, so that each is waited for.
  async #type(name, text) {
    const uri = this.uri(name);
    await this.#marks.get(uri);
    this.#marks.set(uri, new Promise((resolve) => this.waiting.set(uri, resolve)));
    const version = (this.#versions.get(uri) ?? 0) + 1;
    this.#versions.set(uri, version);
    if (version === 1) {
      await this.connection.sendNotification('textDocument/didOpen', { textDocument: { uri, languageId: 'yaml', version, text } });
    } else {
      await this.connection.sendNotification('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] });
    }
    return uri;
  }

  // open returns what is marked in a text.
  async open(name, text) {
    const diagnostics = await this.#marks.get(await this.#type(name, text));
    return diagnostics.map(({ message, range }) => ({
      message, line: range.start.line + 1, marked: text.split('\n')[range.start.line].slice(range.start.character, range.end.character),
    }));
  }

  // #at asks about the mark ¦ in a text.
  async #at(request, name, marked) {
    const before = marked.slice(0, marked.indexOf('¦')).split('\n');
    const uri = await this.#type(name, marked.replace('¦', ''));
    return this.connection.sendRequest(request, {
      textDocument: { uri }, position: { line: before.length - 1, character: before.at(-1).length },
    });
  }

  // complete returns what is offered at the mark ¦ in a text.
  async complete(name, marked) {
    return (await this.#at('textDocument/completion', name, marked)).items;
  }

  // hover returns what is shown over the mark ¦ in a text.
  async hover(name, marked) {
    return (await this.#at('textDocument/hover', name, marked))?.contents.value ?? '';
  }

  async stop() {
    await this.connection.sendRequest('shutdown');
    await this.connection.sendNotification('exit');
    this.connection.dispose();
    this.child.kill();
  }
}
