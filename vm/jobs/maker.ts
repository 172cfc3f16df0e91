/** What is said of a job whose maker may no longer have one. Pure. */
import { describePrincipal, type Principal } from "../../shared/principal.ts";

export function whyGone(maker: Principal): string {
  return `Who made it (${describePrincipal(maker)}) may no longer do so. Whoever may can make it anew.`;
}
