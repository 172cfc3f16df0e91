/**
 * Which directives there are for a directory, and the one that a name means. Those of the directory itself are foreign:
 * nothing of them is found before a person has trusted the directory with exactly these texts.
 */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type * as z from "zod";
import type { AgentConfig } from "../../shared/agent/config.ts";
import { claude } from "../../shared/agent/engines/claude.ts";
import type { EngineName } from "../../shared/agent/engines/engines.ts";
import { deciderOf } from "../../shared/agent/gates.ts";
import type { createRequestSchema } from "../../shared/api.ts";
import type { DirectiveReply, DirectivesReply } from "../../shared/directive-api.ts";
import { describeFault, type Fault } from "../../shared/directives/fault.ts";
import type { InputValues } from "../../shared/directives/inputs.ts";
import type { parseDirective } from "../../shared/directives/parse.ts";
import { sha256Of, trustedNote } from "../../shared/directives/trusted.ts";
import { AppError } from "../../shared/errors.ts";
import { realPathOf } from "../../shared/foreign-files.ts";
import { Steps } from "../../shared/short-steps.ts";
import { resolveDirectory } from "../threads/directory.ts";
import type { CreateRequest } from "../threads/kinds/kind.ts";
import type { UserSpace } from "../threads/user-space.ts";
import { findMarkdown } from "./files.ts";
import type { FoundDirective } from "./found.ts";
import { type AppliedToChild, type Merged, mergeDirective, mergeForChild } from "./merge.ts";
import { checkReviewers } from "./reviewers.ts";

export interface DirectivesOptions {
  /** A real path. */
  reposDir: string;
  userSpace: Pick<UserSpace, "root">;
  stateDir: string;
  /** The environment of programs in threads: it names the person's home. */
  threadEnv: Record<string, string>;
  /** The engine of threads for which nobody names one. */
  engine: EngineName;
}

type Asked = z.output<typeof createRequestSchema>;

interface AskedChild {
  /** The path of its directory. */
  path: string;
  agent: AgentConfig;
  prompt: string;
  directive?: string | undefined;
  inputs?: InputValues | undefined;
}

type Applied = Omit<CreateRequest, "createdBy">;

interface Found {
  directives: FoundDirective[];
  faults: Fault[];
}

/** The format is Claude Code's, and so are the places. */
const { brings, records } = claude;
const FOLDER = "agents";
/** Parsed files that are remembered by their content. */
const MAX_KEPT = 1_000;
const MAX_NAMED = 20;

export class Directives {
  readonly #options: DirectivesOptions;
  readonly #kept = new Map<string, ReturnType<typeof parseDirective>>();

  constructor(options: DirectivesOptions) {
    this.#options = options;
  }

  /** @throws AppError `invalid_directory` */
  async list({ dir }: { dir: string }): Promise<DirectivesReply> {
    const path = await this.#pathOf(dir);
    const { directives, faults } = await this.#findAll(path);
    return { directives: directives.map((found) => describe(found, directives)), faults };
  }

  /**
   * The directive that a name means in a directory.
   * @param path of the directory, absolute
   * @param field of the request, for the error
   * @param wanted `reviewer`, `project:reviewer` or `user:reviewer`
   * @throws AppError `not_found`, or `invalid_request` if the name means two, or its file has faults
   */
  async get(path: string, wanted: string, field = "agent.directive"): Promise<FoundDirective> {
    const [, space, name = ""] = /^(?:(project|user):)?(.*)$/s.exec(wanted) ?? [];
    const { directives, faults } = await this.#findAll(path);
    const isMeant = (one: FoundDirective) =>
      one.directive.name === name && (space ?? one.space) === one.space;
    const [found, other] = directives.filter(isMeant);
    if (found && !other) return found;
    if (found && other)
      throw invalid(
        field,
        found.space === other.space
          ? `${quote(name)} is the name of two files: ${found.file} and ${other.file}.`
          : `${quote(name)} is both the directory's and yours: say project:${name} or user:${name}.`,
      );
    const own = faults.filter(({ file }) => basename(file).replace(/\.md$/i, "") === name);
    if (own.length > 0) throw invalid(field, `${own.map(describeFault).join("; ")}.`);
    throw new AppError(
      "not_found",
      `${field}: there is no directive ${quote(wanted)} here; ${hintOf(directives)}`,
    );
  }

  /**
   * A request for a thread with what its directive says in it.
   * @throws AppError `invalid_directory`, `not_found`, and what can't be merged, by its field
   */
  async applied(asked: Asked): Promise<Applied> {
    const { agent, ...others } = asked;
    if (!agent) return others;
    const { directive, inputs, ...more } = agent;
    if (directive === undefined) {
      await this.#checkReviewers(asked, more);
      if (inputs !== undefined)
        throw new AppError("invalid_request", "agent.inputs: are a directive's; name it in agent.directive.");
      return { ...others, agent: more };
    }
    const path = await this.#pathOf(asked.dir, asked.dirId);
    const found = await this.get(path, directive);
    const { command } = asked;
    const merged = mergeDirective(
      { agent: more, command, inputs: inputs ?? {} },
      found,
      this.#options.engine,
    );
    const { isPlain, notes } = merged;
    await this.#checkReviewers(asked, merged.agent);
    return {
      ...others,
      agent: merged.agent,
      command: merged.command,
      notes,
      ...(isPlain && { plain: true }),
    };
  }

  /**
   * A child's configuration with what its directive says in it, and its first message. It has its parent's rights or
   * fewer.
   * @param agent as the child is without one
   * @throws AppError `not_found`, and what can't be merged, by its field
   */
  async appliedToChild({ path, agent, prompt, directive, inputs }: AskedChild): Promise<AppliedToChild> {
    if (directive === undefined) {
      if (inputs !== undefined)
        throw new AppError("invalid_request", "inputs: are a directive's; name it in directive.");
      return { agent, command: prompt };
    }
    const found = await this.get(path, directive);
    return mergeForChild({ agent, command: prompt, inputs: inputs ?? {} }, found);
  }

  /** @throws AppError naming the gate whose directive is not there, or can't decide */
  async #checkReviewers({ dir, dirId }: Asked, { gates, engine }: Merged["agent"]): Promise<void> {
    if (!gates?.some((gate) => deciderOf(gate).is === "directive")) return;
    const path = await this.#pathOf(dir, dirId);
    const find = (name: string, field: string) => this.get(path, name, field);
    await checkReviewers(gates, engine ?? this.#options.engine, find);
  }

  async #pathOf(dir: string, dirId?: string): Promise<string> {
    const { reposDir, userSpace } = this.#options;
    return (await resolveDirectory(reposDir, dir, dirId, userSpace.root)).path;
  }

  /** The directory's own come first, then the person's in the order in which they are looked up. */
  async #findAll(path: string): Promise<Found> {
    const { stateDir, threadEnv } = this.#options;
    const home = threadEnv["HOME"] ?? "/";
    const named = threadEnv[records.variable];
    const config = named ?? join(home, records.folder);
    const [agents, real] = [join(path, brings.folder, FOLDER), realPathOf(join(config, FOLDER))];
    // A person who works in the home has there what is theirs.
    const isOwn = real !== undefined && realPathOf(agents) === real;
    const steps = new Steps();
    const found: Found = { directives: [], faults: [] };
    if (!isOwn) await this.#addProject(agents, path, found, steps);
    for (const [folder, root] of [
      [join(config, FOLDER), named === undefined ? home : config],
      [join(stateDir, "directives"), join(stateDir, "directives")],
    ] as const) {
      const { files, problems } = await findMarkdown(folder, root, steps);
      found.faults.push(
        ...problems.map(({ path: file, problem }) => ({ file, line: 1, field: "file", problem })),
      );
      const names = new Set(
        found.directives.flatMap((one) => (one.space === "user" ? [one.directive.name] : [])),
      );
      for (const { path: file, body } of files) {
        const sha256 = sha256Of(body);
        const { directive, faults = [] } = await this.#parse(file, sha256, body);
        found.faults.push(...faults);
        // The person's first one of a name counts.
        if (directive && !names.has(directive.name))
          found.directives.push({ directive, space: "user", file, sha256 });
        await steps.rest();
      }
    }
    return found;
  }

  /** Nothing is told of a file that was not trusted, not that it is there. */
  async #addProject(folder: string, root: string, found: Found, steps: Steps): Promise<void> {
    const { files } = await findMarkdown(folder, root, steps);
    for (const { path: file, body } of files) {
      const sha256 = sha256Of(body);
      if (!existsSync(trustedNote(join(this.#options.stateDir, "trust"), { path: file, sha256 }))) continue;
      const { directive, faults = [] } = await this.#parse(file, sha256, body);
      found.faults.push(...faults);
      if (directive) found.directives.push({ directive, space: "project", file, sha256 });
      await steps.rest();
    }
  }

  async #parse(file: string, sha256: string, body: Buffer): Promise<ReturnType<typeof parseDirective>> {
    const key = `${sha256} ${file}`;
    const kept = this.#kept.get(key);
    if (kept) return kept;
    // The parser costs a start 30 ms or more, so only who has a directive waits for it.
    const { parseDirective } = await import("../../shared/directives/parse.ts");
    const parsed = parseDirective(file, body);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, parsed);
    return parsed;
  }
}

function describe(
  { directive, space, file, sha256 }: FoundDirective,
  all: readonly FoundDirective[],
): DirectiveReply {
  const { name, text: _, effort: __, outputSchema: ___, ...more } = directive;
  const isBoth = all.some((one) => one.directive.name === name && one.space !== space);
  return {
    as: isBoth ? `${space}:${name}` : name,
    name,
    space,
    file,
    sha256,
    ...more,
    inputs: { ...more.inputs },
  };
}

function hintOf(directives: readonly FoundDirective[]): string {
  const names = [...new Set(directives.map(({ directive }) => directive.name))];
  const some = names.slice(0, MAX_NAMED).join(", ") + (names.length > MAX_NAMED ? ", …" : "");
  const own = "a directory's own are found once a person has trusted the directory in a thread there.";
  return `${some === "" ? "none is" : `there are ${some}`}; ${own}`;
}

const quote = (name: string) => JSON.stringify(name.slice(0, 100));

function invalid(field: string, why: string): AppError {
  return new AppError("invalid_request", `${field}: ${why}`);
}
