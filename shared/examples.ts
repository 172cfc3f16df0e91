/** Requests that can be sent as they are, and that OpenAPI shows: for each route whose path needs nothing made up. */

export interface Example {
  /** What stands in the path, by name. */
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  /** A text if the route takes raw bytes. */
  body?: unknown;
}

const demo = { id: "demo" };
const helper = { id: "helper" };
const fixer = { id: "fixer" };
const by = "api:me";

/**
 * By method and path. `demo` is a terminal; `helper` an agent that the first example makes; `fixer` an agent in a git
 * worktree, which has changed a file, and which ends before its worktree is removed; `tester` an agent that may run
 * `npm --version` without asking.
 */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  "post /thread/create": {
    body: {
      threadId: "helper",
      type: "agent",
      dir: ".",
      command: "Say hello.",
      createdBy: "me",
      home: "discord",
      agent: { tags: ["ci"], limits: { turns: 20 } },
      initialMessages: [
        { role: "user", text: "My name is Ada." },
        { role: "assistant", text: "Hello, Ada." },
      ],
    },
  },
  "post /thread/:id/input": { path: helper, body: { text: "And goodbye.", inputId: "m1", source: by } },
  "put /thread/:id/input/:inputId": { path: { ...helper, inputId: "m1" }, body: { text: null } },
  "get /thread/:id/output": { path: demo, query: { since: 0, limit: 65_536 } },
  "post /threads/output": { body: { since: { demo: 0 }, transcripts: { helper: 0 } } },
  "get /thread/:id/screen": { path: demo, query: { format: "text" } },
  "get /thread/:id/log": { path: demo, query: { format: "raw" } },
  "post /thread/:id/resize": { path: demo, body: { cols: 120, rows: 40 } },
  "put /thread/:id/title": { path: demo, body: { title: "the demo" } },
  "put /thread/:id/delivery": { path: demo, body: { offset: 0 } },
  "put /thread/:id/messages/:key": { path: { ...demo, key: "page.0" }, body: { messageId: "1" } },
  "get /thread/:id/messages": { path: demo },
  "get /threads/messages": { query: { status: "open" } },
  "put /channel/:id/messages/:key": { path: { id: "1", key: "inbox.2" }, body: { messageId: "3" } },
  "get /channel/:id/messages": { path: { id: "1" } },
  "get /threads": { query: { status: "all" } },
  "get /thread/:id": { path: demo },
  "get /events": { query: { since: 0, type: "turn_end", tag: "ci" } },
  "get /repos": { query: { prefix: "" } },
  "get /healthz": {},
  "get /metrics": {},
  "get /openapi.json": {},
  "get /inbox": { query: { hours: 24 } },
  "get /thread/:id/transcript": { path: helper, query: { since: 0, limit: 65_536 } },
  "get /thread/:id/steps": { path: helper, query: { afterSeq: 0, limit: 100 } },
  "get /asks": {},
  "get /thread/:id/asks": { path: helper },
  "post /thread/:id/pause": { path: helper, body: { by } },
  "post /thread/:id/resume": { path: helper, body: { by, input: { text: "Go on.", inputId: "m2" } } },
  "post /thread/:id/interrupt": { path: helper, body: { by } },
  "post /thread/:id/limit": { path: helper, body: { by, limits: { turns: 40 } } },
  "put /thread/:id/home": { path: helper, body: { after: "1" } },
  "post /thread/:id/branch": {
    path: fixer,
    body: { threadId: "fixer-2", text: "What else?", createdBy: "me", lockParent: false },
  },
  "post /thread/:id/attachments": { path: helper, query: { name: "notes.txt" }, body: "Some notes." },
  "get /thread/:id/attachments": { path: helper },
  "get /thread/:id/attachments/:name": { path: { ...helper, name: "notes.txt" } },
  "delete /thread/:id/attachments/:name": { path: { ...helper, name: "notes.txt" } },
  "post /thread/:id/mode": { path: helper, body: { by, modeId: "plan" } },
  "post /thread/:id/model": { path: helper, body: { by, model: "opus" } },
  "post /thread/:id/compact": { path: helper, body: { by, text: "Keep the file names." } },
  "get /thread/:id/rules": { path: helper },
  "post /thread/:id/rules": { path: { id: "tester" }, body: { by, withdraw: ["Bash(npm --version)"] } },
  "get /thread/:id/diff": { path: fixer, query: { limit: 65_536 } },
  "post /thread/:id/undo": { path: fixer, body: { by } },
  "get /thread/:id/worktree": { path: fixer },
  "post /thread/:id/worktree/remove": { path: fixer, body: { force: true } },
  "post /thread/:id/kill": { path: demo },
};
