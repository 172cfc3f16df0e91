/** The ids by which a message's controls are compared with those that it should have. */
import { pick } from "../actions/pick.ts";
import { picked } from "../actions/picked.ts";

/**
 * The choices that a person has made in the lists of an ask stand in the ids of its message and nowhere else. A message
 * that differs by them alone is left as it is: an edit would take the choices back.
 * @returns undefined for a button that is there only once something is chosen
 */
export function comparedId(id: string): string | undefined {
  if (picked.read(id) !== undefined) return undefined;
  const list = pick.read(id)?.value as { requestId: string; place: { question: number } } | undefined;
  return list === undefined ? id : `${pick.name}:${list.requestId}:${list.place.question}`;
}
