/** An engine's declaration: all that the rest of threadmux knows of an engine. */
import type { GatePoint } from "../gates.ts";
import type { Need, ParamName } from "../params.ts";

export interface EngineDeclaration {
  /** For people, such as "Claude Code". */
  readonly title: string;
  /** The maker of its models, by OTel's name if it has one. */
  readonly provider?: string;
  readonly program: EngineProgram;
  readonly capabilities: Capabilities;
  /** The directory's files that it would obey unasked; undefined if it reads none. */
  readonly brings?: Brings;
  /** The folder in which it keeps people's own conversations, which a thread may go on from. */
  readonly records?: Records;
  /** Finds the argument that lets its program do everything without asking. @param program if a person names it */
  readonly findBypass?: (args: readonly string[], program?: string) => string | undefined;
  /** Names of models that faces suggest; it takes others too. */
  readonly modelNames?: readonly string[];
  /** The field of an MCP request's `_meta` in which it names the call. */
  readonly mcpCallId?: string;
}

/** The program behind an engine. */
export type EngineProgram =
  | ({ readonly is: "installed" } & KnownProgram)
  /** It comes with threadmux. */
  | { readonly is: "ours"; readonly signIn?: SignIn }
  /** A person names it; the engine may know some by their names. */
  | { readonly is: "any"; readonly known?: readonly KnownProgram[] };

/** A program that people install, and how it is asked about itself. */
export interface KnownProgram {
  /** It is looked up on PATH by this name. */
  readonly name: string;
  /** People may call it so. */
  readonly shortName?: string;
  /** It needs these arguments before a person's own. */
  readonly args?: readonly string[];
  /** The command that installs it. */
  readonly install: string;
  readonly version?: ProgramVersion;
  readonly signIn?: SignIn;
}

export interface ProgramVersion {
  /** With these arguments the program prints its version and ends. */
  readonly args: readonly string[];
  /** An older one is refused. */
  readonly min?: string;
}

/** How an engine gets at its models. */
export interface SignIn {
  /** With these arguments the program exits with 0 if it is signed in, and with 1 if it is not. */
  readonly status?: readonly string[];
  /** Variables. An engine that gets one of them (`THREAD_ENV`) needs no other sign-in. */
  readonly keys: readonly string[];
  /** The command, or the setting, that signs in. */
  readonly how: string;
}

/** The values that an engine takes for a parameter; without a bound, all that the API takes. */
export interface ParamBounds {
  readonly min?: number;
  readonly max?: number;
}

/** The abilities of an engine. A request for anything else is refused by its field's name. */
export interface Capabilities {
  /** It tells each of its calls as it begins and ends. */
  readonly steps?: boolean;
  /** It asks a person before it does what it may not do by itself. */
  readonly asks?: boolean;
  /** A denial has a place for a person's words. If not, they go to the model as a message. */
  readonly reasons?: true;
  /** The tools by which its model asks a person a question; a face shows the question in the place of their calls. */
  readonly questions: readonly string[];
  readonly modes?: PermissionModes;
  /** A model can be chosen, at the start and later. */
  readonly models: boolean;
  /** Undo knows what each call changed, or what the whole turn changed. */
  readonly undo: "calls" | "turns";
  /** It tells what its calls of the model used and cost. */
  readonly cost: boolean;
  /** People can grant rules for a thread, and withdraw them. */
  readonly rules: boolean;
  /** It has a conversation, which its next process goes on with. If not, each message stands alone. */
  readonly resume: boolean;
  /** A call that has not begun outlives its process, and so does its ask: the next process runs it when it may. */
  readonly keepsCalls?: true;
  /** It hears a message in mid-turn. If not, messages wait for the turn's end, one a turn. */
  readonly steering: boolean;
  readonly systemPrompt: boolean;
  /** It shortens its context when it is told to. */
  readonly compact: boolean;
  /** It takes a JSON Schema for its results, and which words of JSON Schema it knows. */
  readonly outputSchema: false | "draft-07" | "all";
  /** It can be held to some of its own tools, and be refused others. */
  readonly toolRules?: boolean;
  /** It takes the thread's own tools over MCP. */
  readonly tools: boolean;
  /** Its models see the images of messages. */
  readonly images?: boolean;
  readonly embeddings?: boolean;
  /** What one of its models lacks although the engine has it. An unknown model lacks nothing. */
  readonly lacks?: (model: string) => readonly Need[];
  /** The parameters that it honours. */
  readonly params?: Readonly<Partial<Record<ParamName, ParamBounds>>>;
  /** It can be held between two calls of the model, so that their number can be limited. */
  readonly calls?: boolean;
  /** Points at which it can be held until somebody has decided. Between its turns the runner holds every engine. */
  readonly gates?: readonly GatePoint[];
}

export interface PermissionModes {
  /** As the engine names them. The one that may do least without asking comes first. */
  readonly names: readonly [string, ...string[]];
  /** Asks for all that is not granted. */
  readonly asking: string;
  /** Edits files without asking. */
  readonly editing?: string;
  /** Asks for nothing: `ALLOW_BYPASS` alone allows it. */
  readonly bypass?: string;
}

/** `folder` lies in the home, unless the variable names another place. */
export interface Records {
  readonly folder: string;
  readonly variable: string;
}

export interface Brings {
  /** The folder of its settings in a directory. */
  readonly folder: string;
  /** Its file of instructions, which it leaves out with the rest. */
  readonly memory: string;
}
