/** The stand-in's tools. They do what they say in the working directory, so that a test can count their effects. */
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "./script.ts";

export interface Outcome {
  /** The text that the model is given. */
  content: string;
  isError: boolean;
  /** The same for programs: `tool_use_result`. */
  result: unknown;
}

/** Longer output is clipped in its middle. */
const MAX_OUTPUT = 30_000;

export interface ToolContext {
  cwd: string;
  /** How long an edit takes between its reading and its writing. */
  writeMs: number;
}

export async function runTool(
  call: Call,
  { cwd, writeMs }: ToolContext,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    switch (call.name) {
      case "Bash":
        return await runCommand(String(call.input["command"]), cwd, signal);
      case "Write":
        return await write(resolve(cwd, String(call.input["file_path"])), String(call.input["content"]), {
          ms: writeMs,
          signal,
        });
      case "Edit":
        return await edit(resolve(cwd, String(call.input["file_path"])), call.input, { ms: writeMs, signal });
      case "Read":
        return read(resolve(cwd, String(call.input["file_path"])));
      case "AskUserQuestion":
        return answered(call.input);
      case "EnterPlanMode":
        return { content: "Entered plan mode.", isError: false, result: { message: "Entered plan mode." } };
      case "ExitPlanMode":
        return approved(call.input);
      default:
        return fault(`<tool_use_error>Error: No such tool available: ${call.name}</tool_use_error>`);
    }
  } catch (error) {
    if (error instanceof Error && "code" in error) return fault(error.message); // what the system refused
    throw error;
  }
}

export const fault = (message: string): Outcome => ({
  content: message,
  isError: true,
  result: `Error: ${message}`,
});

/**
 * A shell in a session of its own, as the engine has it: it outlives the engine's kill -9, not its interrupt. Its output
 * is a file, so that what it leaves in the background does not hold it up.
 */
export function startCommand(command: string, cwd: string, output: number) {
  return spawn("bash", ["-c", command], { cwd, detached: true, stdio: ["ignore", output, output] });
}

export function endGroup(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function runCommand(command: string, cwd: string, signal: AbortSignal): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "threadmux-demo-"));
  const file = openSync(join(folder, "output"), "a+");
  rmSync(folder, { recursive: true }); // the open file stays
  try {
    const child = startCommand(command, cwd, file);
    const end = () => endGroup(child.pid, "SIGKILL");
    signal.addEventListener("abort", end);
    const code = await new Promise<number | null>((done, failed) => {
      child.once("error", failed);
      child.once("exit", done);
    });
    signal.removeEventListener("abort", end);
    const text = readEnds(file).trimEnd();
    if (code !== 0) return fault(`Exit code ${code ?? 137}${text === "" ? "" : `\n${text}`}`);
    return {
      content: text === "" ? "(Bash completed with no output)" : text,
      isError: false,
      result: { stdout: text, stderr: "", interrupted: false, isImage: false, noOutputExpected: text === "" },
    };
  } finally {
    closeSync(file);
  }
}

/** The file's text, or its beginning and end if it is long. */
function readEnds(file: number): string {
  const { size } = fstatSync(file);
  const part = (from: number, length: number) => {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, from)).toString("utf8");
  };
  if (size <= MAX_OUTPUT) return part(0, size);
  return `${part(0, MAX_OUTPUT / 2)}\n… clipped …\n${part(size - MAX_OUTPUT / 2, MAX_OUTPUT / 2)}`;
}

function clip(text: string): string {
  if (text.length <= MAX_OUTPUT) return text;
  return `${text.slice(0, MAX_OUTPUT / 2)}\n… clipped …\n${text.slice(-MAX_OUTPUT / 2)}`;
}

/** Between the reading and the writing. */
interface Pause {
  ms: number;
  signal: AbortSignal;
}

async function write(path: string, content: string, pause: Pause): Promise<Outcome> {
  const originalFile = existsSync(path) ? readFileSync(path, "utf8") : null;
  if (pause.ms > 0) await sleep(pause.ms, undefined, { signal: pause.signal });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  const isNew = originalFile === null;
  const structuredPatch = isNew ? [] : patch(originalFile, content);
  return {
    content: isNew
      ? `File created successfully at: ${path}`
      : `The file ${path} has been updated successfully.`,
    isError: false,
    result: {
      type: isNew ? "create" : "update",
      filePath: path,
      content,
      structuredPatch,
      originalFile,
      userModified: false,
    },
  };
}

async function edit(path: string, input: Call["input"], pause: Pause): Promise<Outcome> {
  const oldString = String(input["old_string"]);
  const newString = String(input["new_string"]);
  if (!existsSync(path)) return fault(`<tool_use_error>File does not exist: ${path}</tool_use_error>`);
  const originalFile = readFileSync(path, "utf8");
  if (!originalFile.includes(oldString)) {
    return fault(
      `<tool_use_error>String to replace not found in file.\nString: ${oldString}</tool_use_error>`,
    );
  }
  const replaceAll = input["replace_all"] === true;
  const changed = originalFile.split(oldString);
  const [first = "", ...rest] = changed;
  const text = replaceAll ? changed.join(newString) : first + newString + rest.join(oldString);
  if (pause.ms > 0) await sleep(pause.ms, undefined, { signal: pause.signal });
  writeFileSync(path, text);
  return {
    content: `The file ${path} has been updated successfully.`,
    isError: false,
    result: {
      filePath: path,
      oldString,
      newString,
      originalFile,
      structuredPatch: patch(originalFile, text),
      userModified: false,
      replaceAll,
    },
  };
}

/** One hunk: the lines that differ, between the first and the last of them. */
function patch(before: string, after: string): object[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let same = 0;
  while (
    same < old.length - start &&
    same < fresh.length - start &&
    old[old.length - 1 - same] === fresh[fresh.length - 1 - same]
  ) {
    same++;
  }
  const removed = old.slice(start, old.length - same);
  const added = fresh.slice(start, fresh.length - same);
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  if (lines.length === 0) return [];
  const at = { oldStart: start + 1, oldLines: removed.length, newStart: start + 1, newLines: added.length };
  return [{ ...at, lines }];
}

function read(path: string): Outcome {
  if (!existsSync(path)) return fault(`File does not exist: ${path}`);
  const content = readFileSync(path, "utf8");
  const lines = content.split("\n");
  const file = { filePath: path, content, numLines: lines.length, startLine: 1, totalLines: lines.length };
  const numbered = lines.map((line, index) => `${index + 1}\t${line}`).join("\n");
  return { content: clip(numbered), isError: false, result: { type: "text", file } };
}

function answered(input: Call["input"]): Outcome {
  const answers = (input["answers"] ?? {}) as Record<string, unknown>;
  const given = Object.entries(answers).map(([question, answer]) => `"${question}"="${String(answer)}"`);
  const content =
    given.length === 0
      ? "The user did not answer the questions."
      : `Your questions have been answered: ${given.join(", ")}. You can now continue with these answers in mind.`;
  return { content, isError: false, result: { questions: input["questions"], answers } };
}

function approved(input: Call["input"]): Outcome {
  return {
    content: "User has approved exiting plan mode. You can now proceed.",
    isError: false,
    result: { plan: input["plan"] ?? null, isAgent: false, filePath: input["planFilePath"] ?? null },
  };
}
