/** The calls of one answer: hooks, questions to the person, effects. Reads run side by side, all else in turn. */
import { randomUUID } from "node:crypto";
import type { Mode } from "./args.ts";
import { callMcpTool } from "./mcp.ts";
import type { Output } from "./output.ts";
import type { Decision, Peer } from "./peer.ts";
import { judge } from "./permissions.ts";
import type { Call } from "./script.ts";
import type { Block, SessionFile } from "./session-file.ts";
import type { Tasks } from "./tasks.ts";
import { fault, type Outcome, runTool } from "./tools.ts";

/** What may change in mid-session. */
export interface Settings {
  mode: Mode;
  model: string;
  /** Calls that run without a question; after a `?` those that are asked about all the same. */
  rules: string[];
  /** What no call may read or write. */
  denied: string[];
  disallowed: string[];
  tools: string[] | undefined;
}

export interface Context {
  output: Output;
  peer: Peer;
  session: SessionFile;
  tasks: Tasks;
  settings: Settings;
  cwd: string;
  /** The file that names the servers of tools. */
  mcpConfig: string | undefined;
  setMode: (mode: string) => void;
  /** How long an edit takes. */
  writeMs: number;
}

export interface Denial {
  tool_name: string;
  tool_use_id: string;
  tool_input: unknown;
}

type Meta = Record<string, unknown>;

/** Thrown where a person's "no" ends the turn too. */
export class Stopped extends Error {}

export class Calls {
  readonly #context: Context;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, Block>();
  readonly #done: { call: Block; outcome: Outcome }[] = [];
  readonly #running: Promise<void>[] = [];
  readonly denials: Denial[] = [];
  /** Unsafe calls wait for all calls before them, safe ones for the unsafe ones before them. */
  #lastUnsafe: Promise<unknown> = Promise.resolve();

  constructor(context: Context, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
  }

  get count(): number {
    return this.#open.size + this.#done.length;
  }

  add(call: Block): void {
    this.#open.set(call.id ?? "", call);
    const isSafe = call.name === "Read";
    const before = isSafe ? this.#lastUnsafe : Promise.all(this.#running);
    const run = before.then(() => this.#run(call));
    run.catch(() => undefined); // `finish` reports it
    this.#running.push(run);
    if (!isSafe) this.#lastUnsafe = run.catch(() => undefined);
  }

  /** Waits for all calls, and asks the hooks of the round. @returns what they add for the model. */
  async finish(): Promise<string[]> {
    await Promise.all(this.#running);
    if (this.#done.length === 0) return [];
    const tool_calls = this.#done.map(({ call, outcome }) => ({
      tool_name: call.name,
      tool_input: call.input,
      tool_use_id: call.id,
      tool_response: outcome.content,
    }));
    const input = { ...this.#hookInput(), tool_calls };
    const replies = await this.#context.peer.hook(
      "PostToolBatch",
      input,
      `hook-${randomUUID()}`,
      this.#signal,
    );
    return replies.flatMap(({ additionalContext }) =>
      additionalContext ? [`PostToolBatch hook additional context: ${additionalContext}`] : [],
    );
  }

  /** Gives every call that has no result the one of an interrupted call. */
  abort(): void {
    for (const call of this.#open.values()) {
      const message = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
      this.#print(
        call,
        { content: message, isError: true, result: "User rejected tool use" },
        { non_execution_kind: "user-rejected" },
      );
    }
  }

  async #run(block: Block): Promise<void> {
    const call: Call = { name: block.name ?? "", input: block.input ?? {} };
    const hookInput = {
      ...this.#hookInput(),
      tool_name: call.name,
      tool_input: call.input,
      tool_use_id: block.id,
    };
    const before = await this.#context.peer.hook("PreToolUse", hookInput, block.id ?? "", this.#signal);
    const denied = before.find(({ permissionDecision }) => permissionDecision === "deny");
    if (denied) {
      const text = `PreToolUse:${call.name} hook error: ${denied.permissionDecisionReason ?? "denied"}`;
      const decision = { decision: "reject", source: "hook", reason_type: "hook" };
      return this.#refuse(block, text, {
        non_execution_kind: "permission-rule",
        permission_decision: decision,
      });
    }
    const input = await this.#permit(
      block,
      call,
      before.some(({ permissionDecision }) => permissionDecision === "allow"),
    );
    if (!input) return;
    const startedAt = performance.now();
    const outcome = await this.#execute({ ...call, input: input.input }, block);
    this.#signal.throwIfAborted();
    const after = {
      ...hookInput,
      tool_response: outcome.result,
      duration_ms: Math.round(performance.now() - startedAt),
    };
    const event = outcome.isError ? "PostToolUseFailure" : "PostToolUse";
    await this.#context.peer.hook(event, after, block.id ?? "", this.#signal);
    this.#print(block, outcome, input.meta);
  }

  /** Asks where the policy says so. Undefined if the call may not run: its result is then printed. */
  async #permit(
    block: Block,
    call: Call,
    isAllowed: boolean,
  ): Promise<{ input: Call["input"]; meta: Meta } | undefined> {
    const { settings, cwd } = this.#context;
    const { mode, denied, disallowed, tools } = settings;
    const rules = settings.rules.filter((rule) => !rule.startsWith("?"));
    const asked = settings.rules.flatMap((rule) => (rule.startsWith("?") ? [rule.slice(1)] : []));
    const verdict = isAllowed
      ? ({ kind: "run", reason: undefined } as const)
      : judge(call, { mode, cwd, rules, asked, denied, disallowed, tools });
    if (verdict.kind === "run") {
      const { reason } = verdict;
      const decision = { decision: "accept", source: "config", ...(reason ? { reason_type: reason } : {}) };
      return { input: call.input, meta: { permission_decision: decision } };
    }
    if (verdict.kind === "refuse") {
      const decision = { decision: "reject", source: "config", reason_type: "mode" };
      this.#refuse(block, verdict.message, {
        non_execution_kind: "permission-rule",
        permission_decision: decision,
      });
      return undefined;
    }
    const request = {
      tool_name: call.name,
      display_name: call.name,
      input: call.input,
      ...verdict.fields,
      tool_use_id: block.id,
    };
    const decision = await this.#decide(block, request);
    if (decision.behavior === "deny") {
      if (decision.interrupt) {
        this.#deny(block);
        throw new Stopped();
      }
      const meta = { decision: "reject", source: "user_reject" };
      this.#refuse(block, decision.message, {
        non_execution_kind: "permission-rule",
        permission_decision: meta,
      });
      return undefined;
    }
    this.#grant(decision);
    const meta = { permission_decision: { decision: "accept", source: "user_temporary" } };
    return { input: decision.updatedInput ?? call.input, meta };
  }

  async #decide(block: Block, request: Record<string, unknown>): Promise<Decision> {
    try {
      return await this.#context.peer.decide(request, this.#signal);
    } catch (error) {
      if (this.#signal.aborted) this.#deny(block);
      throw error;
    }
  }

  #grant({ updatedPermissions = [] }: Extract<Decision, { behavior: "allow" }>): void {
    for (const update of updatedPermissions) {
      if (update.type === "setMode") this.#context.setMode(update.mode);
      if (update.type !== "addRules" || update.behavior !== "allow") continue;
      for (const { toolName, ruleContent } of update.rules) {
        this.#context.settings.rules.push(
          ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
        );
      }
    }
  }

  async #execute(call: Call, block: Block): Promise<Outcome> {
    if (call.name === "Bash" && call.input["run_in_background"] === true) {
      return this.#context.tasks.start(call, block.id ?? "");
    }
    if (call.name.startsWith("mcp__"))
      return callMcpTool(call, block.id ?? "", this.#context.mcpConfig, this.#signal);
    if (call.name === "EnterPlanMode") this.#context.setMode("plan");
    if (call.name === "ExitPlanMode" && this.#context.settings.mode === "plan")
      this.#context.setMode("default");
    const unwatch = call.name === "Bash" ? this.#context.tasks.watch(call, block.id ?? "") : () => undefined;
    try {
      return await runTool(call, this.#context, this.#signal);
    } finally {
      unwatch();
    }
  }

  #deny(block: Block): void {
    this.denials.push({ tool_name: block.name ?? "", tool_use_id: block.id ?? "", tool_input: block.input });
  }

  #refuse(block: Block, message: string, meta: Meta): void {
    this.#deny(block);
    this.#print(block, fault(message), meta);
  }

  #print(call: Block, outcome: Outcome, meta: Meta): void {
    const { session, output } = this.#context;
    this.#open.delete(call.id ?? "");
    this.#done.push({ call, outcome });
    const isBash = call.name === "Bash";
    const content = [
      {
        type: "tool_result",
        content: outcome.content,
        tool_use_id: call.id ?? "",
        ...(outcome.isError || isBash ? { is_error: outcome.isError } : {}),
      },
    ];
    const uuid = randomUUID();
    output.user(content, uuid, {
      tool_use_result: outcome.result,
      tool_result_meta: [{ id: call.id, ...meta }],
    });
    session.add({ type: "user", message: { role: "user", content }, uuid, toolUseResult: outcome.result });
  }

  #hookInput(): Record<string, unknown> {
    const { session, cwd, settings } = this.#context;
    return { transcript_path: session.path, cwd, permission_mode: settings.mode };
  }
}
