/**
 * What a scripted model says next, as a pure function of the conversation. The stand-in for the engine and the
 * tests' loopback model share it, so one message text drives both the same way.
 *
 * A message carries its script as `@@[{"tools":[{"name":"Bash","input":{"command":"ls"}}]},{"text":"done"}]`. The
 * rounds of all scripts form one queue; each answer of the model takes one. Nothing is kept outside the conversation,
 * so a conversation that is resumed goes on with its script wherever it was cut off.
 */
import * as z from "zod";

const Call = z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()) });

export const Round = z.strictObject({
  thinking: z.string().optional(),
  text: z.string().optional(),
  /** The turn's result, if this answer ends it: what a model would give for `--json-schema`, right or wrong. */
  output: z.unknown().optional(),
  /** Several are called in parallel. */
  tools: z.array(Call).optional(),
  /** The API refuses with this status; the first `times` attempts only, if that is given. */
  error: z
    .strictObject({
      status: z.number().int().min(400).max(599),
      message: z.string().optional(),
      times: z.number().int().positive().optional(),
      /** The account's own limit, as with 429 if it is a subscription's: it resets after so many seconds, or never says. */
      limit: z.strictObject({ resetsInSeconds: z.number().int().optional() }).optional(),
    })
    .optional(),
  /** The answer begins after this time. */
  delayMs: z.number().int().min(0).optional(),
  /** The answer begins when this file exists. */
  waitFor: z.string().optional(),
  /** The time between two pieces of the text. */
  pieceMs: z.number().int().min(0).optional(),
  /** After the first piece, the text goes on when this file exists. */
  pauseFor: z.string().optional(),
  inputTokens: z.number().int().optional(),
  outputTokens: z.number().int().optional(),
});
export type Round = z.infer<typeof Round>;
export type Call = z.infer<typeof Call>;

/** One message of the conversation; tool results are no text of it. */
export interface Spoken {
  role: "user" | "assistant";
  text: string;
}

/** The sentence before the calls that a resumed model is asked to call again, a line `- Name {input}` each. */
const CALL_AGAIN = "call them again:\n";
/** Comes after what a conversation that was begun anew is told. */
const GO_ON = "\n\nGo on from there. Files may have changed since";
/** What stands in the conversation where a person stopped the turn. */
const INTERRUPTED = "[Request interrupted by user";
/** What stands in the conversation for an answer that no model gave. */
const NO_ANSWER = "No response requested.";

/**
 * What the model answers now: the calls that it is asked to call again, else the next round of the scripts, else
 * undefined. `opening` is a script that stands before all messages.
 * @throws Error that names the script's fault.
 */
export function nextRound(
  conversation: readonly Spoken[],
  { callsAgain = true, opening = [] }: { callsAgain?: boolean; opening?: readonly Round[] } = {},
): Round | undefined {
  let queue: Round[] = [...opening];
  let asked: Call[] = [];
  for (const { role, text } of conversation) {
    if (role === "user") {
      if (text.includes(INTERRUPTED)) queue = [];
      // The model never learns of an answer that was an error; the next message ends it.
      else if (queue[0]?.error && !queue[0].error.times) queue.shift();
      queue.push(...parseScripts(askedIn(text)));
      if (callsAgain) asked.push(...callsToRepeat(text));
    } else if (text !== NO_ANSWER) {
      // Calls that a kill kept out of the conversation are still in their script: called again, they are said.
      if (asked.length === 0 || isSameCalls(queue[0]?.tools, asked)) queue.shift();
      asked = [];
    }
  }
  return asked.length > 0 ? { tools: asked } : queue[0];
}

/** A conversation that was begun anew is told what was said before: nobody asks for that again. */
function askedIn(text: string): string {
  const end = text.lastIndexOf(GO_ON);
  return end < 0 ? text : text.slice(end);
}

/** The rounds of every script in this text. */
export function parseScripts(text: string): Round[] {
  const rounds: Round[] = [];
  for (let from = text.indexOf("@@["); from >= 0; from = text.indexOf("@@[", from + 1)) {
    const end = endOfArray(text, from + 2);
    const parsed = z.array(Round).safeParse(parseJson(text.slice(from + 2, end)));
    if (!parsed.success) throw new Error(`script at character ${from}: ${z.prettifyError(parsed.error)}`);
    rounds.push(...parsed.data);
    from = end;
  }
  return rounds;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller reports it with its place
  }
}

/** The position behind the array that begins at `from`, or the text's end if it never closes. */
function endOfArray(text: string, from: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (isInString) {
      if (char === "\\") at++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === "[" || char === "{") depth++;
    else if ((char === "]" || char === "}") && --depth === 0) return at + 1;
  }
  return text.length;
}

const isSameCalls = (some: readonly Call[] | undefined, others: readonly Call[]) =>
  JSON.stringify(some) === JSON.stringify(others);

function callsToRepeat(text: string): Call[] {
  const at = text.indexOf(CALL_AGAIN);
  if (at < 0) return [];
  const calls: Call[] = [];
  for (const line of text.slice(at + CALL_AGAIN.length).split("\n")) {
    const [, name, input] = /^- (\S+) (\{.*\})$/.exec(line) ?? [];
    const parsed = Call.safeParse({ name, input: parseJson(input ?? "") });
    if (!parsed.success) break;
    calls.push(parsed.data);
  }
  return calls;
}
