import { resizeRequestSchema } from "../shared/api.ts";
import { AppError } from "../shared/errors.ts";

/**
 * `120x40`.
 * @throws AppError `invalid_request`
 */
export function parseSize(name: string, text: string): { cols: number; rows: number } {
  const [, cols, rows] = /^(\d{1,4})x(\d{1,4})$/.exec(text) ?? [];
  if (cols === undefined || rows === undefined) {
    throw new AppError("invalid_request", `${name}: must be <cols>x<rows>, such as 120x40`);
  }
  const size = resizeRequestSchema.safeParse({ cols: Number(cols), rows: Number(rows) });
  if (size.success) return size.data;
  const issues = size.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new AppError("invalid_request", `${name}: ${issues.join("; ")}`);
}
