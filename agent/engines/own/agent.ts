/** The agent of one process: its parts, and what becomes of each line that the runner sends. */
import { hasGateAt } from "../../../shared/agent/gates.ts";
import { assertNever } from "../../../shared/errors.ts";
import type { Env } from "../../engine.ts";
import { Answers } from "./answer.ts";
import { Calls } from "./calls.ts";
import { Choice } from "./choice.ts";
import { Compaction } from "./compaction.ts";
import { History } from "./history.ts";
import { Loop } from "./loop.ts";
import { Mailbox } from "./mailbox.ts";
import type { McpTools } from "./mcp.ts";
import { opening } from "./opening.ts";
import { Output } from "./output.ts";
import type { OutputTool } from "./output-tool.ts";
import { Pictures } from "./pictures.ts";
import { nameOfOrdered, type Ordered, type Start, type ToOwn } from "./protocol.ts";
import type { Providers } from "./provider.ts";
import { readHistory } from "./read-history.ts";
import { Requests } from "./requests.ts";
import { systemPrompt } from "./system-prompt.ts";
import { Toolbox } from "./toolbox.ts";
import type { ToolContext } from "./tools/tool.ts";
import type { makeTools, ToolSet } from "./tools/tool-set.ts";
import type { Where } from "./tools/where.ts";

export interface AgentOptions {
  start: Start;
  providers: Providers;
  /** The thread's. */
  folder: string;
  /** The model's address and key are in it. */
  env: Env;
  /** The environment of commands. */
  commandEnv: Env;
  /** How a command is started; left out: as it is. */
  inSandbox?: ToolContext["inSandbox"] | undefined;
  where: Where;
  makeTools: typeof makeTools;
  /** Beside those. */
  mcp: McpTools;
  /** The tool that gives the result, if the thread's results are held to a schema. */
  output: OutputTool | undefined;
  /** Undefined if it is gone. */
  readImage: (uri: string) => Buffer | undefined;
  /** Writes lines of the program; it returns when all bytes are out. */
  write: (bytes: Buffer) => void;
  exit: () => void;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #history = new History();
  readonly #mailbox = new Mailbox();
  readonly #output: Output;
  readonly #requests: Requests;
  readonly #choice: Choice;
  readonly #tools: ToolSet;
  readonly #loop: Loop;
  #isOpen = false;

  constructor(options: AgentOptions) {
    const { start, env, commandEnv, where, mcp, output: result } = options;
    const { params } = start.config.agent;
    const prefix = `${start.generation}`;
    const history = this.#history;
    const pictures = new Pictures(options.readImage);
    const output = new Output(history, options.write);
    const requests = new Requests(`r${start.sessionId.slice(0, 8)}-${prefix}`);
    const choice = new Choice(start, env, options.providers);
    this.#options = options;
    this.#output = output;
    this.#requests = requests;
    this.#choice = choice;
    this.#tools = options.makeTools((tasks) => {
      // An agent that hears a channel ends its turn meanwhile, and nothing else would wake it.
      const isTold = start.config.agent.voice && { isTold: true as const };
      const told = tasks.map(({ taskId, title }) => ({ taskId, title, ...isTold }));
      output.say({ events: [{ type: "background_update", tasks: told }] });
    });
    const { mcpConfigFile: file, allowedTools: allowed } = start.config.launch;
    const parts = { own: this.#tools.tools, servers: { file, allowed }, mcp, result: result?.tool };
    const tools = new Toolbox(parts, output);
    const modeId = () => choice.modeId;
    const calls = new Calls({
      ...{ history, output, pictures, requests, tools, where, env: commandEnv, modeId },
      hasGates: hasGateAt(start.config.agent.gates, "before_step", false),
      // The runner recognizes the call of an ask that it put aside by the whole call.
      tellsCalls: start.config.agent.voice !== undefined,
      inSandbox: options.inSandbox,
    });
    const system = systemPrompt(start.config, start.instructions);
    const answers = new Answers({
      ...{ history, output, calls, env, system, tools, params, prefix },
      readImage: (uri) => pictures.read(uri),
    });
    const compacting = new Compaction(history, output, answers, params.maxInputTokens);
    this.#loop = new Loop({
      ...{ start, history, output, mailbox: this.#mailbox, requests, choice, calls, answers, compacting },
      tools,
      result,
    });
  }

  /** A line of the runner's. One that has come before does nothing. */
  take(line: ToOwn): void {
    switch (line.op) {
      case "open":
        this.#open();
        return;
      case "deliver":
        if (!this.#mailbox.isNew(line.deliveryId)) return;
        this.#output.say({ received: line.deliveryId, isBusy: true });
        this.#mailbox.add(line);
        return;
      case "answer":
        this.#requests.answer(line.verdict);
        return;
      case "control":
        if (this.#mailbox.isNewOrder(line.control)) this.#control(line.control);
        this.#mailbox.wake();
        return;
      case "rules":
        if (!this.#mailbox.isNew(`rules-${line.seq}`)) return;
        for (const rule of line.ask) this.#history.rules.delete(rule);
        this.#output.say({ did: `rules-${line.seq}` });
        return;
      case "cost":
        this.#output.say({ costFor: line.id });
        return;
      case "end":
        void this.#tools.close().then(this.#options.exit);
        return;
      default:
        assertNever(line);
        return;
    }
  }

  #control(control: Ordered): void {
    const did = nameOfOrdered(control);
    switch (control.op) {
      case "interrupt":
        this.#output.say({ did });
        this.#loop.stop();
        return;
      case "mode":
        this.#output.say({ did, events: this.#choice.changeMode(control) });
        return;
      case "model":
        this.#output.say({ did, events: this.#choice.changeModel(control) });
        return;
      case "compact":
        this.#output.say({ did, isBusy: true });
        this.#mailbox.order(control);
        return;
      case "end_task":
        this.#output.say({ did });
        void this.#tools.endTask(control.taskId);
        return;
      default:
        assertNever(control);
        return;
    }
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { start, folder } = this.#options;
    if (!start.reseeded) readHistory(this.#history, folder);
    for (const rule of start.rules) this.#history.rules.add(rule);
    const goesOn = this.#history.turn !== undefined;
    const events = opening(start, this.#choice, this.#options.mcp.problems);
    const nothing = start.takesUp && !goesOn ? { takesUpNothing: true as const } : {};
    this.#output.say({ events, isOpen: true, isBusy: goesOn, ...nothing });
    void this.#loop.run();
  }
}
