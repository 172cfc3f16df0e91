/** Whether a call may run, is asked about, or is refused: by the mode, and by rules that people granted. Pure. */
import type { EventOf } from "../../../shared/agent/events.ts";
import { visible } from "../../trust/visible.ts";
import type { AsksAs } from "./tools/tool.ts";

export type Judgement = { is: "run" } | { is: "ask"; rule?: string } | { is: "refused"; why: string };

export interface Judged {
  name: string;
  asksAs: AsksAs;
  /** The subject of the call, such as a command. */
  subject: string;
}

const PLAN_ONLY =
  "Nothing may be changed in the mode plan. Look around, and describe what you would do; the person then chooses another mode.";
/** The rule that lets every tool write files of the thread's directory. */
const WRITE_RULE = "write";
/** The rule that lets a tool of a server run is its name. */
const TOOL_RULE = /^mcp__[\w-]{1,190}$/;
/** In a command without them there is nothing but words: it is one program with its arguments. */
const PLAIN_COMMAND = /^[\w./:=@,+%-]+( [\w./:=@,+%-]+)*$/;
const MAX_RULE = 200;
/** Their first words say nothing of what they do. */
const RUNS_ANYTHING =
  /^(env|sudo|doas|xargs|nohup|time|timeout|nice|exec|eval|command|sh|bash|zsh|dash|ssh|su)$/;

/** @param modeId the one that asks for nothing is given only if it is allowed */
export function judge(
  { name, asksAs, subject }: Judged,
  modeId: string,
  rules: ReadonlySet<string>,
): Judgement {
  if (asksAs === "nothing" || modeId === "bypassPermissions") return { is: "run" };
  if (asksAs === "always") return { is: "ask" };
  if (asksAs === "tool") {
    const rule = TOOL_RULE.test(name) ? name : undefined;
    const isAllowed = modeId !== "plan" && rule !== undefined && rules.has(rule);
    return isAllowed ? { is: "run" } : { is: "ask", ...(rule !== undefined && { rule }) };
  }
  if (modeId === "plan") return asksAs === "write" ? { is: "refused", why: PLAN_ONLY } : { is: "ask" };
  if (asksAs === "write") {
    const isAllowed = modeId === "acceptEdits" || rules.has(WRITE_RULE);
    return isAllowed ? { is: "run" } : { is: "ask", rule: WRITE_RULE };
  }
  const rule = ruleFor(name, subject);
  const isAllowed = rule !== undefined && [...rules].some((one) => grants(one, name, subject));
  return isAllowed ? { is: "run" } : { is: "ask", ...(rule !== undefined && { rule }) };
}

/** The first two words: `npm test`, not all that npm can do. Undefined if the command is more than words. */
function ruleFor(name: string, command: string): string | undefined {
  const words = command.trim().split(" ");
  const isPlain = PLAIN_COMMAND.test(command.trim()) && visible(command) === command;
  if (!isPlain || RUNS_ANYTHING.test(words[0] ?? "")) return undefined;
  const rule = `${name}(${words.slice(0, 2).join(" ")}:*)`;
  return rule.length > MAX_RULE ? undefined : rule;
}

function grants(rule: string, name: string, command: string): boolean {
  const [, tool, prefix] = /^(\w+)\((.+):\*\)$/.exec(rule) ?? [];
  if (tool !== name || prefix === undefined) return false;
  const plain = command.trim();
  return plain === prefix || plain.startsWith(`${prefix} `);
}

export function optionsOf(rule: string | undefined): EventOf<"permission_request">["options"] {
  const what = rule?.replace(/^\w+\((.+):\*\)$/, '"$1 *"');
  const name = rule === WRITE_RULE ? "Allow edits in this thread" : `Allow ${what} in this thread`;
  return [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    ...(rule === undefined ? [] : [{ optionId: "thread", name, kind: "allow_always" as const, rule }]),
    { optionId: "no", name: "Deny", kind: "reject_once" },
  ];
}
