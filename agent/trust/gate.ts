/** Before each start of an engine: may it load what its directory brings? */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ThreadConfig } from "../../shared/agent/config.ts";
import { ENGINES } from "../../shared/agent/engines/engines.ts";
import type { EventBody } from "../../shared/agent/events.ts";
import type { ThreadFold } from "../../shared/agent/fold-types.ts";
import { TRUST_FOLDER } from "../../shared/agent/markers.ts";
import type { Engine, Env } from "../engine.ts";
import { trustAsk, withoutNotice } from "./ask.ts";
import type { Brought } from "./brought.ts";
import { findDecision, keepDecision, noteDirectives } from "./memory.ts";

export interface Leave {
  brought: Brought | undefined;
  /** Undefined: nobody has decided, so a person is asked. */
  isTrusted: boolean | undefined;
}

export class TrustGate {
  readonly #options: { config: ThreadConfig; engine: Engine; env: Env };
  readonly #memory: string;

  /** @param options `env` of the runner, not of the engine */
  constructor(options: { folder: string; config: ThreadConfig; engine: Engine; env: Env }) {
    this.#options = options;
    this.#memory = options.env[TRUST_FOLDER] ?? join(options.folder, "trust");
  }

  /** What is known now. An answer that was just given is kept for all threads. */
  async look(fold: ThreadFold): Promise<Leave> {
    const { dir } = this.#options.config;
    // Also if the directory has changed since: it is an answer about what it brought then.
    if (fold.trust) keepDecision(this.#memory, { dir, ...fold.trust, decidedAt: new Date().toISOString() });
    const brought = await this.#lookAround();
    if (!brought) return { brought, isTrusted: true };
    const decided = findDecision(this.#memory, brought.key);
    const isTrusted = decided && brought.isWhole;
    if (isTrusted !== undefined) noteDirectives(this.#memory, brought.directives ?? [], isTrusted);
    return { brought, isTrusted };
  }

  /** Whether the directory brings what it did when it was looked at. */
  async isUnchanged({ brought }: Leave): Promise<boolean> {
    return (await this.#lookAround())?.key === brought?.key;
  }

  #lookAround(): Promise<Brought | undefined> {
    const { engine, config, env } = this.#options;
    return engine.lookAround(config, env);
  }
}

/** The question, if nobody has decided; else what people of the thread are to know. */
export function eventsOfLeave(
  { brought, isTrusted }: Leave,
  fold: ThreadFold,
  { worktree }: Pick<ThreadConfig, "worktree">,
): EventBody[] {
  if (!brought || isTrusted) return [];
  if (isTrusted === undefined) return [trustAsk(brought, `trust-${randomUUID()}`)];
  return fold.engine === null || fold.trust ? [withoutNotice(brought, worktree?.setup !== undefined)] : [];
}

/** How the engine is started: without what was not trusted, only the person's own settings count. */
export function configOfLeave(config: ThreadConfig, { isTrusted }: Leave): ThreadConfig {
  if (isTrusted) return config;
  const launch = { ...config.launch, settingSources: "user" };
  const { gates, ...agent } = withoutDirective(config.agent);
  const left = gates?.filter(({ space }) => space !== "project");
  return { ...config, agent: { ...agent, ...(left && { gates: left }) }, launch };
}

/** A directive of the directory gives neither words nor a wider mode then. It may still narrow. */
function withoutDirective(agent: ThreadConfig["agent"]): ThreadConfig["agent"] {
  if (agent.directive?.space !== "project") return agent;
  const { systemPrompt: _, permissionMode, ...others } = agent;
  const { modes } = ENGINES[agent.engine].capabilities;
  const names: readonly string[] = modes?.names ?? [];
  const asking = modes?.asking;
  const isWider = names.indexOf(permissionMode ?? "") > names.indexOf(asking ?? "");
  const mode = isWider ? asking : permissionMode;
  return { ...others, ...(mode !== undefined && { permissionMode: mode }) };
}
