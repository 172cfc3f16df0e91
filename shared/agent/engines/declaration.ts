/** An engine's declaration: all that the rest of threadmux knows of an engine. */

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
  /** Finds the argument that lets its program do everything without asking. */
  readonly findBypass?: (args: readonly string[]) => string | undefined;
  /** The field of an MCP request's `_meta` in which it names the call. */
  readonly mcpCallId?: string;
}

/** The program behind an engine. */
export type EngineProgram =
  /** People install it under this name, by this command. */
  | { readonly is: "installed"; readonly name: string; readonly install: string }
  /** It comes with threadmux. */
  | { readonly is: "ours" }
  /** A person names it. */
  | { readonly is: "any" };

/** The abilities of an engine. A request for anything else is refused by its field's name. */
export interface Capabilities {
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
  /** It hears a message in mid-turn. If not, messages wait for the turn's end, one a turn. */
  readonly steering: boolean;
  readonly systemPrompt: boolean;
  /** It shortens its context when it is told to. */
  readonly compact: boolean;
  /** It takes a JSON Schema for its results, and which words of JSON Schema it knows. */
  readonly outputSchema: false | "draft-07" | "all";
  /** It takes the thread's own tools over MCP. */
  readonly tools: boolean;
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
