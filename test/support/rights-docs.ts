/** The table of roles and rights in docs/security.md. */
import { MAY, RIGHT_NAMES, RIGHTS, ROLES } from "../../shared/rights.ts";

export const RIGHTS_BEGIN = "<!-- Made from shared/rights.ts by `npm run docs`: change it there. -->";
export const RIGHTS_END = "<!-- end of the table -->";

/** A document with the table as it is now between its two marks. @throws Error if a mark is missing */
export function withRights(document: string): string {
  const [before, rest] = document.split(RIGHTS_BEGIN);
  const after = rest?.split(RIGHTS_END)[1];
  if (before === undefined || after === undefined) throw new Error("the marks of the table are missing");
  const rows = RIGHT_NAMES.map((right) => {
    const cells = ROLES.map((role) => (MAY[role].includes(right) ? "yes" : ""));
    return `| \`${right}\`: ${RIGHTS[right]} | ${cells.join(" | ")} |`;
  });
  const table = [`| | ${ROLES.join(" | ")} |`, `|---|${"---|".repeat(ROLES.length)}`, ...rows].join("\n");
  return `${before}${RIGHTS_BEGIN}\n\n${table}\n\n${RIGHTS_END}${after}`;
}
