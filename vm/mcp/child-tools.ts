/** The tools by which an agent splits its work among children of its own. */
import * as z from "zod";
import { isAtRest } from "../../shared/agent/files.ts";
import { hasWork } from "../../shared/agent/fold.ts";
import { asksOfWork } from "../../shared/agent/fold-held.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { limitsSchema } from "../../shared/agent/limit-schema.ts";
import type { Thread } from "../../shared/api.ts";
import { inputValuesSchema } from "../../shared/directives/inputs.ts";
import { AppError } from "../../shared/errors.ts";
import { anyThreadNameSchema, type ThreadId } from "../../shared/ids.ts";
import {
  describePrincipal,
  type Principal,
  parsePrincipal,
  threadPrincipal,
} from "../../shared/principal.ts";
import type { Agents } from "../agents/agents.ts";
import type { Marks } from "../agents/marks.ts";
import { saidIn } from "../agents/said.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { LogWatch } from "../streams/log-watch.ts";
import type { Homes } from "../threads/homes.ts";
import type { Threads } from "../threads/threads.ts";
import { noteEnd } from "./budgets.ts";
import type { Children } from "./children.ts";
import { readTranscriptTool } from "./read-transcript.ts";
import type { Tool, ToolCall } from "./tool.ts";

/** Whatever is told of changes. */
const LOOK_MS = 10_000;
/** The longest wait of one call, shorter than an engine waits for an answer. */
const MAX_WAIT_SECONDS = 23 * 3_600;
/** An agent that hears a channel is deaf meanwhile. */
const MAX_SECONDS_OF_HEARERS = 20;
/** A person who pauses a child may resume it at once; after that its parent is told, and may do something else. */
const PAUSE_PATIENCE_MS = 60_000;
/** A member of a room calls it so: its inputs from there begin with that word. */
const ROOM = "room";

const threadId = anyThreadNameSchema.describe(
  "Its id as spawn_thread or list_threads told it; its name, number or title",
);
const one = z.strictObject({ threadId });
const wait = z.strictObject({
  threadId,
  timeoutSeconds: z
    .number()
    .int()
    .min(1)
    .max(MAX_WAIT_SECONDS)
    .default(MAX_WAIT_SECONDS)
    .describe("After so long you are told what it does, and may wait again"),
});
const spawn = z.strictObject({
  prompt: z.string().min(1).max(50_000).describe("What the child is to do; it knows nothing else"),
  title: z.string().min(1).max(100).optional(),
  dir: z.string().max(1_000).optional().describe("Below your working directory; without it the same"),
  permissionMode: z.string().max(50).optional().describe("Yours or a narrower one"),
  limits: limitsSchema
    .strict()
    .optional()
    .describe(
      "Of yours, what the child may use; without it half of what you have left of each of your limits",
    ),
  directive: z
    .string()
    .min(1)
    .max(80)
    .optional()
    .describe(
      "The name of a directive: the child gets its text as its instructions, and no more rights than you",
    ),
  inputs: inputValuesSchema.optional().describe("Of the directive"),
  mode: z
    .enum(["await", "async"])
    .optional()
    .describe("await: the answer is its result. Without it as the directive says, else await"),
});

export interface ChildToolsOptions {
  threads: Threads;
  agents: Agents;
  marks: Pick<Marks, "find" | "spread">;
  children: Children;
  homes: Pick<Homes, "find">;
  rooms: Pick<Rooms, "findRoomOf">;
  /** Told of every change of a thread. */
  logWatch: LogWatch;
  kill: (threadId: ThreadId, by: Principal) => Promise<unknown>;
  /** Tells those who wait for no child of its end. */
  childEnds: {
    isFor(threadId: ThreadId): boolean;
    watch(childId: ThreadId): void;
    drop(childId: ThreadId): void;
  };
}

export function childTools(options: ChildToolsOptions): Tool[] {
  const { threads, children, homes, rooms, kill, childEnds } = options;
  // Nothing is told of a name that fits several threads: they may be others'.
  const idOf = (name: string) => {
    const found = homes.find(name);
    if (found === undefined) throw new AppError("not_found", `You have no child ${JSON.stringify(name)}.`);
    return found;
  };
  const relativeOf = (name: string, readerId: ThreadId) => {
    const found = (name === ROOM ? rooms.findRoomOf(readerId) : undefined) ?? homes.find(name);
    if (found !== undefined) return found;
    throw new AppError("not_found", `There is no thread ${JSON.stringify(name)} that you know.`);
  };
  const findDescendant = ({ threadId: ancestorId, input }: ToolCall): ThreadId => {
    const threadId = idOf(one.parse(input).threadId);
    children.checkDescendant(ancestorId, threadId);
    return threadId;
  };
  return [
    spawnTool(options),
    {
      name: "wait_thread",
      right: "read",
      description:
        "Waits until a child of yours has ended its turn, or a person has paused it. Called again it tells the same result.",
      inputSchema: wait,
      run: async ({ threadId: parentId, input, signal }) => {
        const { threadId: named, timeoutSeconds } = wait.parse(input);
        const childId = idOf(named);
        children.checkDescendant(parentId, childId);
        const most = childEnds.isFor(parentId) ? MAX_SECONDS_OF_HEARERS : timeoutSeconds;
        return waitFor(options, {
          ...{ parentId, childId, signal },
          timeoutSeconds: Math.min(most, timeoutSeconds),
        });
      },
    },
    {
      name: "thread_status",
      right: "read",
      description: "What a child of yours does now.",
      inputSchema: one,
      run: async (call) => statusOf(options, threads.get(findDescendant(call))),
    },
    {
      name: "list_threads",
      right: "read",
      description:
        "You and your open children, each with its status, step and work; your parent and those beside you, if a thread spawned you.",
      inputSchema: z.strictObject({}),
      run: async ({ threadId }) => listFamily(options, threadId),
    },
    readTranscriptTool({ ...options, idOf: relativeOf }),
    {
      name: "kill_thread",
      right: "press",
      description: "Ends a child of yours with all that it started. Its files stay.",
      inputSchema: one,
      run: async ({ threadId: parentId, input }) => {
        const childId = idOf(one.parse(input).threadId);
        children.checkChild(parentId, childId);
        await kill(childId, threadPrincipal(parentId));
        return `Ended ${childId}.`;
      },
    },
  ];
}

function spawnTool(options: ChildToolsOptions): Tool {
  const { threads, children, childEnds } = options;
  return {
    name: "spawn_thread",
    right: "run",
    description:
      "Starts a child: another agent that does a part of your work in a thread of its own, at most as freely as you. With mode await you get its result, with async its id for wait_thread.",
    inputSchema: spawn,
    run: async ({ threadId: parentId, callId, input, signal }) => {
      const request = spawn.parse(input);
      const isTold = childEnds.isFor(parentId);
      const wanted = isTold ? { ...request, mode: "async" as const } : request;
      const { threadId: childId, mode } = await children.spawn(parentId, { ...wanted, callId });
      childEnds.watch(childId);
      const started = `Started ${nameOf(options, threads.get(childId))}.`;
      if (isTold) return `${started} You will be told when its turn ends: do not wait for it.`;
      if (mode === "async") return started;
      return waitFor(options, { parentId, childId, timeoutSeconds: MAX_WAIT_SECONDS, signal });
    },
  };
}

interface Wait {
  parentId: ThreadId;
  childId: ThreadId;
  timeoutSeconds: number;
  signal: AbortSignal;
}

async function waitFor(options: ChildToolsOptions, wait: Wait): Promise<string> {
  const { threads, agents, logWatch } = options;
  const { parentId, childId, timeoutSeconds, signal } = wait;
  const changes = logWatch.listen([childId]);
  const until = Date.now() + timeoutSeconds * 1_000;
  let pausedUntil: number | undefined;
  try {
    for (;;) {
      const child = threads.get(childId);
      if (await isSettled(child, agents)) {
        const { last, end } = await saidIn(agents, childId);
        await options.marks.spread(childId, parentId); // text from outside may have come meanwhile
        await noteEnd(options, parentId, childId, end?.stopReason ?? child.status);
        options.childEnds.drop(childId);
        return `${statusOf(options, child)}\n\n${last || "It said nothing."}`;
      }
      if (child.status !== "paused") pausedUntil = undefined;
      else if (pausedUntil === undefined) {
        pausedUntil = Date.now() + PAUSE_PATIENCE_MS;
        const name = `#${child.number ?? "?"} (${child.title})`; // for people: its id says nothing to them
        await agents.noteNotice(parentId, `Waits for ${name}, ${await pauseOf(agents, childId)}`);
      }
      const restMs = Math.min(until, pausedUntil ?? until) - Date.now();
      if (restMs <= 0) return `${statusOf(options, child)}\n\n${await notEnded(child, agents)}`;
      await changes.wait(Math.min(LOOK_MS, restMs), signal);
      if (signal.aborted || logWatch.isClosed)
        throw new AppError("unavailable", "The wait was cut off; call wait_thread again.");
    }
  } finally {
    changes.end();
  }
}

/** For the model whose wait is over before the child's turn is. */
async function notEnded({ threadId, status }: Thread, agents: Agents): Promise<string> {
  if (status !== "paused") return "It has not ended yet, and goes on: wait_thread waits for it again.";
  return `It was ${await pauseOf(agents, threadId)}, and goes on once a person resumes it. Do not do its work yourself: do something else, wait for it again, or end your turn and say that it is paused.`;
}

/** `paused by Discord user 42 at 10:15 UTC` */
async function pauseOf(agents: Agents, threadId: ThreadId): Promise<string> {
  const { pause } = await saidIn(agents, threadId);
  if (!pause) return "paused by a person";
  return `paused by ${describePrincipal(parsePrincipal(pause.by))} at ${pause.ts.slice(11, 19)} UTC`;
}

/** It will not go on by itself. */
export async function isSettled({ threadId, status, waiting }: Thread, agents: Agents): Promise<boolean> {
  if (status === "killed" || status === "failed" || status === "locked") return true;
  if (waiting > 0) return false;
  // Another agent's message that a person is to let in is none of its work.
  return isAtRest(status) || (status === "waiting" && hasNoWork(await agents.foldNow(threadId)));
}

const hasNoWork = (fold: ThreadFold) => asksOfWork(fold).length === 0 && !hasWork(fold);

function listFamily(options: ChildToolsOptions, threadId: ThreadId): string {
  const { threads, children } = options;
  const own = children.list(threadId).map((child) => statusOf(options, child));
  const parentId = children.parentOf(threadId);
  // Its work of this moment is this call.
  const self = `You: ${statusOf(options, { ...threads.get(threadId), doing: null })}`;
  if (parentId === undefined)
    return [self, ...(own.length === 0 ? ["You have no open children."] : own.map(asChild))].join("\n");
  const beside = children.list(parentId).filter((one) => one.threadId !== threadId);
  const parent = threads.list("all").find((one) => one.threadId === parentId);
  return [
    self,
    ...(parent ? [`Your parent: ${nameOf(options, parent)}`] : []),
    ...beside.map((one) => `Beside you: ${nameOf(options, one)}, ${one.status}`),
    ...own.map(asChild),
  ].join("\n");
}

const NOTHING = { doing: null, problem: null };

const asChild = (line: string) => `Your child: ${line}`;

type Marked = Pick<ChildToolsOptions, "marks">;

/** The title of a marked thread may be a stranger's words, and so may what it does. */
function nameOf({ marks }: Marked, { threadId, number, title }: Thread): string {
  const shown = marks.find(threadId) ? "it has read text from outside" : title;
  return `${threadId} (#${number ?? "?"}, ${shown})`;
}

function statusOf(marked: Marked, thread: Thread): string {
  const { status, turn, awaiting } = thread;
  const { doing, problem } = marked.marks.find(thread.threadId) ? NOTHING : thread;
  const step = turn && `step ${turn.step}, begun ${turn.startedAt}`;
  const more = [step, doing, awaiting && `waits for a person: ${awaiting}`, problem]
    .filter(Boolean)
    .join("; ");
  return `${nameOf(marked, thread)}: ${status}${more === "" ? "" : `, ${more}`}`;
}
