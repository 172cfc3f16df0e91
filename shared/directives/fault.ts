/** A fault of a directive's file, as a person is told it. */

export interface Fault {
  file: string;
  /** Counted from 1. */
  line: number;
  /** Such as `threadmux.limits.turns`; `head`, `text` or `file` if it is in no field. */
  field: string;
  problem: string;
}

/** A fault before its file is known. */
export type FaultAt = Omit<Fault, "file">;

/** One line for a person. */
export function describeFault({ file, line, field, problem }: Fault): string {
  return `${file}:${line}: ${field}: ${problem}`;
}
