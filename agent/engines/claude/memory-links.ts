/**
 * The files of words that claude reads at its start in each directory above its own, whoever brought them. A link
 * among them to keys would put these into the model's context. Imports (`@path`) that lead out are not followed.
 */
import { join } from "node:path";
import { isInside, type Nested, type Places } from "./nested.ts";
import { realPathOf } from "./read-whole.ts";

const FILES = ["CLAUDE.md", "CLAUDE.local.md", join(".claude", "CLAUDE.md")];

/**
 * @param above real paths of directories
 * @param repository their files are its own, wherever it lies
 * @returns those that lead to what an agent is not to read
 */
export function findMemoryLinks(
  above: readonly string[],
  repository: string,
  { guarded }: Pick<Places, "guarded">,
): Nested["outward"] {
  return above.flatMap((folder) =>
    FILES.flatMap((name) => {
      const path = join(folder, name);
      const real = realPathOf(path);
      if (typeof real !== "string" || real === path || isInside(repository, real)) return [];
      const place = guarded.find((one) => isInside(one.path, real));
      return place ? [{ path, real, leadsTo: place.name }] : [];
    }),
  );
}
