/** One conversation with an engine's program, over as many starts as it takes. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { Round } from "../../agent/engines/demo/script.ts";
import { until } from "../support/wait.ts";
import { type Line, Program } from "./program.ts";

export interface Engine {
  /** The executable and what stands before the protocol's flags. */
  command: readonly [string, ...string[]];
  /** Added to the clean environment. */
  env: Record<string, string>;
}

export const says = (text: string, ...rounds: Round[]): string =>
  rounds.length === 0 ? text : `${text} @@${JSON.stringify(rounds)}`;

export const bash = (command: string, fields: object = {}) => ({
  name: "Bash",
  input: { command, description: "d", ...fields },
});

export interface Ask extends Line {
  request_id: string;
  request: { subtype: string; tool_name: string; input: Record<string, unknown>; tool_use_id: string };
}

export class Session {
  readonly id = randomUUID();
  readonly cwd: string;
  readonly home: string;
  readonly #engine: Engine;
  readonly #folder: string;
  readonly #ended: Program[] = [];
  #program: Program | undefined;
  #next = 0;
  #controls = 0;

  constructor(engine: Engine, folder: string) {
    this.#engine = engine;
    this.#folder = join(realpathSync(folder), "thread");
    this.cwd = join(realpathSync(folder), "app");
    this.home = join(realpathSync(folder), "home");
    for (const path of [this.cwd, this.home]) mkdirSync(path, { recursive: true });
  }

  get program(): Program {
    if (!this.#program) throw new Error("the program has not been started");
    return this.#program;
  }

  get isBegun(): boolean {
    return this.#program !== undefined;
  }

  /** Starts the program and sends `initialize`; lines are waited for from the newest start on. */
  async start(
    args: readonly string[] = [],
    { initialize = {}, env = {}, resume = false }: Start = {},
  ): Promise<Line> {
    if (this.#program) this.#ended.push(this.#program);
    this.#next = 0;
    this.#program = new Program({
      command: this.#engine.command,
      folder: this.#folder,
      cwd: this.cwd,
      env: {
        PATH: process.env["PATH"] ?? "",
        LANG: "C.UTF-8",
        HOME: this.home,
        TMPDIR: this.home,
        ...this.#engine.env,
        ...env,
      },
      args: [resume ? "--resume" : "--session-id", this.id, ...args],
    });
    return this.control("initialize", initialize);
  }

  /** All lines of all starts. */
  lines(): Line[] {
    return [...this.#ended, this.program].flatMap((program) => program.lines());
  }

  send(
    content: string | object[],
    { uuid = randomUUID() as string, ...fields }: Record<string, unknown> = {},
  ): string {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const message = { role: "user", content: blocks };
    this.program.send({ type: "user", message, parent_tool_use_id: null, session_id: "", uuid, ...fields });
    return uuid as string;
  }

  /** Sends a control request and waits for its reply. */
  async control(subtype: string, fields: object = {}): Promise<Line> {
    const id = `${subtype}-${++this.#controls}`;
    this.program.send({ type: "control_request", request_id: id, request: { subtype, ...fields } });
    const isReply = (line: Line) =>
      (line["response"] as { request_id?: string } | undefined)?.request_id === id;
    return (await this.program.line(`the reply to ${subtype}`, isReply)).line;
  }

  /** Whether the conversation on disk holds this message, by the field names that a runner looks for. */
  isSaved(uuid: string): boolean {
    const projects = join(this.home, ".claude/projects");
    const files = existsSync(projects)
      ? readdirSync(projects).map((name) => join(projects, name, `${this.id}.jsonl`))
      : [];
    const lines = files
      .filter((file) => existsSync(file))
      .flatMap((file) => readFileSync(file, "utf8").split("\n"));
    return lines.some(
      (line) => line.includes(`"uuid":"${uuid}"`) || line.includes(`"source_uuid":"${uuid}"`),
    );
  }

  /** Waits until the newest such line is in the conversation on disk. */
  async saved(test: (line: Line) => boolean): Promise<void> {
    const uuid = String(this.lines().findLast(test)?.["uuid"]);
    await until(`the line ${uuid} to be saved`, () => this.isSaved(uuid));
  }

  answer(ask: Line, response: object): void {
    const { request_id } = ask as Ask;
    this.program.send({ type: "control_response", response: { subtype: "success", request_id, response } });
  }

  allow(ask: Line, fields: object = {}): void {
    this.answer(ask, { behavior: "allow", updatedInput: (ask as Ask).request.input, ...fields });
  }

  /** The next line of this type, and subtype if given. */
  async next(type: string, subtype?: string): Promise<Line> {
    return this.until(
      `${type} ${subtype ?? ""}`,
      (line) => line.type === type && (!subtype || subtypeOf(line) === subtype),
    );
  }

  async until(what: string, test: (line: Line) => boolean): Promise<Line> {
    const { line, next } = await this.program.line(what, test, this.#next);
    this.#next = next;
    return line;
  }

  async ask(): Promise<Ask> {
    return (await this.next("control_request", "can_use_tool")) as Ask;
  }

  async result(): Promise<Line> {
    return this.next("result");
  }

  async end(): Promise<number | string> {
    this.program.send({ type: "control_request", request_id: "end", request: { subtype: "end_session" } });
    return this.program.ended;
  }

  /** Ends the program in order, if it runs: everything that it has to say is then said. */
  async finish(): Promise<void> {
    if (this.program.isAlive) await this.end();
  }

  /** Ends what still runs; always to be called. */
  async close(): Promise<void> {
    for (const program of [...this.#ended, ...(this.#program ? [this.#program] : [])]) {
      await program.kill();
      program.close();
    }
  }
}

interface Start {
  initialize?: object;
  env?: Record<string, string>;
  resume?: boolean;
}

export function subtypeOf(line: Line): string | undefined {
  const request = line["request"] as { subtype?: string } | undefined;
  return (line["subtype"] ?? request?.subtype) as string | undefined;
}
