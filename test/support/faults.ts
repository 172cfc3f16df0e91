/** `FAULTS=full` (npm run test:faults) runs fault tests at their full length; CI runs a short form of the same. */
export const isFull = process.env["FAULTS"] === "full";

export function inFull<T>(full: T, short: T): T {
  return isFull ? full : short;
}
