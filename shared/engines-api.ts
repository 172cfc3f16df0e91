/** The part of the API about engines: which there are, and what the machine says of their programs. */
import * as z from "zod";
import { PARAM_NAMES } from "./agent/params.ts";

const engineProgramSchema = z.object({
  /** As it is looked up on `PATH`. */
  name: z.string(),
  isInstalled: z.boolean(),
  /** Its file; null if it comes with threadmux, or is not there. */
  path: z.string().nullable(),
  /** Null if it does not tell. A program that lies in a thread's directory is not asked. */
  version: z.string().nullable(),
  /** Null if nobody knows. */
  isSignedIn: z.boolean().nullable(),
  /** Why it can't be used, a clause; null if it can. */
  problem: z.string().nullable(),
  /** What to type to get it; null if nothing is to be typed. */
  install: z.string().nullable(),
  /** What to type to sign in; null if no sign-in is known. */
  signIn: z.string().nullable(),
});
export type EngineProgramState = z.infer<typeof engineProgramSchema>;

export const engineStateSchema = z.object({
  name: z.string(),
  /** For people, such as "Claude Code". */
  title: z.string(),
  /** A thread gets it if nobody chooses. */
  isDefault: z.boolean(),
  /** `agent.program` may name another program. */
  takesProgram: z.boolean(),
  /** The first is the one that a thread gets if it names none; an engine that needs a name may have none. */
  programs: z.array(engineProgramSchema),
  /** Phrases whose subject is the engine. */
  can: z.array(z.string()),
  cannot: z.array(z.string()),
  /** The parameters that it honours. */
  params: z.array(z.enum(PARAM_NAMES)),
  /** Its permission modes. */
  modes: z.array(z.string()),
  /** Names of models that it knows; others may be named too. Null if no model can be chosen. */
  models: z.array(z.string()).nullable(),
});
export type EngineState = z.infer<typeof engineStateSchema>;
export const enginesReplySchema = z.object({ engines: z.array(engineStateSchema) });

/** Whether a thread with this program can be begun, as far as the machine knows. */
export function isReady({ isInstalled, isSignedIn, problem }: EngineProgramState): boolean {
  return isInstalled && problem === null && isSignedIn !== false;
}

/** A choice of a face: an engine, or an engine and one of the programs that it knows. */
export interface EngineChoice {
  /** `claude`, or `acp:codex`. */
  value: string;
  text: string;
  state: EngineState;
}

/** The engines that are ready, the default first. */
export function engineChoices(engines: readonly EngineState[]): EngineChoice[] {
  const choices = engines.flatMap((state) =>
    state.programs.flatMap((program, at): EngineChoice[] => {
      if (!isReady(program)) return [];
      const isUsual = at === 0 && (state.isDefault || !state.takesProgram);
      const value = isUsual ? state.name : `${state.name}:${program.name}`;
      const version = program.version === null ? "" : ` ${program.version}`;
      const what = state.takesProgram ? program.name : state.title;
      return [
        {
          value,
          text: `${value}: ${what}${version}${state.isDefault && at === 0 ? " (default)" : ""}`,
          state,
        },
      ];
    }),
  );
  return choices.sort((a, b) => Number(b.state.isDefault) - Number(a.state.isDefault));
}

/** The fields of a new agent that a choice stands for. The sidecar judges whether they can be. */
export function chosenEngine(value: string): { engine: string; program?: string } {
  const at = value.indexOf(":");
  return at < 0 ? { engine: value } : { engine: value.slice(0, at), program: value.slice(at + 1) };
}
