/** Asks the runner whether a turn may end, if somebody decides that. */
import { hasGateAt } from "../../../shared/agent/gates.ts";
import type { History } from "./history.ts";
import type { Output } from "./output.ts";
import type { Start, Verdict } from "./protocol.ts";
import type { Requests } from "./requests.ts";
import type { Turn } from "./turn.ts";

interface Asking {
  start: Pick<Start, "config">;
  history: History;
  output: Output;
  requests: Requests;
}

/** @returns undefined if a person stops the turn before there is an answer */
export async function askToEnd(
  { start, history, output, requests }: Asking,
  turn: Turn,
  given: { result?: unknown },
): Promise<Omit<Verdict, "requestId"> | undefined> {
  if (!hasGateAt(start.config.agent.gates, "after_complete", false)) return { goesOn: true };
  const requestId = requests.newId();
  const text = given.result === undefined ? history.lastText : JSON.stringify(given.result);
  const what = { name: "End", input: { text } };
  output.say({ requests: [{ requestId, kind: "hook", toolCallId: "", isBeforeEnd: true, what }] });
  const verdict = await requests.wait({ requestId }, turn.signal);
  output.say({ closed: [{ requestId, ...(verdict && { verdict }) }] });
  return verdict;
}
