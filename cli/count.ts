import { AppError } from "../shared/errors.ts";

/** A whole number, or `all`. @throws AppError `invalid_request` naming the option. */
export function parseCount(name: string, text: string): number {
  if (text === "all") return Number.POSITIVE_INFINITY;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new AppError("invalid_request", `${name}: must be a whole number or all`);
}
