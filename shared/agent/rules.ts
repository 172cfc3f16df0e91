/** Rules that people grant in a thread, and withdraw: what holds, and what a running engine has to be told. Pure. */
import type { ThreadFold } from "./fold-types.ts";

/** A later withdrawal finds none of them that an engine could still hold. */
const MAX_WITHDRAWN = 200;

/**
 * Text from outside gets in. Nothing that people allowed before holds any more: they did not know that text. The first
 * reason stays.
 */
export function mark(fold: ThreadFold, { seq, why }: { seq: number; why: string }): ThreadFold {
  const { allowed: _, ...rest } = fold; // what was allowed before it read that is asked about anew
  return { ...withdrawRules(rest, fold.grantedRules, seq), marked: fold.marked ?? { seq, why } };
}

/** A person trusts it. Rules that were withdrawn stay so. */
export function unmark(fold: ThreadFold, seq: number): ThreadFold {
  if (!fold.marked) return fold;
  const { marked: _, ...rest } = fold;
  return { ...rest, rules: { changedSeq: seq, withdrawn: fold.rules?.withdrawn ?? [] } };
}

/** A person granted this rule, which may have been withdrawn before. In a marked thread nothing is granted for long. */
export function grantRule(fold: ThreadFold, rule: string, seq: number): ThreadFold {
  if (fold.marked) return fold;
  const { grantedRules, rules } = fold;
  const granted = grantedRules.includes(rule) ? grantedRules : [...grantedRules, rule];
  if (!rules?.withdrawn.includes(rule)) return { ...fold, grantedRules: granted };
  const withdrawn = rules.withdrawn.filter((other) => other !== rule);
  return { ...fold, grantedRules: granted, rules: { changedSeq: seq, withdrawn } };
}

/** These rules hold no longer. An answer that grants one, and that the engine does not have yet, is for once. */
export function withdrawRules(fold: ThreadFold, withdrawn: readonly string[], seq: number): ThreadFold {
  const gone = new Set(withdrawn.filter((rule) => fold.grantedRules.includes(rule)));
  if (gone.size === 0) return fold;
  const others = (fold.rules?.withdrawn ?? []).filter((rule) => !gone.has(rule));
  return {
    ...fold,
    grantedRules: fold.grantedRules.filter((rule) => !gone.has(rule)),
    rules: { changedSeq: seq, withdrawn: [...others, ...gone].slice(-MAX_WITHDRAWN) },
    recordedAnswers: fold.recordedAnswers.map(({ rule, ...answer }) =>
      rule === undefined
        ? answer
        : gone.has(rule)
          ? { ...answer, response: { kind: "permission", optionId: "once" } }
          : { ...answer, rule },
    ),
  };
}

/**
 * What an engine that was started at `launchSeq` has to be told; undefined if it knows all. Of a marked thread every
 * engine is told, by every runner.
 * @returns the rules that it is to ask about again, and the event that changed them last
 */
export function rulesToTell(
  { rules, marked }: ThreadFold,
  launchSeq: number,
): { seq: number; ask: readonly string[]; isMarked?: true } | undefined {
  const ask = rules?.withdrawn ?? [];
  if (marked) return { seq: Math.max(marked.seq, rules?.changedSeq ?? 0), ask, isMarked: true };
  if (!rules || rules.changedSeq <= launchSeq) return undefined;
  return { seq: rules.changedSeq, ask: rules.withdrawn };
}
