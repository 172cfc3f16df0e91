/** A directory of a thread, for the tests of the tools. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AnyTool,
  anyTool,
  type FileChange,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tool.ts";

export interface World extends Disposable {
  /** The thread's. */
  dir: string;
  /** Beside it, out of reach. */
  outside: string;
  /** What calls were about to write. */
  announced: FileChange[][];
  abort: AbortController;
  context: ToolContext;
  run<I>(tool: Tool<I>, input: unknown, more?: Partial<ToolContext>): ReturnType<typeof runTool>;
}

export function makeWorld(): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tools-")));
  const [dir, outside] = [join(root, "work"), join(root, "outside")];
  for (const folder of [dir, outside]) mkdirSync(folder);
  const announced: FileChange[][] = [];
  const abort = new AbortController();
  const context: ToolContext = {
    ...{ dir, reads: [], closed: [], callId: "c1x1", signal: abort.signal },
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: root, LANG: "C.UTF-8" },
    inSandbox: (program, args) => ({ program, args }),
    beforeWrite: async (files) => {
      announced.push([...files]);
    },
  };
  return {
    ...{ dir, outside, announced, abort, context },
    run: (tool, input, more) => runTool(anyTool(tool), input, { ...context, ...more }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

export async function runTool(tool: AnyTool, input: unknown, context: ToolContext): Promise<ToolResult> {
  const call = tool.call(input);
  return "problem" in call ? { text: call.problem, isError: true } : call.run(context);
}
