/** The findings of `threadmux doctor`. Each program looks at its own surroundings and tells them in this form. */
import * as z from "zod";
import { errorText } from "./errors.ts";

const findingSchema = z.object({
  /** Names the look: the same name on every machine. */
  look: z.string(),
  /** `note`: it works, but less well, or there was nothing to look at. */
  state: z.enum(["ok", "note", "fault"]),
  says: z.string(),
  /** A command to type, or a setting to make; null if nothing is to be done. */
  mend: z.string().nullable(),
});
export type Finding = z.infer<typeof findingSchema>;

/** The standard output of a program that looks. */
export const findingsSchema = z.array(findingSchema);

/** Something that a person has to see to: thrown where a program starts, and told by the doctor. */
export class Fault extends Error {
  readonly says: string;
  readonly mend: string;

  /** @param says a clause without a full stop. @param mend a command, or a setting to make */
  constructor(says: string, mend: string, options?: { cause?: unknown }) {
    super(`${says}: ${mend}`, options);
    this.name = "Fault";
    this.says = says;
    this.mend = mend;
  }
}

export const ok = (look: string, says: string): Finding => ({ look, state: "ok", says, mend: null });

export const note = (look: string, says: string, mend: string | null = null): Finding => ({
  look,
  state: "note",
  says,
  mend,
});

export const fault = (look: string, says: string, mend: string): Finding => ({
  look,
  state: "fault",
  says,
  mend,
});

export interface Look {
  name: string;
  /** If it throws something that names no mend. */
  mend: string;
  /** @returns its findings; a sentence if all is well. @throws Fault, or any error in words for a person */
  run: () => string | Finding[] | Promise<string | Finding[]>;
}

/** One after the other: what a look starts is no load for the next one. No look ends the others. */
export async function lookAll(looks: readonly Look[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, mend, run } of looks) {
    try {
      const found = await run();
      findings.push(...(typeof found === "string" ? [ok(name, found)] : found));
    } catch (error) {
      const isFault = error instanceof Fault;
      findings.push(fault(name, isFault ? error.says : errorText(error), isFault ? error.mend : mend));
    }
  }
  return findings;
}
