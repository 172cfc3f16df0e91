/** `15:00`, or `25 Nov, 15:00` if that is another day: a moment by the clock of this machine. Pure but for its zone. */
export function clockText(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const clock = timeOf(iso);
  const dayOf = (date: Date) => date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return dayOf(at) === dayOf(new Date(nowMs)) ? clock : `${dayOf(at)}, ${clock}`;
}

/** `15:00`: an instant's time by the clock of this machine, as inputs of agents that hear channels have it. */
export function timeOf(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** The beginning of the day by the clock of this machine; both in milliseconds since the epoch. */
export function dayStart(nowMs: number): number {
  return new Date(nowMs).setHours(0, 0, 0, 0);
}
