/** The part of the fold that knows what jobs' inputs have cost: each its share of what was spent while a turn had it. */
import { parsePrincipal } from "../principal.ts";
import type { Charges } from "./budget.ts";
import type { ThreadEvent } from "./events.ts";
import type { ThreadFold, WaitingMessage } from "./fold-types.ts";
import { openUsd } from "./limits.ts";

/** The inputs of jobs that are known in one thread. */
const MAX_KNOWN = 200;

type Charge = Charges["inputs"][number];

const NONE: Charges = { count: 0, jobs: [], chargedUsd: 0, inputs: [] };

/** @param before the event */
export function foldCharges(before: ThreadFold, after: ThreadFold, event: ThreadEvent): ThreadFold {
  const { charges = NONE } = before;
  switch (event.type) {
    case "turn_start": {
      const read = after.deliveries.filter(({ status }) => status === "started");
      const begun = { ...NONE, inputs: charges.inputs };
      return {
        ...after,
        charges: join(
          begun,
          read.flatMap(({ messages }) => messages),
        ),
      };
    }
    case "delivery_update": {
      const delivery = before.deliveries.find(({ deliveryId }) => deliveryId === event.deliveryId);
      const isRead = event.status === "started" && delivery?.status === "noted" && after.turn !== null;
      if (!isRead) return after;
      // What was spent until now was not spent for it.
      return { ...after, charges: join(charge(charges, openUsd(before)), delivery.messages) };
    }
    case "step_start": {
      if (event.kind !== "chat" || charges.jobs.length === 0 || after.turn === null) return after;
      return { ...after, charges: change(charges, (one) => ({ ...one, calls: one.calls + 1 })) };
    }
    case "turn_end":
      return {
        ...after,
        charges: charge(charges, after.totals.spendUsd - before.totals.spendUsd),
      };
    case "thread_ended": {
      const usd = event.used?.spendUsd ?? 0;
      return usd > 0 ? { ...after, charges: add(charges, usd) } : after;
    }
    default:
      return after;
  }
}

/** What a job's input has cost by now, with its children that have ended, and how often the model was called for it. */
export function chargeOf(fold: ThreadFold, messageId: string): Charge {
  const { charges = NONE } = fold;
  const { inputs } = fold.turn === null ? charges : charge(charges, openUsd(fold));
  return inputs.find((one) => one.messageId === messageId) ?? { messageId, usd: 0, calls: 0 };
}

function join(charges: Charges, messages: readonly WaitingMessage[]): Charges {
  const sent = messages.filter(({ source }) => parsePrincipal(source).kind === "job");
  const ids = sent.map(({ messageId }) => messageId).filter((id) => !charges.jobs.includes(id));
  const known = new Set(charges.inputs.map(({ messageId }) => messageId));
  const fresh = ids.filter((id) => !known.has(id)).map((messageId) => ({ messageId, usd: 0, calls: 0 }));
  return {
    ...charges,
    count: charges.count + messages.length,
    jobs: [...charges.jobs, ...ids].slice(-MAX_KNOWN),
    inputs: [...charges.inputs, ...fresh].slice(-MAX_KNOWN),
  };
}

/** Charges those who have the turn now with what it has cost by now, as far as that is not charged. */
function charge(charges: Charges, turnUsd: number): Charges {
  const usd = turnUsd - charges.chargedUsd;
  return usd > 0 ? { ...add(charges, usd), chargedUsd: turnUsd } : charges;
}

function add(charges: Charges, usd: number): Charges {
  const share = usd / Math.max(1, charges.count);
  return change(charges, (one) => ({ ...one, usd: one.usd + share }));
}

/** Changes those of the jobs that have the turn. */
function change(charges: Charges, by: (one: Charge) => Charge): Charges {
  if (charges.jobs.length === 0) return charges;
  const { jobs, inputs } = charges;
  return { ...charges, inputs: inputs.map((one) => (jobs.includes(one.messageId) ? by(one) : one)) };
}
