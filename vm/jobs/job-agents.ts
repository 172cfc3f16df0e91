/** The agents that a job's runs make: as the job says, and as its directive does if it names one. */
import { LIMIT_NAMES, type LimitName } from "../../shared/agent/limit-schema.ts";
import { createRequestSchema } from "../../shared/api.ts";
import { AppError } from "../../shared/errors.ts";
import type { JobSettings, KeptDirective, What } from "../../shared/jobs/job.ts";
import { job } from "../../shared/principal.ts";
import type { Directives } from "../directives/directives.ts";
import type { Brought } from "../hooks/brought.ts";
import type { CreateRequest, Outside } from "../threads/kinds/kind.ts";

export type AgentWhat = Extract<What, { type: "agent" }>;
export type Limits = NonNullable<CreateRequest["agent"]>["limits"];

export class JobAgents {
  readonly #directives: Pick<Directives, "applied">;

  constructor(directives: Pick<Directives, "applied">) {
    this.#directives = directives;
  }

  /**
   * @param threadId of the new thread
   * @param leftUsd of the job's cap for the day
   * @throws AppError naming the field, such as a directive that is not there, or an input that is missing
   */
  async requestOf(
    { name, limits }: Pick<JobSettings, "name" | "limits">,
    { dir, prompt, agent, home, thread }: AgentWhat,
    { threadId, brought, leftUsd }: { threadId: string; brought?: Brought | undefined; leftUsd: number },
  ): Promise<CreateRequest> {
    const usd = least(limits.spendUsd, leftUsd);
    const own = {
      ...(limits.seconds !== null && { seconds: limits.seconds }),
      ...(usd !== undefined && { spendUsd: usd }),
    };
    const asked = createRequestSchema.parse({
      ...{ threadId, type: "agent", dir, command: prompt, title: name, home },
      agent: { ...agent, limits: own },
    });
    const applied = await this.#directives.applied(asked).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      const message = error.message.replace(/(?<![\w.])(agent\.|inputs\.(?=\w))/g, (field) =>
        field === "agent." ? "what.agent." : "what.agent.inputs.",
      );
      throw new AppError(error.code, message, { cause: error });
    });
    const { directive, mode } = applied.agent ?? {};
    if (thread === "one" && mode === "single")
      throw new AppError(
        "unsupported",
        `what.thread: ${directive?.name} takes one message alone, so each run needs a thread.`,
      );
    return {
      ...applied,
      // What was brought stands behind the free text of inputs, which is the maker's.
      command: withText(applied.command, brought),
      ...{ inputId: threadId, plain: true, createdBy: job(name) },
      ...(brought && { outside: outsideOf(brought) }),
    };
  }
}

/** The file of a new agent's directive, for its job to keep; undefined if it has none. */
export function keptDirective({ agent }: Pick<CreateRequest, "agent">): KeptDirective | undefined {
  if (!agent?.directive) return undefined;
  const { name, space, file, sha256 } = agent.directive;
  return { name, space, file, sha256 };
}

/**
 * Why a job may not go on with what its directive says now, in a sentence for a person; undefined if it may.
 * @param kept when the job was made, or resumed last
 */
export function whyChanged(
  kept: KeptDirective | undefined,
  now: KeptDirective | undefined,
): string | undefined {
  if (kept === undefined || (kept.file === now?.file && kept.sha256 === now.sha256)) return undefined;
  const { name, file } = kept;
  const has =
    now === undefined || now.file === file
      ? `Its directive ${name} has changed: ${file} is not what it was when the job was made or resumed last.`
      : `Its directive ${name} is another file: ${now.file} now, ${file} when the job was made or resumed last.`;
  return `${has} Read it, and resume the job: it goes on with the directive as it is then.`;
}

/** The same of a directive that can't be taken any more. @param why as the refusal says */
export function whyLost({ name, file }: KeptDirective, why: string): string {
  return `Its directive ${name} (${file}) can't be taken any more: ${why.replace(/\.$/, "")}. Mend that, and resume the job.`;
}

/** Limits by which a thread that has used so much has as much again as a run may. */
export function limitsFrom(used: Readonly<Record<LimitName, number>>, limits: Limits): Limits {
  return Object.fromEntries(
    LIMIT_NAMES.flatMap((name) => {
      const more = limits[name];
      if (more === undefined) return [];
      const all = used[name] + more;
      return [[name, name === "spendUsd" ? all : Math.ceil(all)]];
    }),
  );
}

/** It stands behind the job's own words. */
export function withText(own: string, brought: Brought | undefined): string {
  return brought ? `${own}\n\n${brought.text}` : own;
}

export function outsideOf({ marks, file }: Brought): Outside {
  return { ...(marks !== undefined && { marks }), ...(file && { file }) };
}

/** Undefined if neither is a limit. */
function least(usd: number | null, leftUsd: number): number | undefined {
  const lower = Math.min(usd ?? Number.POSITIVE_INFINITY, leftUsd);
  return Number.isFinite(lower) ? Math.max(lower, 0.0001) : undefined;
}
