/**
 * A scripted agent that speaks ACP, as a program. It keeps its sessions in $HOME/.acp-test, and saves a message before it
 * works on it, as real agents do. A message's script follows `@@`; its steps that are done are done once.
 */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk";
import type { Call, Round } from "../../agent/engines/demo/script.ts";

export type Step =
  | { text: string }
  /** A call of a round: it does what its input says. It asks in every mode but `agent`. */
  | { does: Call }
  | { thought: string }
  /** Appends the title to the file `effects` of the directory, after a permission if `ask` is given. */
  | {
      call: string;
      ask?: boolean;
      options?: object[];
      kind?: acp.ToolKind;
      waitFor?: string;
      toolName?: string;
      /** The file of the directory that it says it works on. */
      path?: string;
    }
  | { waitFor: string }
  /** Says what is in a file, or that it can't be read. */
  | { read: string }
  | { update: object }
  | { request: string }
  /** Calls a tool of the servers that the client named, and says its result. */
  | { tool: string; input: object }
  | { stop: acp.StopReason }
  /** It says nothing more, whatever it is told: to stop, too. */
  | { hang: true }
  | { fail: string }
  /** As it is, on its standard output. */
  | { print: string }
  | { printBytes: number }
  | { exit: number };

interface Saved {
  /** What it was told, with each prompt's script and how far it is. */
  told: { text: string; steps: Step[]; done: number }[];
  /** All that was told and said, in its order. */
  conversation: string[];
}

const flags = new Set(process.argv.slice(2));
const flagValue = (flag: string) =>
  process.argv.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1);
const folder = join(process.env["HOME"] ?? "/", ".acp-test");
mkdirSync(folder, { recursive: true });

const fileOf = (sessionId: string) => join(folder, `${sessionId}.json`);
const load = (sessionId: string): Saved => JSON.parse(readFileSync(fileOf(sessionId), "utf8"));
const save = (sessionId: string, saved: Saved) => writeFileSync(fileOf(sessionId), JSON.stringify(saved));

const modes = flagValue("--modes")?.split(",") ?? [];
let modeId = modes[0] ?? "";
const modeState = () => ({ currentModeId: modeId, availableModes: modes.map((id) => ({ id, name: id })) });
const opened = () => (modes.length > 0 ? { modes: modeState() } : {});
const note = (what: string) => appendFileSync(join(folder, "heard"), `${what}\n`);

let cancelled = new AbortController();
let isWorking = false;
let wasSteered = false;
let dir = "/";
let servers: acp.McpServer[] = [];

function run(): void {
  const isSteered = flags.has("--steer");
  const { agent: methods, client: theirs } = acp.methods;
  acp
    .agent({ name: "scripted" })
    .onRequest(methods.initialize, () => ({
      protocolVersion: flags.has("--version=9") ? 9 : 1,
      agentInfo: { name: flagValue("--name") ?? "scripted", version: "1.2.3" },
      agentCapabilities: {
        loadSession: !flags.has("--no-load"),
        mcpCapabilities: { http: true },
        promptCapabilities: { image: true },
        sessionCapabilities: flags.has("--resume") ? { resume: {} } : {},
      },
      ...(isSteered && { _meta: { steering: { supported: true } } }),
    }))
    .onRequest(methods.session.new, ({ params }) => {
      if (flags.has("--signed-out")) throw acp.RequestError.authRequired();
      dir = params.cwd;
      servers = params.mcpServers;
      note(`new ${JSON.stringify(params.mcpServers)}`);
      const sessionId = crypto.randomUUID();
      save(sessionId, { told: [], conversation: [] });
      return { sessionId, ...opened() };
    })
    .onRequest(methods.session.load, async ({ params: { sessionId, cwd, mcpServers }, client }) => {
      if (!existsSync(fileOf(sessionId))) throw acp.RequestError.resourceNotFound(sessionId);
      note("load");
      dir = cwd;
      servers = mcpServers;
      for (const { text } of load(sessionId).told)
        await client.notify(theirs.session.update, {
          sessionId,
          update: { sessionUpdate: "user_message_chunk", content: { type: "text", text } },
        });
      return opened();
    })
    .onRequest(methods.session.resume, ({ params: { cwd } }) => {
      note("resume");
      dir = cwd;
      return opened();
    })
    .onRequest(methods.session.setMode, ({ params }) => {
      modeId = params.modeId;
      note(`mode ${modeId}`);
      return {};
    })
    .onRequest(
      "_session/steering",
      (params) => params as acp.PromptRequest,
      ({ params, client }) => {
        wasSteered = true;
        if (isWorking) {
          take(params);
          return { outcome: "injected" };
        }
        const { idleBehavior } = (params._meta?.["steering"] ?? {}) as { idleBehavior?: string };
        if (idleBehavior === "promptRequired") return { outcome: "promptRequired" };
        take(params);
        void work(params.sessionId, client);
        return { outcome: "startedNewTurn" };
      },
    )
    .onRequest(methods.session.prompt, async ({ params, client }) => {
      if (isWorking && flags.has("--strict")) note("a prompt in mid-turn");
      take(params);
      cancelled = new AbortController();
      isWorking = true;
      try {
        const done = await work(params.sessionId, client);
        isWorking = false;
        if (flags.has("--slow-end")) note("turn over");
        // Its turn is over, and its client does not know that yet.
        while (flags.has("--slow-end") && !wasSteered) await pause(10);
        return done;
      } finally {
        isWorking = false;
      }
    })
    .onNotification(methods.session.cancel, () => {
      if (!flags.has("--deaf")) cancelled.abort();
    })
    .connect(
      acp.ndJsonStream(
        Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      ),
    );
}

function take({ sessionId, prompt }: acp.PromptRequest): void {
  const text = prompt.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
  // A new conversation is told what was said before: the newest script is meant.
  const script = text.match(/(?<=@@).*$/gm)?.at(-1) ?? "[]";
  const saved = load(sessionId);
  const steps = (JSON.parse(script) as (Step | Round)[]).flatMap(stepsOf);
  saved.told.push({ text, steps, done: 0 });
  saved.conversation.push(text);
  save(sessionId, saved);
}

/** A round is what the scripted models of other engines take: a wait, calls, a text. */
function stepsOf(one: Step | Round): Step[] {
  const { waitFor, tools, text } = one as Round;
  if (tools === undefined && text === undefined) return [one as Step];
  return [
    ...(waitFor === undefined ? [] : [{ waitFor }]),
    ...(tools ?? []).map((does) => ({ does })),
    ...(text === undefined ? [] : [{ text }]),
  ];
}

/** All steps that are not done yet, of messages that come in the meantime too. */
async function work(sessionId: string, client: acp.AgentContext): Promise<acp.PromptResponse> {
  for (;;) {
    const saved = load(sessionId);
    const next = saved.told.find(({ steps, done }) => done < steps.length);
    const step = next?.steps[next.done];
    if (!next || !step) break;
    if (cancelled.signal.aborted) return dropRest(sessionId);
    const finish = () => {
      const now = load(sessionId);
      const same = now.told[saved.told.indexOf(next)];
      if (same) same.done += 1;
      save(sessionId, now);
    };
    const ended = await doStep(step, sessionId, client, finish);
    if (ended) return ended;
  }
  return cancelled.signal.aborted
    ? dropRest(sessionId)
    : ({
        stopReason: "end_turn",
        usage: { totalTokens: 15, inputTokens: 10, outputTokens: 5 },
      } as acp.PromptResponse);
}

function dropRest(sessionId: string): acp.PromptResponse {
  const saved = load(sessionId);
  for (const one of saved.told) one.done = one.steps.length;
  save(sessionId, saved);
  return { stopReason: "cancelled" };
}

/** @param finish is called when the step must not be done again */
async function doStep(
  step: Step,
  sessionId: string,
  client: acp.AgentContext,
  finish: () => void,
): Promise<acp.PromptResponse | undefined> {
  const say = (update: object) =>
    client.notify(acp.methods.client.session.update, { sessionId, update: update as acp.SessionUpdate });
  if ("call" in step) return await doCall(step, { sessionId, client, finish, say });
  if ("does" in step) return await doRoundCall(step.does, { sessionId, client, finish, say });
  if ("waitFor" in step) {
    await untilThere(step.waitFor);
    if (!cancelled.signal.aborted) finish();
    return undefined;
  }
  finish();
  if ("text" in step) {
    const saved = load(sessionId);
    save(sessionId, { ...saved, conversation: [...saved.conversation, step.text] });
    await say({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: step.text } });
  } else if ("read" in step) {
    const text = existsSync(step.read) ? readFileSync(step.read, "utf8") : "nothing there";
    await say({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  } else if ("tool" in step) {
    const text = await callTool(step.tool, step.input);
    await say({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  } else if ("thought" in step)
    await say({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: step.thought } });
  else if ("update" in step)
    writeSync(
      1,
      `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update: step.update } })}\n`,
    );
  else if ("request" in step)
    await client
      .request(step.request, { sessionId, path: "/etc/passwd" })
      .catch((error: acp.RequestError) => note(`refused ${step.request} ${error.code}`));
  else if ("stop" in step) return { stopReason: step.stop };
  else if ("hang" in step) await new Promise(() => {});
  else if ("fail" in step) throw acp.RequestError.internalError(undefined, step.fail);
  else if ("print" in step) writeSync(1, `${step.print}\n`);
  else if ("printBytes" in step) await printBytes(step.printBytes);
  else process.exit(step.exit);
  return undefined;
}

async function callTool(name: string, input: object): Promise<string> {
  const [server] = servers;
  if (!server || !("url" in server)) return "no server";
  const headers = Object.fromEntries(server.headers.map(({ name: header, value }) => [header, value]));
  const reply = await fetch(server.url, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...headers,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name, arguments: input, _meta: { progressToken: 1 } },
    }),
  });
  return await reply.text();
}

interface Doing {
  sessionId: string;
  client: acp.AgentContext;
  finish: () => void;
  say: (update: object) => Promise<void>;
}

async function doCall(
  {
    call: title,
    ask = false,
    options,
    kind = "execute",
    waitFor,
    toolName,
    path,
  }: Extract<Step, { call: string }>,
  { sessionId, client, finish, say }: Doing,
): Promise<undefined> {
  const toolCallId = `call-${title.replace(/\W+/g, "-")}`;
  const meta = toolName === undefined ? {} : { _meta: { claudeCode: { toolName } } };
  const locations = path === undefined ? {} : { locations: [{ path: join(dir, path) }] };
  const what = { toolCallId, title, kind, rawInput: { command: title }, ...locations, ...meta };
  await say({ sessionUpdate: "tool_call", status: "pending", ...what });
  if (ask && !(await isAllowed(what, options ?? OPTIONS, { sessionId, client, finish, say }))) return;
  await say({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  finish(); // a call that ran when the agent was killed is known as interrupted
  if (waitFor !== undefined) await untilThere(waitFor);
  if (cancelled.signal.aborted) return;
  appendFileSync(join(dir, "effects"), `${title}\n`);
  const content = [{ type: "content", content: { type: "text", text: `did ${title}` } }];
  await say({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
}

async function isAllowed(
  what: acp.ToolCallUpdate,
  options: object[],
  { sessionId, client, finish, say }: Doing,
): Promise<boolean> {
  const answer = (await client.request(acp.methods.client.session.requestPermission, {
    sessionId,
    toolCall: what,
    options: options as acp.PermissionOption[],
  })) as acp.RequestPermissionResponse;
  const { outcome } = answer;
  note(`answer ${outcome.outcome === "selected" ? outcome.optionId : outcome.outcome}`);
  if (outcome.outcome === "selected" && !outcome.optionId.startsWith("reject")) return true;
  finish();
  await say({ sessionUpdate: "tool_call_update", toolCallId: what.toolCallId, status: "failed" });
  return false;
}

async function doRoundCall({ name, input }: Call, doing: Doing): Promise<undefined> {
  const { finish, say } = doing;
  const { command, file_path: path } = input as { command?: string; file_path?: string };
  const kind = command === undefined ? (path === undefined ? "other" : "edit") : "execute";
  const what = {
    toolCallId: crypto.randomUUID(),
    title: command ?? (path === undefined ? name : `${name} ${path}`),
    kind,
    rawInput: input,
    ...(path !== undefined && { locations: [{ path }] }),
  } as const;
  await say({ sessionUpdate: "tool_call", status: "pending", ...what });
  const asks = modeId !== "agent" && kind !== "other";
  if (asks && !(await isAllowed(what, OPTIONS, doing))) return;
  const { toolCallId } = what;
  await say({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  finish(); // a call that ran when the agent was killed is known as interrupted
  const text = await resultOf({ name, input });
  const content = [{ type: "content", content: { type: "text", text } }];
  await say({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
}

async function resultOf({ name, input }: Call): Promise<string> {
  const { command, file_path: path, content } = input as Record<string, string>;
  if (command !== undefined) return await runCommand(command);
  if (path === undefined) return await callTool(name, input);
  writeFileSync(resolve(dir, path), content ?? "");
  return "written";
}

/** A stop ends the command with all that it has started. */
async function runCommand(command: string): Promise<string> {
  const child = spawn("sh", ["-c", command], { cwd: dir, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const stop = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  cancelled.signal.addEventListener("abort", stop);
  const text = (await child.stdout.toArray()).join("");
  cancelled.signal.removeEventListener("abort", stop);
  return text;
}

const OPTIONS = [
  { optionId: "allow-1", name: "Yes", kind: "allow_once" },
  { optionId: "allow-all", name: "Yes, and don't ask again", kind: "allow_always" },
  { optionId: "reject-1", name: "No", kind: "reject_once" },
];

async function untilThere(name: string): Promise<void> {
  while (!existsSync(resolve(dir, name)) && !cancelled.signal.aborted) await pause(10);
}

async function printBytes(count: number): Promise<void> {
  const piece = "x".repeat(1024 * 1024);
  for (let left = count; left > 0; left -= piece.length)
    await new Promise<void>((resolve, reject) =>
      process.stdout.write(piece, (e) => (e ? reject(e) : resolve())),
    );
}

if (flags.has("--die")) {
  process.stderr.write("no such model: gpt-0\n");
  process.exit(3);
} else if (flags.has("--no-json")) {
  process.stdout.write("Welcome to the agent!\n> ");
  process.exit(0);
} else if (flags.has("--mute")) process.stdin.resume();
else run();
