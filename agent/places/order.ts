/** Who gets the next free place. Pure. */

export interface Waiter {
  id: string;
  /** Whoever the thread works for. */
  person: string;
  /** It had a place and gave it back while it waited for somebody: it comes before all that have had none. */
  isBack: boolean;
  sinceMs: number;
}

/**
 * The waiters in the order in which they get places: first those that come back, then one of each person in turn, so
 * that whoever began many threads keeps nobody else waiting.
 * @param busy the person of each place that is taken
 * @param servedMs when a thread of each person got a place last
 */
export function orderOf(
  waiters: readonly Waiter[],
  busy: readonly string[],
  servedMs: ReadonlyMap<string, number> = new Map(),
): Waiter[] {
  const served = ({ person }: Waiter) => servedMs.get(person) ?? 0;
  const byAge = [...waiters].sort((a, b) => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1));
  const taken = new Map<string, number>();
  const take = (person: string) => taken.set(person, (taken.get(person) ?? 0) + 1);
  for (const person of busy) take(person);
  const order = byAge.filter(({ isBack }) => isBack);
  for (const { person } of order) take(person);
  const rest = byAge.filter(({ isBack }) => !isBack).sort((a, b) => served(a) - served(b));
  while (rest.length > 0) {
    const fewest = Math.min(...rest.map(({ person }) => taken.get(person) ?? 0));
    const at = rest.findIndex(({ person }) => (taken.get(person) ?? 0) === fewest);
    const [next] = rest.splice(at, 1);
    if (!next) break;
    take(next.person);
    order.push(next);
  }
  return order;
}
