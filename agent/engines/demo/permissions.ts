/** Whether a call runs, is asked about or is refused: pure, by permission mode and rules. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { Mode } from "./args.ts";
import type { Call } from "./script.ts";

export type Verdict =
  | { kind: "run"; reason: "mode" | "rule" | "subcommandResults" | undefined }
  | { kind: "refuse"; message: string }
  /** `fields` go into the request to the person. */
  | { kind: "ask"; fields: Record<string, unknown> };

export interface Policy {
  mode: Mode;
  cwd: string;
  /** `Bash(npm test:*)`: what runs without a question. */
  rules: readonly string[];
  /** What is asked about all the same, in every mode. */
  asked: readonly string[];
  /** Files that no call may read or write, as rules name them; links are followed. */
  denied: readonly string[];
  disallowed: readonly string[];
  /** Those that it has alone. */
  tools?: readonly string[] | undefined;
}

const READING = new Set([
  "ls",
  "pwd",
  "cat",
  "head",
  "tail",
  "true",
  "false",
  "wc",
  "grep",
  "whoami",
  "which",
]);
const FILING = new Set(["touch", "mkdir", "rm", "rmdir", "mv", "cp", "sed"]);
const INTERACTIVE = new Set(["AskUserQuestion", "ExitPlanMode"]);

export function judge(call: Call, policy: Policy): Verdict {
  const { mode, cwd } = policy;
  const hasNot = policy.tools && !call.name.startsWith("mcp__") && !policy.tools.includes(call.name);
  if (hasNot || policy.disallowed.includes(call.name)) {
    return { kind: "refuse", message: `Permission to use ${call.name} has been denied.` };
  }
  if (touches(call, cwd, policy.denied)) {
    return { kind: "refuse", message: `Permission to use ${call.name} on this path has been denied.` };
  }
  if (mode === "dontAsk" && INTERACTIVE.has(call.name)) return refused(call, mode);
  if (INTERACTIVE.has(call.name)) return { kind: "ask", fields: { requires_user_interaction: true } };
  if (isGranted(call, policy.asked) || touches(call, cwd, policy.asked))
    return mode === "dontAsk" ? refused(call, mode) : ask({});
  if (mode === "bypassPermissions" || mode === "auto") return { kind: "run", reason: "mode" };
  if (isGranted(call, policy.rules)) {
    // A rule with a pattern is matched command by command, a rule without one by the tool.
    return { kind: "run", reason: policy.rules.includes(call.name) ? "rule" : "subcommandResults" };
  }
  const wish = wished(call, mode, cwd);
  if (wish.kind === "ask" && mode === "dontAsk") return refused(call, mode);
  return wish;
}

function refused(call: Call, mode: Mode): Verdict {
  return {
    kind: "refuse",
    message: `Permission to use ${call.name} was denied: permission mode is ${mode}.`,
  };
}

function wished(call: Call, mode: Mode, cwd: string): Verdict {
  switch (call.name) {
    case "Read": {
      const path = String(call.input["file_path"]);
      return isBelow(path, cwd) ? { kind: "run", reason: "mode" } : askToRead(path);
    }
    case "Write":
    case "Edit":
      if (mode === "acceptEdits") return { kind: "run", reason: "mode" };
      return askToEdit(String(call.input["file_path"]), mode);
    case "Bash":
      return wishedCommand(call, mode, cwd);
    default:
      return call.name.startsWith("mcp__") ? askToCall(call.name) : { kind: "run", reason: undefined };
  }
}

/** A server's tool that no rule names. */
function askToCall(toolName: string): Verdict {
  const rules = [{ toolName }];
  return ask({
    permission_suggestions: [{ type: "addRules", rules, behavior: "allow", destination: "localSettings" }],
  });
}

function wishedCommand({ input }: Call, mode: Mode, cwd: string): Verdict {
  const command = String(input["command"]);
  const programs = programsOf(command);
  if (programs?.every((name) => READING.has(name))) return { kind: "run", reason: undefined };
  if (mode === "plan") {
    return { kind: "refuse", message: "Auto mode is unavailable, so this command can't run in plan mode." };
  }
  const isFiling = programs?.every((name) => READING.has(name) || FILING.has(name)) ?? false;
  if (isFiling && mode === "acceptEdits") return { kind: "run", reason: "subcommandResults" };
  const written = /[^>&]>>?\s*([^\s;&|>]+)/.exec(command)?.[1];
  const target = isFiling ? command.split(/\s+/).at(-1) : written;
  const rule = { toolName: "Bash", ruleContent: isFiling ? `${command} *` : command };
  const rules = { type: "addRules", rules: [rule], behavior: "allow", destination: "localSettings" };
  const folders = { type: "addDirectories", directories: [cwd], destination: "session" };
  const edits = { type: "setMode", mode: "acceptEdits", destination: "session" };
  return ask({
    ...(input["description"] === undefined ? {} : { description: input["description"] }),
    permission_suggestions: [rules, ...(target ? [folders] : []), ...(isFiling ? [edits] : [])],
    ...(target
      ? { blocked_path: resolve(cwd, target) }
      : { decision_reason: "This command requires approval", decision_reason_type: "other" }),
  });
}

/** The programs that a plain command line runs; undefined if it does more than run them one after the other. */
function programsOf(command: string): string[] | undefined {
  if (/[<>|&$`(){}\n"'\\*?]/.test(command.replaceAll("&&", ";"))) return undefined;
  const parts = command.replaceAll("&&", ";").split(";");
  return parts.map((part) => part.trim().split(/\s+/)[0] ?? "").filter(Boolean);
}

function askToRead(path: string): Verdict {
  const rules = [{ toolName: "Read", ruleContent: `/${dirname(path)}/**` }];
  return ask({
    description: path,
    permission_suggestions: [{ type: "addRules", rules, behavior: "allow", destination: "session" }],
    decision_reason: "Path is outside allowed working directories",
    decision_reason_type: "workingDir",
  });
}

function askToEdit(path: string, mode: Mode): Verdict {
  if (mode === "plan") return ask({ description: basename(path), decision_reason_type: "mode" });
  return ask({
    description: basename(path),
    permission_suggestions: [{ type: "setMode", mode: "acceptEdits", destination: "session" }],
  });
}

const ask = (fields: Record<string, unknown>): Verdict => ({ kind: "ask", fields });

const isBelow = (path: string, folder: string) => resolve(folder, path).startsWith(`${folder}/`);

function isGranted(call: Call, rules: readonly string[]): boolean {
  return rules.some((rule) => {
    const [, name, pattern] = /^([^(]+)(?:\((.*)\))?$/s.exec(rule) ?? [];
    // A rule may name a whole server.
    if (pattern === undefined && rule.startsWith("mcp__") && call.name.startsWith(`${rule}__`)) return true;
    if (name !== call.name) return false;
    if (pattern === undefined) return true;
    const subject = String(call.input[call.name === "Bash" ? "command" : "file_path"] ?? "");
    if (call.name === "Bash" && programsOf(subject) === undefined) return false;
    const parts = call.name === "Bash" ? subject.replaceAll("&&", ";").split(";") : [subject];
    return parts.every((part) => matches(part.trim(), pattern));
  });
}

/** Whether a call is about a file that such rules name: by its path, or by a word of its command. */
function touches({ name, input }: Call, cwd: string, rules: readonly string[]): boolean {
  if (name === "Bash") {
    const command = String(input["command"]);
    const words = rules.flatMap((rule) => /^Bash\(\*(.+)\*\)$/s.exec(rule)?.[1] ?? []);
    if (words.some((word) => command.includes(word))) return true;
  }
  const paths = name === "Bash" ? String(input["command"]).split(/[\s;&|<>"']+/) : [input["file_path"]];
  const patterns = rules.flatMap((rule) => /^(?:Read|Edit)\((.+)\)$/s.exec(rule)?.[1] ?? []).map(toPath);
  return paths.some((path) => {
    if (typeof path !== "string" || path === "") return false;
    const named = resolve(cwd, path.replace(/^~(?=\/|$)/, homedir()));
    return [named, real(named)].some((file) => patterns.some((pattern) => pattern.test(file)));
  });
}

/** The paths that a rule names, and all that is below them. */
function toPath(pattern: string): RegExp {
  const path = pattern.startsWith("//") ? pattern.slice(1) : pattern.replace(/^~/, homedir());
  const source = path
    .split(/(\*\*|\*|\[[^[\]]*\])/)
    .map((part, at) =>
      at % 2 === 0
        ? part.replace(/\\(.)/g, "$1").replace(/[.+?^${}()|[\]\\]/g, "\\$&")
        : part === "**"
          ? ".*"
          : part === "*"
            ? "[^/]*"
            : part,
    );
  return new RegExp(`^${source.join("")}(/|$)`, "s");
}

/** Where a path leads, also if nothing is there yet. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === "/" ? path : join(real(dirname(path)), basename(path));
  }
}

/** `npm test:*` and `npm test *` are prefixes, `npm*` matches as a shell would. */
function matches(text: string, pattern: string): boolean {
  const prefix = /^(.*?)(?::\*| \*)$/s.exec(pattern)?.[1];
  if (prefix !== undefined) return text === prefix || text.startsWith(`${prefix} `);
  const [start = "", ...others] = pattern.split("*");
  const end = others.pop();
  if (end === undefined) return text === pattern;
  if (!text.startsWith(start)) return false;
  // The first place of each part is as good as a later one. One pattern for all would try every place.
  let at = start.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - at >= end.length && text.endsWith(end);
}
