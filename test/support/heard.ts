/** What a scripted model has heard and said, from the conversation's own file: no word of it is ours. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEvent } from "../../shared/agent/events.ts";
import { threadPath } from "../../shared/agent/paths.ts";
import type { TestSidecar } from "./sidecar.ts";

type Side = Pick<TestSidecar, "stateDir" | "folders">;

/** The words like `m-12` and `t-3`, in the order in which the model had them; scripts and titles are left out. */
export function heardBy(side: Side, threadId: string): string[] {
  return textsHeardBy(side, threadId).flatMap(
    (text) => withoutOthers(withoutScripts(text)).match(/\b[mt]-[\w-]*\d\b/g) ?? [],
  );
}

/** Each text of the conversation, as the model had it. */
export function textsHeardBy({ stateDir, folders }: Side, threadId: string): string[] {
  const sessionId = sessionOf(stateDir, threadId);
  const projects = join(folders.home, ".claude", "projects");
  if (sessionId === undefined || !existsSync(projects)) return [];
  const file = readdirSync(projects)
    .map((project) => join(projects, project, `${sessionId}.jsonl`))
    .find((path) => existsSync(path));
  if (file === undefined) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.flatMap((line) => {
    const { message, attachment } = JSON.parse(line) as {
      message?: { content: string | { text?: string }[] };
      attachment?: { prompt?: { text?: string }[]; text?: string };
    };
    const blocks = message?.content ?? attachment?.prompt ?? attachment?.text ?? [];
    return typeof blocks === "string" ? [blocks] : blocks.map(({ text = "" }) => text);
  });
}

/** Of the thread's newest engine. */
export function sessionOf(stateDir: string, threadId: string): string | undefined {
  const path = threadPath(join(stateDir, "threads", threadId), "transcript");
  if (!existsSync(path)) return undefined;
  const events = readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .flatMap((line) => parseEvent(line) ?? []);
  return events.flatMap((event) => (event.type === "engine_start" ? [event.sessionId] : [])).at(-1);
}

/** News of the others in its directory ends a text. Their titles are words that those others were told. */
function withoutOthers(text: string): string {
  return text.replace(/\[threadmux: you are [^\]]*other agents that work in this directory[\s\S]*$/, "");
}

/** A script is one line of JSON up to the text's next line. */
export function withoutScripts(text: string): string {
  return text.replace(/@@\[.*$/gm, "");
}
