/** `npm run test:siege` sets `FAULTS=full`: tests of faults run at their full length. CI runs a short form of each. */
export const isFull = process.env["FAULTS"] === "full";

export function inFull<T>(full: T, short: T): T {
  return isFull ? full : short;
}
