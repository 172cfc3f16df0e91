/** Marks a thread before text from outside gets into it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ControlRequest } from "../../shared/agent/api.ts";
import type { AgentConfig } from "../../shared/agent/config.ts";
import { ENGINES, type EngineName, findEngine } from "../../shared/agent/engines/engines.ts";
import type { InboxLine } from "../../shared/agent/inbox.ts";
import { THREAD_FILES } from "../../shared/agent/paths.ts";
import type { Block } from "../../shared/agent/values.ts";
import { AppError } from "../../shared/errors.ts";
import { isHuman, type Principal, printPrincipal } from "../../shared/principal.ts";
import { writeWhole } from "../../shared/whole-file.ts";
import type { Outside } from "../threads/kinds/kind.ts";
import type { AgentThread } from "./agent-thread.ts";

/** Whether an engine asks before it acts, and takes back what it was allowed. @param name as a thread's configuration has it */
export function canBeHeld(name: string | undefined): boolean {
  const { asks, rules, modes } = findEngine(name)?.capabilities ?? {};
  return asks === true && rules === true && modes !== undefined;
}

/**
 * Whether an engine's threads can be marked.
 * @throws AppError `unsupported`
 */
export function refuseUnmarkable(engine: EngineName, field: string): void {
  if (canBeHeld(engine)) return;
  throw new AppError(
    "unsupported",
    `${field}: the engine ${engine} can't be held to ask about everything, so text from outside does not reach it; leave it to the reader.`,
  );
}

/** The configuration of a thread that begins with such text: no mode wider than the one that asks. */
export function markedConfig<C extends Pick<AgentConfig, "permissionMode">>(
  agent: C,
  engine: EngineName,
  outside: Outside | undefined,
): C {
  const permissionMode =
    outside?.marks === undefined ? undefined : narrowerMode(engine, agent.permissionMode);
  return permissionMode === undefined ? agent : { ...agent, permissionMode };
}

/** The mode that a thread must be put into; undefined if it is in one that allows no more. */
export function findNarrowMode(
  agent: AgentConfig | undefined,
  { fold, isSettled }: Pick<AgentThread, "fold" | "isSettled">,
): string | undefined {
  if (!agent) return undefined;
  // What lies in its inbox may name another one.
  const mode = isSettled ? (fold.chosen.modeId ?? agent.permissionMode) : undefined;
  return narrowerMode(agent.engine, mode);
}

/** Without a mode, the person's own settings would choose one. */
function narrowerMode(engine: EngineName, mode: string | undefined): string | undefined {
  const modes = ENGINES[engine].capabilities.modes;
  if (!modes) return undefined;
  const names: readonly string[] = modes.names;
  const isNarrow =
    mode !== undefined && names.includes(mode) && names.indexOf(mode) <= names.indexOf(modes.asking);
  return isNarrow ? undefined : modes.asking;
}

interface Place {
  /** The thread's. */
  folder: string;
  by: Principal;
  now: number;
}

/**
 * What comes with such an input: the lines before it, and its whole text, which becomes an attachment. The same again
 * is the same file.
 * @param findMode gives the mode that the thread must be put into first, if it must
 */
export function letIn(
  outside: Outside | undefined,
  { folder, by, now }: Place,
  findMode: () => string | undefined = () => undefined,
): { before: InboxLine[]; files: Block[] } {
  const before: InboxLine[] = [];
  if (outside?.marks !== undefined) {
    const line = { ts: new Date(now).toISOString(), by: printPrincipal(by) };
    const modeId = findMode();
    if (modeId !== undefined) before.push({ ...line, op: "mode", modeId });
    before.push({ ...line, op: "mark", why: outside.marks });
  }
  if (!outside?.file) return { before, files: [] };
  const { name, text } = outside.file;
  const attachments = join(folder, THREAD_FILES.attachments);
  mkdirSync(attachments, { recursive: true, mode: 0o700 });
  writeWhole(join(attachments, name), Buffer.from(text), { isDurable: true });
  return { before, files: [{ type: "resource_link", uri: `${THREAD_FILES.attachments}/${name}`, name }] };
}

/** Why a thread is marked that is about to get text of another one. @param name of the other one, for people */
export function spreadFrom(name: string, { why }: { why: string }): string {
  const spread = /^text of [^,]*, which has read (.*)$/s.exec(why)?.[1] ?? why;
  return `text of ${name}, which has read ${spread}`.slice(0, 200);
}

/** A thread, or what its transcript comes to. */
type Marked = { marked?: { why: string } | undefined };

/** @throws AppError `unsupported` if the thread is marked */
export function refuseMarked({ marked }: Marked, what: string): void {
  if (!marked) return;
  throw new AppError(
    "unsupported",
    `This thread has read text from outside (${marked.why}), so it ${what} until a person says that it may trust what it has read.`,
  );
}

/** @throws AppError `unsupported`, `forbidden` */
export function refuseMarkedControl(
  request: ControlRequest,
  agent: AgentConfig | undefined,
  thread: Marked,
  by: Principal,
): void {
  if (request.control === "unmark" && !isHuman(by))
    throw new AppError("forbidden", "Only a person may trust what a thread has read.");
  const isWider =
    request.control === "mode" && agent && narrowerMode(agent.engine, request.modeId) !== undefined;
  if (isWider) refuseMarked(thread, `takes no mode that asks for less: modeId ${request.modeId}`);
}
