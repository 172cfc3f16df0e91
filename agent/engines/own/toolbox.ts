/** All tools that one engine process gives its model. Those of servers that did not answer may come later. */

import { findMcpTools, type McpServers, type McpTools } from "./mcp.ts";
import type { Output } from "./output.ts";
import type { AnyTool } from "./tools/tool.ts";

/** A server that does not answer holds up each look: the next one waits for so many times as long as the last one took. */
const PAUSE = 3;

interface Parts {
  own: readonly AnyTool[];
  servers: McpServers;
  mcp: McpTools;
  /** The tool that gives the result, if the thread's results are held to a schema. */
  result: AnyTool | undefined;
}

export class Toolbox {
  readonly #parts: Parts;
  readonly #output: Output;
  #mcp: McpTools;
  #byName: ReadonlyMap<string, AnyTool>;
  #pausedUntilMs = 0;

  constructor(parts: Parts, output: Output) {
    this.#parts = parts;
    this.#output = output;
    this.#mcp = parts.mcp;
    this.#byName = this.#named();
  }

  get all(): readonly AnyTool[] {
    return [...this.#byName.values()];
  }

  get names(): string[] {
    return [...this.#byName.keys()];
  }

  find(name: string): AnyTool | undefined {
    return this.#byName.get(name);
  }

  /** Asks servers that are away once more, and tells people which of them are there. */
  async look(signal: AbortSignal): Promise<void> {
    const { missing } = this.#mcp;
    const startedMs = performance.now();
    if (missing.length === 0 || startedMs < this.#pausedUntilMs) return;
    const found = await findMcpTools(this.#parts.servers, { only: missing, signal });
    const endedMs = performance.now();
    this.#pausedUntilMs = endedMs + PAUSE * (endedMs - startedMs);
    const back = missing.filter((name) => !found.missing.includes(name));
    if (back.length === 0 || signal.aborted) return;
    this.#mcp = { ...found, tools: [...this.#mcp.tools, ...found.tools] };
    this.#byName = this.#named();
    const title = `The tools of ${back.join(", ")} are there now`;
    this.#output.say({ events: [{ type: "notice", severity: "info", title }] });
  }

  #named(): ReadonlyMap<string, AnyTool> {
    const { own, result } = this.#parts;
    const all = [...own, ...this.#mcp.tools, ...(result ? [result] : [])];
    return new Map(all.map((tool) => [tool.name, tool]));
  }
}
