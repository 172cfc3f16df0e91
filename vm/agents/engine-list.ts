/** Which engines there are, and what the machine says of their programs. */
import { realpathSync } from "node:fs";
import { abilitiesOf } from "../../shared/agent/engines/abilities.ts";
import type { KnownProgram, SignIn } from "../../shared/agent/engines/declaration.ts";
import { ENGINE_NAMES, ENGINES, type EngineName } from "../../shared/agent/engines/engines.ts";
import type { ParamName } from "../../shared/agent/params.ts";
import { findProviderKeys } from "../../shared/agent/provider-files.ts";
import type { EngineProgramState, EngineState } from "../../shared/engines-api.ts";
import { findProgram } from "../../shared/find-program.ts";
import { VERSION } from "../../shared/version.ts";
import { isInside } from "../threads/directory.ts";
import { chooseLaunch, type LaunchOptions, usualProgram } from "./launch.ts";
import { findSignedIn, lookAtProgram } from "./program-state.ts";

/** How long a look counts: a person who has just installed a program looks again. */
const FRESH_MS = 20_000;
/** A program is asked only if the list's look began less than this ago: some that hang must not add up. */
const LOOK_MS = 30_000;

export interface EngineListOptions {
  settings: LaunchOptions;
  /** The folder of the engines that come with threadmux. */
  ownPrograms: string;
  /** The environment of the threads' programs. */
  threadEnv: Readonly<Record<string, string>>;
  /** Files of providers lie there. */
  stateDir: string;
  /** Programs that lie in these folders are not run: agents write there. */
  threadDirs: readonly string[];
  now: () => number;
}

interface Wanted {
  name: string;
  args: readonly string[];
  known: KnownProgram | undefined;
}

export class EngineList {
  readonly #options: EngineListOptions;
  #look: { at: number; engines: Promise<EngineState[]> } | undefined;

  constructor(options: EngineListOptions) {
    this.#options = options;
  }

  /** Runs each engine's program, at most once in {@link FRESH_MS} however many ask. */
  list(): Promise<EngineState[]> {
    const at = this.#options.now();
    if (this.#look && at - this.#look.at < FRESH_MS && at >= this.#look.at) return this.#look.engines;
    const engines = Promise.all(ENGINE_NAMES.map((name) => this.#stateOf(name, at + LOOK_MS)));
    this.#look = { at, engines };
    engines.catch(() => {
      if (this.#look?.engines === engines) this.#look = undefined;
    });
    return engines;
  }

  async #stateOf(name: EngineName, until: number): Promise<EngineState> {
    const declaration = ENGINES[name];
    const { title, program, capabilities, modelNames = [] } = declaration;
    const usual = this.#usual;
    return {
      ...{ name, title, isDefault: name === usual, takesProgram: program.is === "any" },
      programs:
        program.is === "ours" ? [await this.#own(name, program.signIn)] : await this.#programsOf(name, until),
      ...abilitiesOf(declaration),
      params: Object.keys(capabilities.params ?? {}) as ParamName[],
      modes: [...(capabilities.modes?.names ?? [])],
      models: capabilities.models ? [...modelNames] : null,
    };
  }

  get #usual(): EngineName {
    const { engine, program } = this.#options.settings;
    return engine ?? usualProgram({ AGENT_PROGRAM: program }).engine;
  }

  async #own(name: EngineName, signIn: SignIn | undefined): Promise<EngineProgramState> {
    const { threadEnv, stateDir } = this.#options;
    const keys = [...(signIn?.keys ?? []), ...findProviderKeys(stateDir)];
    const isSignedIn = signIn && (await findSignedIn(undefined, { ...signIn, keys }, threadEnv));
    return {
      ...{ name, isInstalled: true, path: null, version: VERSION, problem: null, install: null },
      ...{ isSignedIn: isSignedIn ?? null, signIn: signIn?.how ?? null },
    };
  }

  async #programsOf(name: EngineName, until: number): Promise<EngineProgramState[]> {
    const states: EngineProgramState[] = [];
    // One after the other: the programs of all engines at once are enough for a small machine.
    for (const wanted of this.#wantedOf(name)) states.push(await this.#lookAt(wanted, until));
    return states;
  }

  #wantedOf(name: EngineName): Wanted[] {
    const { settings, ownPrograms } = this.#options;
    const { program } = ENGINES[name];
    if (program.is === "ours") return [];
    const known = program.is === "installed" ? [program] : (program.known ?? []);
    const isNamed = program.is === "installed" || name === this.#usual;
    const first = isNamed ? [chooseLaunch({ engine: name }, settings, ownPrograms)] : [];
    const others = program.is === "any" ? known.filter((one) => one.name !== first[0]?.program) : [];
    const ofFirst = program.is === "installed" ? program : undefined;
    return [
      ...first.map(({ program: file, args }) => ({
        ...{ name: file, args: program.is === "installed" ? args : [] },
        known: ofFirst ?? known.find((one) => one.name === file),
      })),
      ...others.map((one) => ({ name: one.name, args: [], known: one })),
    ];
  }

  async #lookAt({ name, args, known }: Wanted, until: number): Promise<EngineProgramState> {
    const { threadEnv } = this.#options;
    const path = findProgram(name, threadEnv["PATH"] ?? "");
    const state = {
      ...{ name, isInstalled: path !== undefined, path: path ?? null },
      ...{ version: null, isSignedIn: null, problem: path === undefined ? `${name} is not installed` : null },
      ...{ install: known?.install ?? null, signIn: known?.signIn?.how ?? null },
    };
    if (path === undefined || known === undefined || this.#isInThreadDir(path)) return state;
    if (this.#options.now() >= until)
      return { ...state, problem: "it was not asked, since others took too long to answer" };
    const { version, fault } = await lookAtProgram({ program: name, args }, known, threadEnv);
    if (fault) return { ...state, version: version ?? null, problem: fault.says };
    const isSignedIn = known.signIn && (await findSignedIn(path, known.signIn, threadEnv));
    return { ...state, version: version ?? null, isSignedIn: isSignedIn ?? null };
  }

  #isInThreadDir(path: string): boolean {
    const places = [path, findRealPath(path)];
    return this.#options.threadDirs.some((dir) => places.some((place) => isInside(dir, place)));
  }
}

function findRealPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it has just gone: it can't be run either
  }
}
